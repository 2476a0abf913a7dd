"""Suites: cases, pictures and claims as data, run, drawn, judged and scored by one engine.

A suite is a folder (`folders.py`); the papers' are here. `table.py` says what an entry of it is, `judge.py` how a claim
is held against runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.errors import wrong

from .folders import HEAD, known, open_suite, shipped

if TYPE_CHECKING:
    from .claims import Text
    from .table import Entry


def ids(suite: str) -> list[str]:
    """The entries of a suite, in its order."""
    from .claims import of_suite

    return list(of_suite(suite))


def chosen(words: list[str]) -> list[str]:
    """The ids that these words name: ``all``, a suite or its folder, or an id. Raises ScenarioError for others."""
    words = _opened(words)
    of_each = {suite: ids(suite) for suite in known()}
    names = {"all": [name for own in of_each.values() for name in own], **of_each}
    names.update({name: [name] for name in names["all"]})
    for word in words:
        if word not in names:
            raise wrong("ID", word, "all, a suite or an entry of it (`dumbbell papers` lists them)", list(names))
    return list(dict.fromkeys(name for word in words for name in names[word]))


def _opened(words: list[str]) -> list[str]:
    """The ids that these words stand for: a suite's folder, or an entry in one, for that of the suite."""
    from . import claims, entries, findings

    names: list[str] = []
    folders: dict[str, Path] = {}
    for word in words:
        folder, ending = _folder(Path(word))
        if folder is None or word.partition("/")[0] in shipped():
            names.append(word)
            continue
        suite = open_suite(folder)
        if folders.setdefault(suite.name, suite.folder) != suite.folder:
            raise wrong("ID", word, f"folders with names of their own: {folders[suite.name]} is called so, too")
        names.append(suite.name + ending)
    if folders:  # they may have changed since they were read
        for read in (claims.of_suite, findings.of_suite, entries.of_folder):
            read.cache_clear()
    return names


def _folder(path: Path) -> tuple[Path | None, str]:
    """The folder of the suite that a path names, and what of it; None for none."""
    for folder, ending in ((path, ""), (path.parent, f"/{path.name}")):
        if (folder / HEAD).is_file():
            return folder, ending
    return None, ""


def text_of(name: str) -> Text:
    """Claims of an entry."""
    from .claims import of_suite

    return of_suite(name.partition("/")[0])[name]


def entry_of(name: str) -> Entry:
    """Cases and pictures of an entry."""
    from . import entries

    suite, _, item = name.partition("/")
    own = entries.of_folder(known()[suite])
    if item not in own:
        raise wrong("entry", name, f"an entry of {suite}'s entries.toml; claims.toml has it", list(own))
    return own[item]
