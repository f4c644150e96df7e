"""Benchmarks: cost of steps and runs, accuracy of every method."""
