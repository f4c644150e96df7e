"""GSS: gradient-based sample selection, and the gradients and exchange it alone uses."""
