"""The dict `settings` of a classifier: what its learner is given besides the classifier's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from bison_ocl.errors import UserError


def checked_settings(settings: Any, own: Collection[str], **renamed: str) -> dict[str, Any]:
    """The settings, refused if they name an argument of the classifier.

    own: arguments of `Learner` that the classifier has, too; renamed: by what name, if not its own
    """
    if not (settings is None or isinstance(settings, Mapping)):
        raise UserError(f"settings={settings!r:.60}: expected a dict, such as {{'lr': 0.05}}")
    for name in settings or {}:
        if name in own:
            here = renamed.get(name, name)
            raise UserError(f"settings has {name!r}: give LearnerClassifier({here}=...)")
    return dict(settings or {})
