"""Charts drawn by Matplotlib: figures, panels, names of points, files."""
