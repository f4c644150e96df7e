"""The dict `settings` of a classifier: what its learner is given besides the classifier's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bison_ocl.errors import UserError


def others(settings: Any, own: Mapping[str, str]) -> dict[str, Any]:
    """The settings, refused if they name an argument of the classifier.

    own: arguments of `Learner` that the classifier passes on, with their names there
    """
    if not (settings is None or isinstance(settings, dict)):
        raise UserError(f"settings={settings!r:.60}: expected a dict, such as {{'lr': 0.05}}")
    for name in settings or {}:
        if name in own:
            raise UserError(f"settings has {name!r}: give LearnerClassifier({own[name]}=...)")
    return settings or {}
