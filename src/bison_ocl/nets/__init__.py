"""The network as a value: a backbone, its heads, their parameters and running statistics."""
