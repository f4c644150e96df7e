"""Kernels for many small networks at once, and their tiling."""
