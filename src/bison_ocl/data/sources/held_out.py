"""Draw the test images of a class from their names.

Every image draws a number in [0, 1): the first 8 bytes of the SHA-256 of `rule/class/image`, over
2**64. The rule's text includes its version and seed. A draw depends only on names: not on the order
of files, other images, a library's generator or the machine.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence


def draw(rule: str, class_name: str, image: str) -> float:
    """The number that an image draws."""
    digest = hashlib.sha256(os.fsencode(f"{rule}/{class_name}/{image}")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def lowest(rule: str, class_name: str, images: Sequence[str], count: int) -> set[str]:
    """The images with the `count` lowest numbers."""
    ranked = sorted(images, key=lambda image: (draw(rule, class_name, image), image))
    return set(ranked[:count])


def below(rule: str, class_name: str, images: Sequence[str], share: float) -> set[str]:
    """The images that draw less than a share: adding an image moves no other.

    At least the lowest is held out, and at least the highest is kept.
    """
    under = sum(draw(rule, class_name, image) < share for image in images)
    return lowest(rule, class_name, images, min(max(under, 1), len(images) - 1))
