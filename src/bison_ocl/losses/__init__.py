"""Losses, one a file: functions from tensors to a scalar."""
