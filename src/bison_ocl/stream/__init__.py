"""What arrives when: the order in which a run sees the images of a dataset, one file a stream."""
