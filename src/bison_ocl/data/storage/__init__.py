"""Where archives and caches lie: downloads, folders, verified caches."""
