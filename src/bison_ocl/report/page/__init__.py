"""The report as one page that needs nothing else: no network, no server, no other file."""

from bison_ocl.report.page.assemble import write

__all__ = ["write"]
