"""Suites of scenarios with expectations, which come with the package: `scenarios/suites/NAME`.

A suite is a folder of scenario files that judge the flow called candidate, and a `suite.toml` that says what it is
about. No bound is anywhere but in these files.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.scenario import gallery, source
from dumbbell.scenario.declare import Each, Sub, Table, build, key
from dumbbell.scenario.plain_kinds import ANY_TABLE, TEXT, TEXTS, whole

if TYPE_CHECKING:
    from dumbbell.scenario.keytypes import Fixed

#: The folder of all suites, and the file of each that says what it is about.
FOLDER, HEAD = gallery.FOLDER / "suites", "suite.toml"


class Section(Table):
    """A section of the document that a suite follows."""

    number: Fixed[str] = key(TEXT, "its number, which the names of its files begin with", varies=False)
    title: Fixed[str] = key(TEXT, "its title", varies=False)
    level: Fixed[str] = key(TEXT, "how strongly the document asks for it", default="-", varies=False)
    note: Fixed[str | None] = key(TEXT, "what of it is not judged", default=None, varies=False)
    question: Fixed[str | None] = key(
        TEXT, "of a section without files: what its authors have to answer", default=None, varies=False
    )


class Quick(Table):
    """What the profile `quick` leaves out."""

    set: Fixed[tuple[str, ...]] = key(TEXTS, "keys with other values, in all files", default=(), varies=False)
    skip: Fixed[tuple[str, ...]] = key(TEXTS, "files that it leaves out", default=(), varies=False)
    files: Fixed[dict[str, Any]] = key(ANY_TABLE, "keys with other values, by file", default={}, varies=False)


class Head(Table):
    """`suite.toml`."""

    title: Fixed[str] = key(TEXT, "what it evaluates", varies=False)
    bounds: Fixed[int] = key(whole(1, 10_000), "version of the bounds in its files", default=1, varies=False)
    references: Fixed[tuple[str, ...]] = key(
        TEXTS, "controllers whose figures stand beside those of the candidate", default=(), varies=False
    )
    standards: Fixed[tuple[str, ...]] = key(
        TEXTS,
        "references that the document takes as the standard: where one fails, nobody else does",
        default=(),
        varies=False,
    )
    quick: Fixed[Quick] = key(Sub(Quick), "the profile `quick`", default=Quick(), varies=False)
    section: Fixed[tuple[Section, ...]] = key(
        Each(Section, minimum=0, most=200), "the sections, in their order", default=(), varies=False
    )


class Suite(NamedTuple):
    """A suite: its name, what `suite.toml` says, and its scenario files."""

    name: str
    head: Head
    files: list[Path]

    def section_of(self, file: Path) -> str:
        """The number of the section that a file is of: its name up to the first hyphen."""
        return file.stem.partition("-")[0]

    def chosen(self, profile: str) -> dict[Path, tuple[str, ...]]:
        """The files of a profile, each with the keys that differ."""
        if profile == "full":
            return dict.fromkeys(self.files, ())
        quick = self.head.quick
        return {
            file: (*quick.set, *_texts(quick.files.get(file.stem, ())))
            for file in self.files
            if file.stem not in quick.skip
        }


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def names() -> list[str]:
    """The suites that there are."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{HEAD}"))


def find(name: str) -> Suite:
    """A suite by its name, or by the folder of one's own; raises ScenarioError."""
    folder = FOLDER / name
    if not (folder / HEAD).exists():
        folder = Path(name)
    if not (folder / HEAD).exists():
        raise wrong("SUITE", name, f"one of: {', '.join(names())}, or a folder with a {HEAD}", names())
    text = source.read(folder / HEAD)
    try:
        head = build(Head, tomllib.loads(text), "")
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError("", f"not TOML: {error}", source=str(folder / HEAD)) from None
    except ScenarioError as error:
        raise source.placed(error, text, str(folder / HEAD)) from None
    files = sorted((file for file in folder.glob("*.toml") if file.name != HEAD), key=_place)
    unknown = [name for name in (*head.quick.skip, *head.quick.files) if name not in {file.stem for file in files}]
    if unknown:
        raise wrong("quick", unknown[0], "a file of the suite", [file.stem for file in files])
    return Suite(folder.name, head, files)


def _place(file: Path) -> tuple[list[int], str]:
    """Numbers of sections in their order."""
    number = file.stem.partition("-")[0]
    return [int(part) for part in number.split(".") if part.isdecimal()], file.stem
