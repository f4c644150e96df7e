"""Training of runs, alone or in groups, with tests, checkpoints and records."""
