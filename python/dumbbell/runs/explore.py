"""`dumbbell.sweep` and `dumbbell.find`: sweeps from Python, whose results lie in a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import backends
from dumbbell.results.where import condition
from dumbbell.scenario.own import Own

from . import interrupts
from . import vary as varying
from .goals import Goal
from .place import Place
from .store import Store
from .study import MOST, Choice, Found, Prepared, Study, prepared
from .sweep import Sweep, shown
from .temporary import Temporary

if TYPE_CHECKING:
    from dumbbell.results.load import Results
    from dumbbell.scenario.file import Scenario


def sweep(
    scenario: Scenario | str | Path | Mapping[str, object],
    vary: Mapping[str, Any] | None = None,
    *,
    together: Sequence[Sequence[str]] = (),
    sample: int | None = None,
    seed: int = 1,
    repetitions: int | None = None,
    until: str | Sequence[str] = (),
    most: int = MOST,
    by: str | None = None,
    flows: str | None = None,
    store: str | Path | None = None,
    jobs: int | None = None,
    on: str = "sim",
    cca: Iterable[str | Path] = (),
    progress: bool | None = None,
) -> Results:
    """Run a scenario over what varies, and return the results in order; runs that the store has are not run again.

    Parameters
    ----------
    scenario
        A `Scenario`, the path of a scenario file, or the same tables as nested dictionaries.
    vary
        Keys with their values, besides the scenario's own lists: lists, ranges as tables, or texts as ``--vary`` takes
        them, such as ``{"path.buffer": "0.1bdp..10bdp/7/log", "flow.cca": ["bbr", "cubic"]}``.
    together
        Groups of keys whose values go in step.
    sample, seed
        Draw that many points of all that varies at random, by this seed, instead of the full grid.
    repetitions
        Of each combination; the scenario's own unless given.
    until, most
        Repeat each combination until the 95 % interval of a figure is small, as in ``"goodput ci 2%"``, or of each of
        several; at most so often.
    by, flows
        Which rows these intervals are of: as `show --by` and `--flows`.
    store
        Folder of finished runs: $DUMBBELL_STORE, or results/.store, unless given. The results lie there.
    jobs, on, cca, progress
        As `dumbbell.run` takes them. Its `controllers` are not taken: a class that is in no file has no text by which
        the store could tell its runs from those of an earlier version.

    Raises
    ------
    ScenarioError
        The sweep cannot be run as written.
    EngineError
        A run failed; the finished ones stay in the store.
    """
    choice = Choice(varying.of(vary or {}), together, sample, seed, repetitions, _goals(until), most, by, flows)
    made, place = prepared(scenario, choice, own=Own.load(cca, on=[on]), on=on), Store(store)
    study = _done(made, choice, place, jobs, lambda study: study.run(), on=on, progress=progress)
    return place.results([job for job in made.jobs if job.number in study.finished])


def find(
    scenario: Scenario | str | Path | Mapping[str, object],
    key: str,
    where: str | Sequence[str],
    vary: Mapping[str, Any] | None = None,
    *,
    largest: bool = False,
    together: Sequence[Sequence[str]] = (),
    repetitions: int | None = None,
    until: str | Sequence[str] = (),
    most: int = MOST,
    by: str | None = None,
    flows: str | None = None,
    store: str | Path | None = None,
    jobs: int | None = None,
    on: str = "sim",
    cca: Iterable[str | Path] = (),
    progress: bool | None = None,
) -> list[Found]:
    """The smallest value of a varied key at which figures meet conditions, for each combination of the other values.

    The axis is searched by bisection, which assumes that the conditions change once along it; `Found` says whether
    every point that was looked at, the neighbours of the answer among them, agrees.

    Parameters
    ----------
    scenario
        As in `sweep`.
    key
        The key whose value is searched; it varies, in the scenario or by `vary`, over numbers in one measure.
    where
        Conditions such as ``"utilization >= 95%"``, which all rows (`by`, `flows`) are to meet.
    vary
        Keys with their values, as in `sweep`.
    largest
        Whether the largest such value is searched.
    together, repetitions, until, most, by, flows, store, jobs, on, cca, progress
        As in `sweep`.

    Raises
    ------
    ScenarioError
        The search makes no sense as written.
    EngineError
        A run failed; the finished ones stay in the store.
    """
    conditions = [condition(text) for text in ([where] if isinstance(where, str) else where)]
    choice = Choice(varying.of(vary or {}), together, None, 1, repetitions, _goals(until), most, by, flows)
    found: list[Found] = []

    made = prepared(scenario, choice, own=Own.load(cca, on=[on]), on=on)

    def searched(study: Study) -> None:
        found.extend(study.find(made.given.scenario, key, conditions, largest=largest))

    _done(made, choice, Store(store), jobs, searched, on=on, progress=progress)
    return found


def _goals(until: str | Sequence[str]) -> list[Goal]:
    return [Goal.of(text) for text in ([until] if isinstance(until, str) else until)]


def _done(
    made: Prepared,
    choice: Choice,
    store: Store,
    jobs: int | None,
    work: Callable[[Study], None],
    *,
    on: str,
    progress: bool | None,
) -> Study:
    """Work with a study whose results stay in the store alone."""
    workers = backends.workers(on, (job.request for job in made.jobs), jobs)
    line, temporary = shown([], is_wanted=progress, has_kept=True), Temporary("sweep")
    try:
        with Sweep(made.jobs, Place(temporary.path), workers=workers, make=lambda one, _: store.put(one)) as going:
            study = Study(going, choice, progress=line, result=lambda job: store.results([job])[0])
            work(study)
    except interrupts.Interrupted as error:
        interrupts.pass_on(error)
    finally:
        if line:
            line.clear()
        temporary.remove()
    for failed in study.errors.values():
        raise failed
    return study
