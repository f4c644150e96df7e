"""How runs and plans show themselves in a terminal, a log or a pipe."""
