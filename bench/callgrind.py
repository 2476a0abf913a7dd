"""What callgrind wrote: instructions by function and by address, and which files an address was compiled from.

Format: https://valgrind.org/docs/manual/cl-format.html, with ``--dump-instr=yes``.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

#: Objects, files and functions are given with their number once, later by their number alone.
NAMED = {"ob": "ob", "cob": "ob", "fn": "fn", "cfn": "fn"}


class Place(NamedTuple):
    """Where instructions were executed."""

    ob: str
    """Program or library."""
    fn: str
    """Function; what was inlined into it is here, too."""
    address: int
    """In the file, as its debug information has it."""


@dataclass(kw_only=True)
class _Reader:
    """State of reading: names seen so far, and where the next cost line belongs."""

    names: dict[tuple[str, str], str] = field(default_factory=dict)
    ob: str = ""
    fn: str = ""
    address: int = 0
    is_called: bool = False
    counts: Counter[Place] = field(default_factory=Counter)

    def name(self, key: str, value: str) -> str:
        number, _, name = value.partition(" ")
        return self.names.setdefault((NAMED[key], number), name)

    def cost(self, line: str) -> None:
        """``ADDRESS LINE INSTRUCTIONS``, and other events where there are; after ``calls=`` they are those of the
        called function, listed there, too.
        """
        position, _, instructions, *_ = line.split()
        if position[0] in "+-":
            self.address += int(position, 0)
        elif position != "*":
            self.address = int(position, 16)
        if not self.is_called:
            self.counts[Place(self.ob, self.fn, self.address)] += int(instructions)
        self.is_called = False


def read(lines: Iterable[str]) -> Counter[Place]:
    """Instructions by place.

    Raises
    ------
    ValueError
        When the counts are not those of the whole program, as callgrind says them itself, or lack addresses.
    """
    reader = _Reader()
    for line in lines:
        key, _, value = line.partition("=")
        if key in NAMED:
            name = reader.name(key, value)
            if key in {"ob", "fn"}:
                setattr(reader, key, name)
        elif key == "calls":
            reader.is_called = True
        elif line[:1].isdigit() or line[:1] in {"+", "-", "*"}:
            reader.cost(line)
        elif line.startswith("positions: ") and line != "positions: instr line":
            msg = f"callgrind counted by {line[11:]}, wanted --dump-instr=yes"
            raise ValueError(msg)
        elif line.startswith("totals: ") and reader.counts.total() != int(line.split()[1]):
            msg = f"callgrind counted {line.split()[1]} instructions, its lines have {reader.counts.total()}"
            raise ValueError(msg)
    return reader.counts


def totals(lines: Iterable[str]) -> dict[str, int]:
    """How often each event happened in the whole program, by callgrind's name of it: ``Ir``, an instruction; with
    ``--cache-sim=yes`` ``I1mr``, an instruction that was not in the first cache of instructions.
    """
    events: list[str] = []
    for line in lines:
        if line.startswith("events: "):
            events = line.split()[1:]
        elif line.startswith("totals: "):
            return dict(zip(events, map(int, line.split()[1:]), strict=True))
    return {}


def by_function(counts: Counter[Place]) -> Counter[str]:
    """Instructions by function; what was inlined counts where it went."""
    functions: Counter[str] = Counter()
    for place, n in counts.items():
        functions[place.fn] += n
    return functions


def files(program: Path, addresses: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """The files that each address was compiled from: that of the innermost inlined function first, then those that it
    was inlined into, up to that of the function itself.

    ``addr2line`` (binutils) reads them from the debug information; what has none is left out.
    """
    wanted = "".join(f"{address:#x}\n" for address in addresses)
    done = subprocess.run(
        ["addr2line", "--addresses", "--inlines", "--exe", str(program)],
        input=wanted,
        check=True,
        capture_output=True,
        text=True,
    )
    return frames(done.stdout.splitlines())


def frames(lines: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """What ``addr2line`` printed: an address, then a line ``FILE:LINE`` for each function that it is in."""
    found: dict[int, tuple[str, ...]] = {}
    address = 0
    for line in lines:
        if line.startswith("0x"):
            address = int(line, 16)
        elif not line.startswith("??"):
            found[address] = (*found.get(address, ()), line.rpartition(":")[0])
    return found
