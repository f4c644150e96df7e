"""Runs trained from start to record: one or a group, with tests and checkpoints."""
