"""Kernels for many small networks at once, and how their work is cut into programs."""
