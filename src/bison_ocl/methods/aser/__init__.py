"""ASER: adversarial Shapley value replay, and the values and draws it alone uses."""
