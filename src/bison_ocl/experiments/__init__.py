"""Runs and their records: what is asked for, trained, checkpointed and written down."""
