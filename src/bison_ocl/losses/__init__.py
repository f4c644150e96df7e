"""Losses, one per file: functions from tensors to a scalar."""
