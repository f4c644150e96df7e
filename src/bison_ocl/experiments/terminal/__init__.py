"""Progress of runs and plans in a terminal, a log or a pipe."""
