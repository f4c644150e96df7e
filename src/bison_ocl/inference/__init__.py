"""Inference rules: scores from a trained network and its memory, for any method."""
