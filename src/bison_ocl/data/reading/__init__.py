"""Untrusted files read with a budget: pickles, archives, images."""
