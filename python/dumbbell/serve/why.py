"""Why the flows of a finished run got what they got, in the process of a checker: a run that is asked about again is
kept with its tables, because it was made again for them.
"""

from __future__ import annotations

import math
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ResultError, show
from dumbbell.explain.again import with_tables
from dumbbell.explain.told import again_s, left_out, refused, sentences, why
from dumbbell.files import only_below
from dumbbell.report.why import names
from dumbbell.results.load import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dumbbell.results.load import Result

    from .check import Desk

#: Runs that are kept: a page has so many on screen.
_KEPT = 4
#: Those that were asked about last, by their folder and when they were made.
_kept: dict[tuple[str, str], tuple[Result, str]] = {}


def asked(posted: Mapping[str, Any]) -> tuple[str, int, float | None]:
    """The folder, the number of the run in it, and the moment in seconds that a request asks about, None for the whole
    run. Raises ResultError.
    """
    run, number, at = posted.get("run"), posted.get("number", 0), posted.get("at")
    if not isinstance(run, str):
        raise ResultError(f"run: got {show(run)}, wanted the name of a folder of results")
    if type(number) is not int or number < 0:
        raise ResultError(f"number: got {show(number)}, wanted the number of a run from 0")
    if at is not None and (type(at) not in (int, float) or not math.isfinite(at)):
        raise ResultError(f"at: got {show(at)}, wanted a time in seconds")
    return run, number, at


def told(desk: Desk, posted: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a run of a folder that the server has found: sentences, and what cannot be told."""
    folder, number, at = asked(posted)
    places = [*desk.places, Path(folder), Path(tempfile.gettempdir())]
    with only_below(places), chdir(desk.results):  # a scenario names recordings from there
        runs = load(folder)
        if number >= len(runs):
            raise ResultError(f"number: got {number}, wanted one below {len(runs)}")
        said = _refused(runs[number])
        if said:
            return {"sentences": [], "note": said}
        run, note = _with_tables(runs[number])
        try:
            flows = why(run, at=at).flows
        except ResultError as error:
            raise ResultError(str(error).removeprefix("--at: ")) from None
        return {"sentences": sentences(flows, names(run)), "note": note}


def _refused(run: Result) -> str:
    """Why this server does not explain a run; empty if it does."""
    if run.manifest.controllers and again_s(run):
        return left_out(run, "its controller is a file, which this server does not load")
    return refused(run, again_s(run))


def _with_tables(run: Result) -> tuple[Result, str]:
    key = (str(run.folder), run.manifest.created)
    if key not in _kept:
        while len(_kept) >= _KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = with_tables(run)
    return _kept[key]
