"""Entries of suites run, drawn, judged and written: a picture of each, and the scoreboard of all."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import backends, interrupts
from dumbbell.errors import ResultError, wrong
from dumbbell.files import written_whole
from dumbbell.results.texts import table_html
from dumbbell.runs.store import Store

from . import chosen, score
from .book import Book, Judged
from .changed import UNCHANGED, Changed
from .table import PROFILES

if TYPE_CHECKING:
    from dumbbell.runs.execute import Watcher


class Reproduced(NamedTuple):
    """An entry with its verdicts and its picture."""

    judged: Judged
    picture: Path | None
    """None where the paper draws none."""

    @property
    def id(self) -> str:
        """Such as ``kfoury2020/fig11a``."""
        return self.judged.text.id

    def _repr_html_(self) -> str:
        """What is claimed and whether it holds, for a notebook."""
        return table_html((self.id, ""), [(one.verdict, one.claim.text) for one in self.judged.verdicts])

    def as_json(self) -> dict[str, Any]:
        """As `dumbbell reproduce --json` prints it."""
        return score.entry_json(self.judged, self.picture)


def reproduce(
    words: Sequence[str],
    out: Path,
    *,
    profile: str,
    on: str = "sim",
    beside: str | None = None,
    changed: Changed = UNCHANGED,
    store: str | Path | None = None,
    workers: int | None = None,
    progress: Watcher | None = None,
    each: Callable[[Reproduced], None] | None = None,
) -> list[Reproduced]:
    """Run what is missing of the entries that these words name, draw and judge them; `dumbbell.reproduce` says more."""
    names = chosen(list(words))
    _check(profile, on, beside)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{out}: cannot be made ({error.strerror})") from None
    books = [
        Book(Store(store), PROFILES[profile], on=name, workers=workers, changed=changed)
        for name in (on, beside)
        if name
    ]
    with interrupts.passed_on(), interrupts.Raised():
        for book in books:
            book.run(book.jobs(book.needed(names)), progress)
    entries = []
    for name in names:
        judged = books[0].judged(name)
        judged.table.beside = books[1].table(name) if beside else None
        entries.append(Reproduced(judged, _draw(judged, out)))
        if each:
            each(entries[-1])
        for book in books:
            book.forget(name)
    _write(entries, books[0], out)
    return entries


def _check(profile: str, on: str, beside: str | None) -> None:
    """Raise ScenarioError for what there is not, or what would be drawn over itself."""
    if profile not in PROFILES:
        raise wrong("profile", profile, "one of: " + ", ".join(PROFILES), list(PROFILES))
    backends.kind(on)
    if beside:
        backends.kind(beside, "--beside")
        if beside == on:
            raise wrong("--beside", beside, f"another back end than --on {on}, whose points it would be drawn over")


def _draw(judged: Judged, out: Path) -> Path | None:
    from dumbbell import plots

    if judged.table.entry.draw is None or not judged.table.points:
        return None
    path = out / (judged.text.id.replace("/", "-") + ".png")
    plots.save(judged.table.entry.draw(judged.table), path)
    return path


def _write(entries: Sequence[Reproduced], book: Book, out: Path) -> None:
    """The scoreboard as files beside the pictures."""
    judged = [entry.judged for entry in entries]
    pictures = {entry.id: entry.picture for entry in entries if entry.picture}
    pages = {
        "scoreboard.json": json.dumps(score.as_json(judged, book.profile, book.changed), indent=1) + "\n",
        "scoreboard.md": score.markdown(judged, book.profile, pictures, book.changed),
        "standing.md": score.standing(judged, book.profile, book.changed),
    }
    for name, text in pages.items():
        with written_whole(out / name) as beside:
            beside.write_text(text, encoding="utf-8")
