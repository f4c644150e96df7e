"""A table as text, Markdown, LaTeX, CSV; RESULTS.md."""
