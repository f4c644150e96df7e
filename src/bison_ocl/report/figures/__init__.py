"""Figures from records: one file a figure, each a function from records to a matplotlib Figure."""

from bison_ocl.report.figures.views import VIEWS, Saved, save_all

__all__ = ["VIEWS", "Saved", "save_all"]
