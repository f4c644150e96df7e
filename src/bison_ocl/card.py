"""Facts about a method for tables, figures and plans, declared in its own file."""

from __future__ import annotations

from typing import ClassVar

from bison_ocl.look import GREY, Look


class Card:
    """Class attributes of a method that no step reads."""

    title: ClassVar[str] = ""
    """the name in tables and figures, as its paper prints it"""
    kind: ClassVar[str] = ""
    """the BISON paper's category: T, training distinction; F, feature enhancement"""
    look: ClassVar[Look] = Look(GREY, "o")
    """colour, marker and line in figures"""
    learned: ClassVar[tuple[int, ...]] = (20, 20)
    """images in each forward and backward pass of a step, at the default batch of 10 + 10"""
    scored: ClassVar[tuple[int, ...]] = ()
    """images in each forward-only pass of a step"""
    learned_at_test: ClassVar[int] = 0
    """images learned from before each evaluation, per row of the memory"""
