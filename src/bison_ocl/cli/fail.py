"""How the command ends where something is wrong: one line and a status."""

from __future__ import annotations

import errno
import sys
from typing import NoReturn

from bison_ocl.cli.output import tell
from bison_ocl.errors import UserError, reason, shortage

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""what a disk says that takes no more, and /dev/full as standard output"""


def fail(message: str, status: int) -> NoReturn:
    """Say in one line what is wrong; a help text is shown as it is."""
    lines = message.splitlines()
    tell(message if len(lines) > 3 else f"bison-ocl: {' '.join(lines)}")
    sys.exit(status)


def explained(error: Exception) -> tuple[str, int] | None:
    """The line and the status of an error that is no fault of the program; None if it is one."""
    if isinstance(error, UserError):
        return str(error), 2
    if hasattr(error, "format_message"):  # one of the parser's own
        return error.format_message(), 2
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # pathlib's words
        return "this user has no home folder: set HOME, or name folders without ~", 2
    if isinstance(error, OSError) and error.errno in FULL:
        return f"cannot write: {reason(error)}; free some room, or write elsewhere", 2
    if lack := shortage(error):
        return f"{lack}; what is finished is kept", 1
    return None
