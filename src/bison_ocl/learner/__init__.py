"""Learner: observe and predict with the caller's own images and labels."""
