"""Serve: a learner behind HTTP that loses no acknowledged image."""
