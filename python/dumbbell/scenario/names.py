"""Names of flows: that of their [[flow]] table, which is written there or made here.

A table without a name is called by its controller; where several tables share one, by what tells them apart: the first
of transport, RTT, start, stop, application, links, preset, parameters and rate limit in which they differ, and so on,
else by a number.

>>> names([("cubic", "", "50ms"), ("cubic", "quic", "50ms"), ("bbr", "", "20ms")], [None, None, None])
['cubic', 'cubic quic', 'bbr']
>>> names([("cubic",), ("cubic",)], [None, None]), names([("cubic",), ("cubic",)], ["mine", None])
(['cubic', 'cubic #2'], ['mine', 'cubic'])
"""

from __future__ import annotations

from collections.abc import Sequence

#: Longest name, letters.
LENGTH_MAX = 40


Facts = tuple[str, ...]
"""What there is to say of the flows of a table, in the order in which it is said, the controller first; an empty word
where they are as most are.
"""


def names(tables: Sequence[Facts], given: Sequence[str | None]) -> list[str]:
    """A name for each table, none twice; `given` are those that were written, which stay."""
    all_names = [name or "" for name in given]
    unnamed = [i for i, name in enumerate(given) if name is None]
    fields = list(range(len(tables[0]))) if tables else []
    for i, words in _told_apart(tables, unnamed, fields, dict.fromkeys(unnamed, "")).items():
        all_names[i] = words
    taken = {name for name in given if name is not None}
    tried: dict[str, int] = {}
    for i in unnamed:
        all_names[i] = _free(all_names[i], taken, tried)
        taken.add(all_names[i])
    return all_names


def _told_apart(tables: Sequence[Facts], group: list[int], fields: list[int], so_far: dict[int, str]) -> dict[int, str]:
    """The names of a group of tables that are called the same so far; the first field is always said."""
    if not group or not fields or (len(group) == 1 and fields[0] > 0):
        return {i: so_far[i] for i in group}
    parts: dict[str, list[int]] = {}
    for i in group:
        parts.setdefault(tables[i][fields[0]], []).append(i)
    said: dict[int, str] = {}
    for word, members in parts.items():
        longer = {i: f"{so_far[i]} {word}".strip() if len(parts) > 1 or fields[0] == 0 else so_far[i] for i in members}
        said |= _told_apart(tables, members, fields[1:], longer)
    return said


def _free(name: str, taken: set[str], tried: dict[str, int]) -> str:
    """The name, cut to what is allowed, with a number where there is one like it; `tried` has the last number of each
    name, because those below it stay taken.
    """
    cut = name[:LENGTH_MAX].rstrip()
    number = tried.get(name, 1)
    while cut in taken:
        number += 1
        mark = f" #{number}"
        cut = name[: LENGTH_MAX - len(mark)].rstrip() + mark
    tried[name] = number
    return cut
