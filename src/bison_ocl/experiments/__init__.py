"""Runs and their records: planned, trained, checkpointed and recorded."""
