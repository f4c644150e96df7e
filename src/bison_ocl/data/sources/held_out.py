"""Which images of a class are held out for testing, drawn from their names.

Every image draws a number in [0, 1): the first 8 bytes of the SHA-256 of `rule/class/image`, over
2**64. The rule's text carries its version and seed. So a draw depends on nothing but names: not on
the order of files, on other images, on a library's generator or on the machine.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence


def draw(rule: str, class_name: str, image: str) -> float:
    """The number of an image."""
    digest = hashlib.sha256(os.fsencode(f"{rule}/{class_name}/{image}")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def lowest(rule: str, class_name: str, images: Sequence[str], count: int) -> set[str]:
    """The images with the `count` lowest numbers."""
    ranked = sorted(images, key=lambda image: (draw(rule, class_name, image), image))
    return set(ranked[:count])


def below(rule: str, class_name: str, images: Sequence[str], share: float) -> set[str]:
    """The images that draw less than a share: an image added later moves no other.

    Where that is none the lowest is held out, and where it is all the highest is kept.
    """
    under = sum(draw(rule, class_name, image) < share for image in images)
    return lowest(rule, class_name, images, min(max(under, 1), len(images) - 1))
