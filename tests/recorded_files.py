"""Recordings as tests make, read and refuse them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dumbbell import ScenarioError, from_text, plan
from dumbbell.scenario.recordings import reader
from dumbbell.scenario.recordings.model import Choice, Recording

MS = 1_000_000
S = 10**9


def read(folder: Path, content: str | bytes, **choice: Any) -> Recording:
    """The recording in a file with this content."""
    (folder / "file").write_bytes(content if isinstance(content, bytes) else content.encode())
    return reader.read(folder / "file", "key", Choice(**choice), lambda option: f"key.{option}")


def refused(folder: Path, content: str | bytes, **choice: Any) -> str:
    """The error of a file, which is one line of a bounded length."""
    with pytest.raises(ScenarioError) as caught:
        read(folder, content, **choice)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 1_000
    assert text.isprintable()
    return text


def form(folder: Path, content: str | bytes, **choice: Any) -> str:
    (folder / "file").write_bytes(content if isinstance(content, bytes) else content.encode())
    return reader.form_of(folder / "file", "key", Choice(**choice))[0]


def points(found: Recording, name: str) -> list[tuple[int, int]]:
    return list(next(column for column in found.columns if column.name == name).points)


def values(found: Recording, name: str) -> list[int]:
    return [value for _, value in points(found, name)]


def times(found: Recording) -> list[int]:
    return [at for at, _ in found.columns[0].points]


def notes(found: Recording) -> str:
    return "; ".join(note.text for note in found.notes)


def warned(folder: Path, line: str, duration: str = "1s") -> tuple[str, ...]:
    """What a run warns of whose path has this line."""
    keys = {"rate": '"10Mbps"', "rtt": '"20ms"', "buffer": '"50pkt"'}
    key, value = line.split(" = ", 1)
    keys[key] = value
    path = "\n".join(f"{key} = {value}" for key, value in keys.items())
    text = f'duration = "{duration}"\n[path]\n{path}\n[[flow]]\ncca = "reno"\n'
    (made,) = plan.runs(from_text(text, folder=folder))
    return made.warnings
