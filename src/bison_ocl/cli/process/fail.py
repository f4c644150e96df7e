"""Errors of the command: one line and an exit status."""

from __future__ import annotations

import errno
import sys
from typing import Any, NoReturn

from bison_ocl.cli.process.output import tell
from bison_ocl.errors import UserError, reason, shortage

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""errors of a full or failing disk, and of /dev/full as standard output"""


def fail(message: str, status: int) -> NoReturn:
    """Print a message in one line, a help text unchanged, and exit."""
    lines = message.splitlines()
    tell(message if len(lines) > 3 else f"bison-ocl: {' '.join(lines)}")
    sys.exit(status)


def explained(error: Exception) -> tuple[str, int] | None:
    """Message and exit status of an expected error; None for a fault of the program."""
    if isinstance(error, UserError):
        return str(error), 2
    if hasattr(error, "format_message"):  # an error of the parser
        return of_the_parser(error), 2
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # pathlib's words
        return "this user has no home folder: set HOME, or give paths without ~", 2
    if isinstance(error, OSError) and error.errno in FULL:
        return f"cannot write: {reason(error)}; free disk space, or write elsewhere", 2
    if lack := shortage(error):
        return f"{lack}; finished runs are kept", 1
    return None


def of_the_parser(error: Any) -> str:
    """The parser's message with what helps: the help of what is missing, or where to find help."""
    message = str(error.format_message()).replace("Value error, ", "")
    if type(error).__name__ == "MissingParameter":
        return f"{message} {getattr(error.param, 'help', None) or ''}".rstrip()
    if type(error).__name__ == "BadParameter" or message.endswith("?") or error.ctx is None:
        return message
    return f"{message.rstrip('.')}; see `{error.ctx.command_path} --help`"
