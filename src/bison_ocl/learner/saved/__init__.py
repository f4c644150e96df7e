"""The file of a learner: how it is written, how it is read."""
