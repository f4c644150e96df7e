"""Datasets by name: what each reads, from which files."""
