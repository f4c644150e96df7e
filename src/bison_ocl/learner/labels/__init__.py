"""The caller's labels and ids: as plain values, with class numbers, as text and in files."""
