"""Check the opcodes of a pickle before any of them runs.

A small pickle can be costly to load: nine bytes make the unpickler reserve 4 GB for its memo, and
nested lists that each use their element twice take exponential time. Here every length must lie
within the file, the memo is small, and a list, tuple or dict is used once, at most DEEPEST deep.
Loading a pickle that passes takes time and memory in proportion to the file.
"""

from __future__ import annotations

import pickletools
from pickletools import OpcodeInfo
from typing import IO, NamedTuple

from bison_ocl.data.reading.budget import Budget

MOST_BYTES = 1 << 32
"""of a pickle; the largest of Mini-ImageNet has 2.5e9"""
MOST_OPCODES = 1_500_000
"""of a pickle; 50,000 images with names and two labels need 200,000"""
MOST_KEYS = 20_000
"""in all dicts of a pickle: keys that collide take quadratic time"""
MOST_REPEATED = 1 << 26
"""bytes of texts taken from the memo, because each use may copy them"""
DEEPEST = 16

UNUSED = {
    *("POP", "POP_MARK", "DUP", "EMPTY_SET", "ADDITEMS", "FROZENSET", "EXT1", "EXT2", "EXT4"),
    *("INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "NEXT_BUFFER", "READONLY_BUFFER"),
}
"""opcodes that no pickle of dicts, lists and arrays contains"""
OPCODES = {op.code.encode("latin1"): op for op in pickletools.opcodes}
FROM_MEMO = {"GET", "BINGET", "LONG_BINGET"}
TO_MEMO = {"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}
WITH_KEYS = {"SETITEM", "SETITEMS", "DICT"}
LENGTHS = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}
"""bytes of the length field of an argument"""


class Refused(Exception):
    """A pickle with something that plain data never needs."""


class Value(NamedTuple):
    """A value on the stack, as far as the walk tracks it."""

    depth: int = 0
    """nesting depth of a list, tuple or dict, from 1; 0 for a plain value"""
    size: int = 0
    """bytes of a text"""


LEAF, MARK = Value(), Value(depth=-1)


class Walk:
    """Simulates the stack and the memo of the unpickler."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file, self.left = file, size
        self.stack: list[Value] = []
        self.memo: dict[int, Value] = {}
        self.opcodes = Budget(MOST_OPCODES, Refused(f"it has over {MOST_OPCODES:,} opcodes"))
        self.keys = Budget(2 * MOST_KEYS, Refused(f"its dicts have over {MOST_KEYS:,} keys"))
        self.repeated = Budget(MOST_REPEATED, Refused("it repeats long texts"))

    def run(self) -> None:
        """Walk to the end of the pickle."""
        while (op := OPCODES[self.read(1)]).name != "STOP":
            if op.name in UNUSED:
                raise Refused(f"it has the opcode {op.name}")
            self.opcodes.spend()
            self.step(op, self.argument(op))

    def step(self, op: OpcodeInfo, argument: int) -> None:
        """Apply an opcode to the stack."""
        if op.name == "MARK":
            self.stack.append(MARK)
        elif op.name in TO_MEMO:
            place = argument if op.arg else len(self.memo)
            if place > MOST_OPCODES:
                raise Refused(f"it asks for {place:,} places in its memo")
            self.memo[place] = self.stack[-1]
        elif op.name in FROM_MEMO:
            self.stack.append(self.once(self.memo[argument]))
        elif op.stack_after:
            self.stack.append(self.made(op, argument))

    def once(self, value: Value) -> Value:
        """A value from the memo; containers may not be used twice."""
        if value.depth:
            raise Refused("it uses a list, tuple or dict in two places")
        self.repeated.spend(value.size)
        return value

    def made(self, op: OpcodeInfo, argument: int) -> Value:
        """The value that an opcode makes from the values it takes."""
        used = self.used(op)
        if op.name in WITH_KEYS:
            self.keys.spend(len(used))
        if op.stack_after[0].name not in ("list", "tuple", "dict"):
            return Value(size=argument) if op.arg and op.arg.n < 0 else LEAF
        grows = op.stack_before[:1] == op.stack_after
        before = used.pop(0).depth if grows else 1
        depth = max(before, 1 + max((value.depth for value in used), default=0))
        if depth > DEEPEST:
            raise Refused(f"it is more than {DEEPEST} lists, tuples or dicts deep")
        return Value(depth)

    def used(self, op: OpcodeInfo) -> list[Value]:
        """Take the values that an opcode uses from the stack."""
        if not op.stack_before:
            return []
        names = [value.name for value in op.stack_before]
        count = len(names)
        if "mark" in names:
            start = len(self.stack) - 1
            while self.stack[start] is not MARK:
                start -= 1
            del self.stack[start]
            count = len(self.stack) - start + names.index("mark")
        if count > len(self.stack):
            raise ValueError("the stack is empty")
        values = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values

    def argument(self, op: OpcodeInfo) -> int:
        """The numeric argument of an opcode, or the length of any other argument."""
        if not op.arg:
            return 0
        if op.arg.n == pickletools.UP_TO_NEWLINE:
            lines = [self.line() for _ in range(2 if op.name == "GLOBAL" else 1)]
            return int(lines[0]) if op.name in FROM_MEMO | TO_MEMO else len(lines[0])
        if op.arg.n in LENGTHS:
            length = int.from_bytes(self.read(LENGTHS[op.arg.n]), "little")
            self.skip(length)
            return length
        number = int.from_bytes(self.read(op.arg.n), "little")
        if op.name == "FRAME" and number > self.left:
            raise EOFError
        return number

    def read(self, count: int) -> bytes:
        content = self.file.read(count)
        self.left -= count
        if len(content) < count:
            raise EOFError
        return content

    def line(self) -> bytes:
        content = self.file.readline()
        self.left -= len(content)
        return content

    def skip(self, length: int) -> None:
        """Skip an argument; one longer than the file is refused."""
        if length > self.left:
            raise EOFError
        self.left -= length
        self.file.seek(length, 1)


def check(file: IO[bytes]) -> None:
    """Refuse a pickle that is costly to load; any other exception means that it is broken."""
    size = file.seek(0, 2)
    if size > MOST_BYTES:
        raise Refused(f"it has more than {MOST_BYTES:,} bytes")
    file.seek(0)
    Walk(file, size).run()
    file.seek(0)
