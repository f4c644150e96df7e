"""How the command ends where something is wrong: one line and a status."""

from __future__ import annotations

import sys
from typing import NoReturn


def fail(message: str, status: int) -> NoReturn:
    """Say in one line what is wrong; a help text is shown as it is."""
    lines = message.splitlines()
    whole = message if len(lines) > 3 else f"bison-ocl: {' '.join(lines)}"
    print(whole, file=sys.stderr)
    sys.exit(status)
