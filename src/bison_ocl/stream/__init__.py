"""Streams: tasks and order in which a run sees the images of a dataset, one file per stream."""
