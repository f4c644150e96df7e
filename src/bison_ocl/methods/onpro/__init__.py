"""OnPro: online prototype learning, and the mixtures and prototypes it alone uses."""
