"""Figures from records: one file per figure, each a function from panels to charts."""

from bison_ocl.report.figures.drawing.save import KINDS
from bison_ocl.report.figures.views import VIEWS, Saved, save_all

__all__ = ["KINDS", "VIEWS", "Saved", "save_all"]
