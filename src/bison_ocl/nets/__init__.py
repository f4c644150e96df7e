"""Networks as values: backbone, heads, parameters and running statistics."""
