"""Read untrusted files within a budget: pickles, archives, images."""
