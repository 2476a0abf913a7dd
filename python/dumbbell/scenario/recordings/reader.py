"""Reads recordings of any form: the one way in for scenarios, `dumbbell trace` and the live page."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from dumbbell.errors import wrong
from dumbbell.files import DATA_MAX, read_bytes, taken_apart

from . import detect, logs
from .logs import Opportunities
from .model import Choice, ChoiceError, Recording, RecordingError
from .values import recording

#: The form that is read line by line by the engine, and here only measured (`traces.py`).
MAHIMAHI = "mahimahi"

#: Options that only tables have.
_OF_TABLES = ("time", "time_unit", "where")


def form_of(path: Path, at: str, choice: Choice) -> tuple[str, str]:
    """The name of a file's form, and why it is taken for it; raises ScenarioError that names the key `at`."""
    wanted = "a recording"
    return taken_apart(
        path, at, lambda changed_ns, size: _form(path, changed_ns, size, choice), file=wanted, content=wanted
    )


def read(path: Path, at: str, choice: Choice, option: Callable[[str], str]) -> Recording:
    """The recording in a file that is no Mahimahi trace; raises ScenarioError that names the key `at`, or the key that
    `option` gives to one of the choices.
    """
    wanted = "a recording"

    def of_file(changed_ns: int, size: int) -> Recording:
        form, why = _form(path, changed_ns, size, choice)
        # Rate, RTT and loss of one table are read once: what they are for matters to a column that is named only.
        asked = choice._replace(form=form, quantity=choice.quantity if choice.column else None)
        return _read(path, changed_ns, size, asked)._replace(why=why)

    try:
        return taken_apart(path, at, of_file, file=wanted, content=wanted)
    except ChoiceError as error:
        raise wrong(option(error.option), error.given, error.wanted) from None


def opportunities(path: Path, at: str) -> Opportunities:
    """The delivery opportunities of a log of mm-link; raises ScenarioError that names the key `at`."""
    choice = Choice("mm-link")
    return taken_apart(
        path,
        at,
        lambda _changed_ns, _size: logs.opportunities(detect.taken(path, read_bytes(path, DATA_MAX), choice).look.text),
        file="a log of mm-link",
        content="a log of mm-link",
    )


@lru_cache(maxsize=64)
def _form(path: Path, _changed_ns: int, _size: int, choice: Choice) -> tuple[str, str]:
    detected = detect.taken(path, read_bytes(path, DATA_MAX), choice)
    return detected.form.name, detected.why


@lru_cache(maxsize=32)
def _read(path: Path, _changed_ns: int, _size: int, choice: Choice) -> Recording:
    detected = detect.taken(path, read_bytes(path, DATA_MAX), choice)
    if detected.form.name == MAHIMAHI:
        raise RecordingError("it is a Mahimahi trace, wanted a table or another recording")
    if detected.form.name != "csv":
        for name in _OF_TABLES:
            if getattr(choice, name):
                raise ChoiceError(
                    name, getattr(choice, name), f"it with a table only: the file is {detected.form.name}"
                )
    read_rows = detect.function(detected.form, "read")(detected.look)
    return read_rows if isinstance(read_rows, Recording) else recording(detected.form.name, read_rows, choice)
