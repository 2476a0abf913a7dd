"""Suites: cases, pictures and claims as data, run, drawn, judged and scored by one engine.

A suite is a folder (`folders.py`); the papers' are here. `table.py` says what an entry of it is, `judge.py` how a claim
is held against runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.errors import wrong

from .folders import HEAD, known, open_suite

if TYPE_CHECKING:
    from .claims import Text
    from .table import Entry


def ids(suite: str) -> list[str]:
    """The entries of a suite, in its order."""
    from .claims import of_suite

    return list(of_suite(suite))


def chosen(words: list[str]) -> list[str]:
    """The ids that these words name: ``all``, a suite or its folder, or an id. Raises ScenarioError for others."""
    words = [_opened(word) for word in words]
    of_each = {suite: ids(suite) for suite in known()}
    names = {"all": [name for own in of_each.values() for name in own], **of_each}
    names.update({name: [name] for name in names["all"]})
    for word in words:
        if word not in names:
            raise wrong("ID", word, "all, a suite or an entry of it (`dumbbell papers` lists them)", list(names))
    return list(dict.fromkeys(name for word in words for name in names[word]))


def _opened(word: str) -> str:
    """The id that a word stands for: of a suite's folder, or an entry in it, that of the suite, which is opened."""
    path = Path(word)
    for folder, ending in ((path, ""), (path.parent, f"/{path.name}")):
        if word.partition("/")[0] not in known() and (folder / HEAD).is_file():
            return open_suite(folder).name + ending
    return word


def text_of(name: str) -> Text:
    """What is claimed of an entry."""
    from .claims import of_suite

    return of_suite(name.partition("/")[0])[name]


def entry_of(name: str) -> Entry:
    """How an entry is run and drawn."""
    from . import entries

    suite, _, item = name.partition("/")
    own = entries.of_folder(known()[suite])
    return own[item] if item in own else entries.of_python(suite, item)
