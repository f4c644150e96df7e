"""A grid file: values by setting, in TOML or JSON; `memory` is one of the settings.

Both formats are read by Python itself. YAML is not: it takes `off`, a value of BISON's `pal`, for
false.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bison_ocl.data.reading.budget import read_regular
from bison_ocl.errors import UserError, reason

LARGEST = 1 << 20
"""bytes of a grid file"""
READERS = {".toml": tomllib.loads, ".json": json.loads}


def values_in(path: Path) -> dict[str, list[str]]:
    """The values by setting, each once, as `--set` takes them."""
    if path.suffix not in READERS:
        raise UserError(f"--grid {path}: expected a file that ends in .toml or .json")
    found = parsed(path)
    if not isinstance(found, dict):
        raise UserError(f"--grid {path}: expected values by setting, such as beta = [0.05, 0.1]")
    return {name: list(dict.fromkeys(texts(path, name, value))) for name, value in found.items()}


def parsed(path: Path) -> Any:
    """The contents of a file; errors name it."""
    try:
        text = read_regular(path, LARGEST).decode("utf-8-sig")
        return READERS[path.suffix](text)
    except OSError as error:
        raise UserError(f"cannot read --grid {path}: {reason(error)}; check the path") from error
    except UserError:
        raise
    except (ValueError, RecursionError) as error:
        kind = path.suffix[1:].upper()
        raise UserError(f"--grid {path} is not {kind}: {error}") from error


def texts(path: Path, name: str, value: Any) -> Iterator[str]:
    """A value, or a list of values, as text."""
    values = value if isinstance(value, list) else [value]
    for one in values:
        if type(one) not in (bool, int, float, str):
            raise UserError(f"--grid {path}: {name} holds {one!r}; expected numbers or names")
        yield str(one).lower() if isinstance(one, bool) else str(one)
    if not values:
        raise UserError(f"--grid {path}: {name} has no values; give at least one")
