"""The documentation site, built by Sphinx from the repository's pages and docstrings.

python -m tools.site    writes build/site; a warning is an error
"""
