"""Charts drawn by Matplotlib: figures, panels, names beside points, files."""
