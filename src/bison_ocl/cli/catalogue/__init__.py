"""Methods, datasets and streams: lists and descriptions, read from source files."""
