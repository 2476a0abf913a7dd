#!/usr/bin/env python3
"""Writes the keys of the parts of a path from the engine's own settings (`crates/net`): scenario/settings.py.

``settings.py`` writes the file; ``settings.py --check`` fails when it says something else than the engine. It imports
nothing that imports the file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from dumbbell import _native

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "python/dumbbell/scenario/settings.py"
HEAD = '''"""Settings of the parts of a path: written by `make gen` from the parts themselves (crates/net), not by hand.

`ENGINE` has the engine's name of each key.
"""
# ruff: noqa: E501

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .declare import Table, key
from .kinds import (
    BUFFER, BURST, DELAY, LIMIT, PACKETS, RATE, SHARE, memory, rates, size, span, switch_or,
)
from .plain_kinds import SWITCH, Choice, whole

if TYPE_CHECKING:
    from .keytypes import (
        Limit, MaybeBuffer, MaybeNumber, MaybeQuantity, Memory, Number, Quantity, Share, Switch, Word, WordOrSwitch,
    )
'''
#: Parts whose keys are not those of the engine one by one.
BY_HAND = {"fifo"}
#: Keys that people call otherwise than the engine.
RENAMED = {"distribution": "kind"}
#: Ranges that have a kind of their own.
KNOWN = {
    ("time", 0, 60 * 10**9): "DELAY",
    ("rate", 1_000, 10**12): "RATE",
    ("size", 1514, 2**32 - 1): "BURST",
    ("share", 0, 10**9): "SHARE",
}
TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
RATES = ((10**12, "Tbps"), (10**9, "Gbps"), (10**6, "Mbps"), (10**3, "kbps"), (1, "bps"))
SIZES = ((2**30, "GiB"), (2**20, "MiB"), (1, "B"))


def main(arguments: list[str]) -> int:
    """Write or check the file."""
    parts = [part for part in json.loads(_native.parts()) if part["kind"] not in BY_HAND]
    text = HEAD + "".join(map(declared, parts))
    ruff = [str(Path(sys.executable).parent / "ruff"), "format", "--stdin-filename", str(TARGET), "-"]
    made = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == made:
        return 0
    if arguments == ["--check"]:
        print(f"{TARGET.relative_to(ROOT)} is stale: run make gen", file=sys.stderr)
        return 1
    TARGET.write_text(made, encoding="utf-8")
    print(TARGET.relative_to(ROOT))
    return 0


def declared(part: dict[str, Any]) -> str:
    """The class of a part."""
    fields = [field for field in part["fields"] if field["unit"] != "link"]
    name = "".join(word.capitalize() for word in part["kind"].split("_"))
    lines = [f"class {name}Settings(Table):", f'    """{" ".join(part["text"].split())}"""', ""]
    names = {RENAMED.get(field["name"], field["name"]): field["key"] for field in fields}
    lines += [f"    ENGINE: ClassVar[dict[str, str]] = {names!r}", ""]
    return "\n\n" + "\n".join(lines + [f"    {line(field)}" for field in fields]) + "\n"


def line(field: dict[str, Any]) -> str:
    """The declaration of a key."""
    hint, kind = typed(field)
    given, is_optional = default(field), field["default"] is None and not field["is_required"]
    name = RENAMED.get(field["name"], field["name"])
    maybe = "Maybe" if is_optional and hint in ("Number", "Quantity") else ""
    words = f"{name}: {maybe}{hint} = key({kind}, {text(field)!r}"
    return words + ("" if given is None else f", default={given}") + ")"


def typed(field: dict[str, Any]) -> tuple[str, str]:
    """What a key may be in Python, and the kind that parses it."""
    unit, low, high, words = (field[name] for name in ("unit", "min", "max", "words"))
    if unit == "word" and {"off", "on"} <= set(words):
        others = [word for word in words if word not in ("off", "on")]
        return "WordOrSwitch", f"switch_or({', '.join(map(repr, others))})"
    if (unit, low, high) in KNOWN:
        return "Share" if unit == "share" else "Quantity", KNOWN[unit, low, high]
    found = {
        "number": ("Number", f"whole({low}, {high})"),
        "switch": ("Switch", "SWITCH"),
        "word": ("Word", f"Choice({', '.join(map(repr, words))})"),
        "packets": ("Quantity", "PACKETS"),
        "queue": ("Limit", "LIMIT") if is_limit(field) else ("MaybeBuffer", "BUFFER"),
    }
    if unit in found:
        return found[unit]
    made, units = {
        "time": ("span", TIMES),
        "rate": ("rates", RATES),
        "size": ("size", SIZES),
        "memory": ("memory", SIZES),
    }[unit]
    return "Memory" if unit == "memory" else "Quantity", f"{made}({exact(low, units)!r}, {exact(high, units)!r})"


def is_limit(field: dict[str, Any]) -> bool:
    """Whether it bounds a queue, so that the link's buffer may stand for it."""
    return bool(field["name"].endswith("limit"))


def default(field: dict[str, Any]) -> str | None:
    """The default as people write it; None for a key that must be written."""
    value, unit = field["default"], field["unit"]
    if field["is_required"]:
        return '"buffer"' if unit == "queue" else None
    if value is None or unit in ("number", "switch"):
        return repr(value)
    if unit == "word":
        return repr({"off": False, "on": True}.get(value, value))
    if unit == "share":
        return f"{value / 10**9:g}"
    if unit == "queue" and field["key"].endswith("_packets"):
        return repr(f"{value}pkt")
    return repr(exact(value, {"time": TIMES, "rate": RATES}.get(unit, SIZES)))


def exact(value: int, units: tuple[tuple[int, str], ...]) -> str:
    """A quantity in the largest unit in which it is whole."""
    return next(f"{value // size}{name}" for size, name in units if value % size == 0 and (value >= size or size == 1))


def text(field: dict[str, Any]) -> str:
    """What the key does, as a phrase."""
    words = " ".join(field["text"].split()).removesuffix(".")
    if words[1:2].islower() or words[1:2] == " ":
        words = words[0].lower() + words[1:]
    if field["unit"] == "memory":
        return f'{words}; "buffer" for the link\'s buffer in bytes'
    if field["unit"] != "queue" or not is_limit(field):
        return words
    rounded = ", and bytes or times become full packets, rounded down"
    return f'{words}; "buffer" for the link\'s buffer{rounded if field["key"].endswith("_packets") else ""}'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
