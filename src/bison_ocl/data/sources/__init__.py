"""Datasets: one file per dataset or form of its files."""
