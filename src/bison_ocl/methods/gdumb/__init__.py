"""GDumb, and its greedy class-balanced memory."""
