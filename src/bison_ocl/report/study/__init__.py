"""Records as one study: groups, names, places, measures, the paper's numbers, tests."""
