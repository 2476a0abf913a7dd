"""The rules as data (rules.toml)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One mechanism: when it is at work, what is told, and what would prove it (see the head of rules.toml)."""

    name: str
    when: tuple[str, ...]
    say: str
    during: tuple[str, ...] = ()
    there: tuple[str, ...] = ()
    prove: tuple[tuple[str, ...], ...] = ()
    moves: str = "goodput"
    hides: tuple[str, ...] = ()
    aside: bool = False


class _Rules(msgspec.Struct, forbid_unknown_fields=True):
    rule: list[Rule]


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, the most telling one first."""
    text = (Path(__file__).parent / "rules.toml").read_bytes()
    return tuple(msgspec.toml.decode(text, type=_Rules).rule)
