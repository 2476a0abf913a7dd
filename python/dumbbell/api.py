"""The command line from Python: a typed function for each question.

`race` answers a question in one line. `run` makes runs, `sweep` and `find` make those that a question needs and keep
them in a store, `check` says what would run, `verify` judges what scenario files expect, `evaluate` a controller by the
sections of RFC 9743, `compare` holds back ends against each other, `reproduce` judges the figures of papers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from warnings import warn

from dumbbell import backends, comparison, interrupts, racing
from dumbbell.errors import ScenarioError
from dumbbell.judge import Precision
from dumbbell.judge.grammar import bound, precision
from dumbbell.results.load import Results
from dumbbell.runs import vary as varying
from dumbbell.runs.execute import Execution, execute
from dumbbell.runs.jobs import AnyScenario, given, jobs_of
from dumbbell.runs.place import Place
from dumbbell.runs.progress import shown
from dumbbell.runs.store import Store
from dumbbell.runs.study import MOST, Choice, Found, Prepared, Study, prepared
from dumbbell.scenario.own import Own, is_file, with_candidate
from dumbbell.temporary import Temporary

if TYPE_CHECKING:
    from dumbbell.comparison import Comparison
    from dumbbell.expect.asked import File
    from dumbbell.expect.evaluated import Evaluation
    from dumbbell.expect.judged import Line
    from dumbbell.racing import Race
    from dumbbell.runs.check import Cost
    from dumbbell.runs.execute import Watcher
    from dumbbell.runs.job import Job, Outcome
    from dumbbell.suites.fidelity.means import Means
    from dumbbell.suites.fidelity.table import Record, Section
    from dumbbell.suites.reproduce import Reproduced


def run(
    scenario: AnyScenario,
    out: str | Path | None = None,
    jobs: int | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    controllers: Mapping[str, type] | None = None,
    cca: Iterable[str | Path] = (),
    on: str = "sim",
    progress: bool | None = None,
) -> Results:
    """Run a scenario, with all its varied values and repetitions, and return the results in order.

    Parameters
    ----------
    scenario
        A `Scenario`, the path of a scenario file, or the same tables as nested dictionaries.
    out
        Folder to write to, empty or new unless `resume` or `force`. Without it the results live in a temporary folder,
        which goes with the last of the objects returned.
    jobs
        How many runs go at once; as many as there are cores unless given. Results do not depend on it.
    resume
        Keep finished runs of the same plan in `out`, and run only what is missing or damaged.
    force
        Replace results in `out`; anything else in it is an error.
    controllers
        Controllers of one's own by name: classes with ``on_ack(sample) -> (cwnd, pacing_rate)``
        (docs/own-controller.md). An exception in one of them ends the run with ControllerError.
    cca
        Files with controllers of one's own (.c or .py), as ``dumbbell run --cca`` takes them.
    on
        Back end: ``sim``, or ``linux`` for real hosts (docs/linux.md), whose runs go one by one unless `jobs` is given.
    progress
        Whether to show how far the runs are: below the cell of a notebook, else on stderr. Unless given, in notebooks
        only.

    Raises
    ------
    ScenarioError
        The scenario cannot be run as written.
    ResultError
        `out` holds something else, or another command writes to it.
    ControllerError
        A controller of one's own in Python raised an exception.
    EngineError
        A run failed; the finished ones stay in `out`.
    """
    planned = jobs_of([given(scenario)], Path(), own=Own.load(cca, controllers, on=[on]), on=on)
    workers, line = backends.workers(on, (job.request for job in planned), jobs), shown(is_wanted=progress)
    if out is not None:
        return _made(planned, Place(Path(out), resume=resume, force=force), workers, line)
    temporary = Temporary("run")
    results = _made(planned, Place(temporary.path), workers, line)
    for result in results:
        vars(result)["_temporary"] = temporary  # the folder lives as long as somebody has one of its runs
    return results


def _made(planned: list[Job], place: Place, workers: int | None, line: Watcher | None) -> Results:
    """The results of these runs; raises the error of the first that failed, when all have ended."""
    with interrupts.passed_on():
        going = execute(planned, place, workers=workers, progress=line, note=lambda text: warn(text, stacklevel=5))
        outcomes = list(going)
    for outcome in outcomes:
        if outcome.error:
            raise outcome.error
    return Results.of([outcome.job.folder for outcome in outcomes])


def race(
    *ccas: str,
    rate: str | None = None,
    rtt: str | None = None,
    buffer: str | None = None,
    qdisc: str | None = None,
    loss: str | None = None,
    trace: str | Path | None = None,
    duration: str = racing.DEFAULTS["duration"],
    sweep: str | Sequence[str] = (),
    overrides: Iterable[str] = (),
    most: int = racing.MOST,
    cca: Iterable[str | Path] = (),
    on: str = "sim",
    store: str | Path | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Race:
    """Race controllers over a bottleneck, with as many repetitions as it takes to be sure, and say who got how much.

    Parameters
    ----------
    ccas
        Controllers: ``"bbr"``, ``"2xbbr"`` for two flows, ``"cubic@10ms"`` for an RTT of its own, or the file of one's
        own, such as ``"./tcp_mine.c"``.
    rate, rtt, buffer, qdisc, loss
        Values of ``[path]`` as scenario files have them; 100 Mbit/s, 30 ms and 1 BDP unless given.
    trace
        A Mahimahi trace, or a table of a recorded link, instead of a rate; a file, or a name of the gallery (``"5g"``).
    duration
        Simulated time of a run.
    sweep
        What varies: ``"buffer"``, or ``"path.rtt=10ms,100ms"``; one, or several.
    overrides
        Any other keys, such as ``"host.ecn=true"``.
    most
        Repetitions that it may take.
    cca, on, jobs, progress
        As `run` takes them.
    store
        Folder of finished runs; a temporary one unless given.

    Raises
    ------
    ScenarioError
        It cannot be run as asked.
    EngineError
        A run failed.
    """
    racers = [racing.racer(text) for text in ccas]
    keys = {
        "rate": {"trace": racing.recording(str(trace))} if trace else rate,
        "rtt": rtt,
        "buffer": buffer,
        "qdisc": qdisc,
        "loss": loss,
    }
    if trace and rate:
        raise ScenarioError("--trace", "gives the rate of the link: wanted one of --rate and --trace")
    tables = racing.scenario(racers, keys, duration=duration, overrides=tuple(overrides))
    axes = racing.axes([sweep] if isinstance(sweep, str) else sweep)
    temporary = None if store else Temporary("race")
    files = [*cca, *(racer.file for racer in racers if racer.file)]
    results = _sweep(
        tables, axes, until=racing.SURE[len(racers) == 1], most=most, by="table", on=on, cca=files,
        store=temporary.path if temporary else store, jobs=jobs, progress=progress,
    )  # fmt: skip
    if temporary:
        for result in results:
            vars(result)["_temporary"] = temporary
    return racing.told(results, tables, axes)


class Checked(NamedTuple):
    """Description of what a scenario would run, and its warnings."""

    text: str
    warnings: list[str]


def check(
    scenario: AnyScenario,
    *,
    overrides: Iterable[str] = (),
    cca: Iterable[str | Path] = (),
    on: str = "sim",
    jobs: int | None = None,
) -> Checked:
    """Say what a scenario would run and how long that takes, without running it; parameters as of `run`.

    Parameters
    ----------
    overrides
        Keys with other values, such as ``"path.rate=10Mbps"``.

    Raises
    ------
    ScenarioError
        The scenario, or its back end, cannot run as written.
    """
    from dumbbell.runs.check import describe
    from dumbbell.scenario.source import placed

    overrides = tuple(overrides)
    backends.kind(on)
    own, described = Own.load(cca, on=[on]), given(scenario, overrides=overrides)
    try:
        told = describe(described.scenario, own, on=on, jobs=jobs)
    except ScenarioError as error:
        raise placed(error, described.text, described.source, overrides) from None
    return Checked(told.text, [*own.kernel_refusals(), *told.warnings])


def compare(
    scenario: AnyScenario,
    on: Sequence[str],
    out: str | Path | None = None,
    jobs: int | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    cca: Iterable[str | Path] = (),
    packets: bool = False,
    progress: bool | None = None,
) -> list[Comparison]:
    """Run a scenario on two or three back ends, and hold the figures of each further one against those of the first.

    Parameters
    ----------
    on
        The back ends, such as ``("sim", "uml")``.
    out
        Folder with a folder for each back end; a temporary one unless given.
    packets
        Whether captures are made and compared, packet by packet.
    scenario, jobs, resume, force, cca, progress
        As `run` takes them.

    Raises
    ------
    ScenarioError
        The scenario cannot be run as written, or not on one of them; nothing has been run then.
    EngineError
        This machine lacks what one of them needs, or a run failed.
    """
    from dumbbell.explain.told import Teller

    names, line = comparison.named(on), shown(is_wanted=progress)
    plans = comparison.planned([given(scenario)], names, own=Own.load(cca, on=names), packets=packets)
    temporary = None if out else Temporary("compare")
    folder = Path(out) if out else temporary.path if temporary else Path()
    with interrupts.passed_on(), Place(folder, resume=resume, force=force):
        results = {}
        for name, of_one in plans.items():
            workers = backends.workers(name, (job.request for job in of_one), jobs)
            results[name] = _made(of_one, Place(folder / name, resume=resume), workers, line)
    comparisons = list(comparison.compared(results, packets=packets, teller=Teller()))
    if temporary:
        temporary.remove()
    return comparisons


def verify(
    files: str | Path | Sequence[str | Path],
    *,
    overrides: Iterable[str] = (),
    only: str | None = None,
    candidate: str | None = None,
    cca: Iterable[str | Path] = (),
    on: str = "sim",
    save_baseline: str | None = None,
    store: str | Path | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> list[Line]:
    """Judge what scenario files expect of their runs: a `Line` for each expectation, place and row, with its word,
    what was measured and wanted.

    Parameters
    ----------
    files
        Scenario files with ``[[expect]]`` tables, or folders with such files.
    overrides
        Keys with other values, such as ``"path.rate=10Mbps"``.
    only
        A text that the name or the sentence of an expectation has.
    candidate
        The controller of the flow called candidate: a name, or a file (C, Python or Rust).
    save_baseline
        The name of a baseline whose figures are kept, in ``baselines`` beside each file.
    store
        Folder of finished runs: $DUMBBELL_STORE, or results/.store, unless given.
    cca, on, jobs, progress
        As `run` takes them.

    Raises
    ------
    ScenarioError
        A file cannot be run or judged as written, or none expects anything.
    EngineError
        A run failed; the finished ones stay in the store.
    """
    from dumbbell.expect import tested

    paths = [files] if isinstance(files, (str, Path)) else files
    own, named = with_candidate(candidate, cca, on=on)
    asked = tested.planned(paths, overrides=tuple(overrides), own=own, on=on, only=only, candidate=named)
    with _judging(asked, own, on=on, store=store, jobs=jobs, progress=progress) as going:
        judged = tested.lines(asked, going.execution, save=save_baseline, tell=going.errors.append)
        return [line for _, of_file in judged for line in of_file]


class _Judging(NamedTuple):
    """An execution of runs that are judged, and the outcomes of those that failed."""

    execution: Execution
    errors: list[Outcome]


@contextmanager
def _judging(
    files: Sequence[File],
    own: Own,
    *,
    on: str,
    store: str | Path | None,
    jobs: int | None,
    progress: bool | None,
    announced: Callable[[list[Job], int | None], None] = lambda *_: None,
) -> Iterator[_Judging]:
    """The execution of these files' runs, which `announced` hears of before; raises the error of the first run that
    failed, when all have ended.
    """
    from dumbbell.expect import tested

    planned = tested.jobs(files)
    workers = backends.workers(on, (job.request for job in planned), jobs)
    announced(planned, workers)
    how: dict[str, Any] = {"may_fork": own.has_python, "progress": shown(is_wanted=progress, has_kept=True)}
    errors: list[Outcome] = []
    with interrupts.passed_on(), Execution(planned, None, store=Store(store), workers=workers, **how) as going:
        yield _Judging(going, errors)
    for outcome in errors:
        if outcome.error:
            raise outcome.error


def evaluate(
    candidate: str,
    *,
    profile: Literal["quick", "full"] = "quick",
    suite: str = "rfc9743",
    overrides: Iterable[str] = (),
    cca: Iterable[str | Path] = (),
    on: str = "sim",
    store: str | Path | None = None,
    jobs: int | None = None,
    qlogs: str | Path | None = None,
    force: bool = False,
    before: Callable[[int, Cost], None] | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Evaluate a controller by a suite, beside the suite's references: as RFC 9743 asks, section by section.

    Parameters
    ----------
    candidate
        A controller by its name, or its file (C, Python or Rust).
    profile
        ``quick``: one repetition, fewer cells; ``full``: every cell.
    suite
        The name of a suite, or the folder of one of your own.
    overrides
        Keys of all scenarios.
    store
        Folder of finished runs: $DUMBBELL_STORE, or results/.store, unless given.
    qlogs
        A new folder for a qlog of each run of the candidate, with an index of them; simulator only.
    force
        Replace the qlogs that are in this folder.
    before
        Called with the number of files and what their runs cost, before the first of them.
    cca, on, jobs, progress
        As `run` takes them.

    Raises
    ------
    ScenarioError
        There is no such suite, or it cannot be run so.
    OutError
        `qlogs` holds something else.
    EngineError
        A run failed; the finished ones stay in the store.
    """
    from dumbbell.expect import evaluated, suites, tested
    from dumbbell.expect.qlogs import Qlogs
    from dumbbell.runs.check import cost

    chosen, (own, named) = suites.find(suite), with_candidate(candidate, cca, on=on)
    assert named is not None
    for name in own.sources:
        if name in chosen.head.references:
            raise ScenarioError(
                "CCA", f"{candidate} holds {name}, which is a reference of {suite}: wanted another name"
            )
    given = tuple(overrides)
    files = evaluated.planned(chosen, named, profile=profile, own=own, on=on, overrides=given)
    sources = (*cca, *([candidate] if is_file(candidate) else []))
    kept = Qlogs.of(qlogs, sources, on=on, force=force) if qlogs else None
    if kept:
        files[named] = list(map(kept.recorded, files[named]))
    every = tested.numbered([file for of_one in files.values() for file in of_one])

    def announced(planned: list[Job], workers: int | None) -> None:
        if before:
            before(len(files[named]), cost(planned, Store(store), on=on, workers=workers))

    with _judging(every, own, on=on, store=store, jobs=jobs, progress=progress, announced=announced) as going:
        judged = list(tested.lines(every, going.execution, tell=going.errors.append))
        if kept and not going.errors:
            kept.write(chosen, named, judged[: len(files[named])], going.execution)  # the candidate's come first
    of_files = iter([lines for _, lines in judged])
    by_controller = {name: [line for _ in of_one for line in next(of_files)] for name, of_one in files.items()}
    how = evaluated.How(candidate, profile, given, tuple(map(str, cca)), on)
    return evaluated.evaluation(chosen, named, by_controller, how)


def reproduce(
    ids: str | Sequence[str],
    out: str | Path = "results/papers",
    jobs: int | None = None,
    *,
    profile: Literal["full", "fast", "quick"] = "full",
    on: str = "sim",
    beside: str | None = None,
    scale: float = 1.0,
    overrides: Iterable[str] = (),
    repetitions: int | None = None,
    at: Iterable[str] = (),
    store: str | Path | None = None,
    progress: bool | None = None,
    each: Callable[[Reproduced], None] | None = None,
) -> list[Reproduced]:
    """Run figures and tables of suites, draw them, and judge what is claimed of them; runs that the store has are not
    run again.

    Parameters
    ----------
    ids
        ``all``, a suite (``kfoury2020``), an entry of it (``kfoury2020/fig14a``), or the folder of a suite of one's own
        (docs/suites.md).
    out
        Folder for the pictures and the scoreboard.
    profile
        ``full``: the papers' times and repetitions; ``fast``: shorter and fewer; ``quick``: a first look.
    beside
        A back end to run it on too; both are drawn into one picture.
    scale
        What rates are multiplied with, for back ends that do not carry the paper's; the number of flows or, where it
        does not divide, their sizes too.
    overrides
        Keys of all scenarios, for what a paper leaves open: ``"host.ecn=true"``.
    repetitions
        Of each set-up, instead of the profile's.
    at
        The places of the figures that run, such as ``"buffer_bdp=1,10"``; claims about others are not judged.
    store
        Folder of finished runs: $DUMBBELL_STORE, or results/.store, unless given.
    each
        Called with every entry as soon as it is judged.
    jobs, on, progress
        As `run` takes them.

    Raises
    ------
    ScenarioError
        There is no such entry, or it cannot be run so.
    EngineError
        A run failed; the finished ones stay in the store.
    """
    from dumbbell.suites import reproduce as suites
    from dumbbell.suites.changed import Changed

    words = [ids] if isinstance(ids, str) else ids
    return suites.reproduce(
        words, Path(out), profile=profile, on=on, beside=beside, store=store, workers=jobs,
        changed=Changed.of(scale, overrides, repetitions, at),
        progress=shown(is_wanted=progress), each=each,
    )  # fmt: skip


def fidelity(
    files: Sequence[str | Path] = (),
    *,
    chosen: str = "tests",
    seeds: int | None = None,
    only: str = "",
    reference: str = "uml",
    seed: int = 1,
    count: int = 100,
    stored: Sequence[Record] | None = None,
    store: str | Path | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Section | Means:
    """Hold the simulator against Linux in virtual time, row by row: a `Section` of judged rows, or of the set ``means``
    the `Means` of many seeds.

    Parameters
    ----------
    files
        Scenario files of one's own, each combination of whose varied values is a row; those of a set unless given.
    chosen
        The set: ``tests``, ``random``, ``means``, ``smoke`` or ``both-ways``.
    seeds
        Repetitions of each row on each side; 3 unless given, of the set ``means`` 16.
    only
        A regular expression: rows whose name has it.
    reference
        The back end that stands for Linux, such as ``uml:6.1``.
    seed, count
        Of the set ``random``: what it is drawn by, and how many scenarios.
    stored
        Rows of a table that was stored: Linux's figures are theirs, and no kernel is needed.
    store
        Folder of finished runs: $DUMBBELL_STORE, or results/.store, unless given.
    jobs, progress
        As `run` takes them.

    Raises
    ------
    ScenarioError
        A file cannot be read as a scenario.
    EngineError
        There is no such kernel: ``dumbbell uml build`` makes it.
    """
    from dumbbell.suites import fidelity as table

    scratch = Temporary("fidelity") if chosen == "random" and not files else None
    paths = [Path(file) for file in files] or table.files_of(
        chosen, seed=seed, count=count, scratch=scratch.path if scratch else None
    )
    known: dict[str, Any] = {
        "only": only, "reference": reference, "store": Store(store), "workers": jobs,
        "progress": shown(is_wanted=progress, has_kept=True),
        "seeds": seeds if seeds is not None else table.SEEDS.get(chosen, 3),
    }  # fmt: skip
    with interrupts.passed_on(), interrupts.Raised():
        measured: Section | Means = (
            table.means_of(paths, **known)
            if chosen == "means" and not files
            else table.measured(paths, stored=stored, **known)
        )
    if scratch:
        scratch.remove()
    return measured


def sweep(
    scenario: AnyScenario,
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
    choice = Choice(varying.of(vary or {}), together, sample, seed, repetitions, _precisions(until), most, by, flows)
    ready, place = prepared(scenario, choice, own=Own.load(cca, on=[on]), on=on), Store(store)
    study = _studied(ready, choice, place, jobs, lambda study: study.run(), on=on, progress=progress)
    return place.results([job for job in ready.jobs if job.number in study.finished])


def find(
    scenario: AnyScenario,
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
    conditions = [bound(text) for text in ([where] if isinstance(where, str) else where)]
    choice = Choice(varying.of(vary or {}), together, None, 1, repetitions, _precisions(until), most, by, flows)
    answers: list[Found] = []
    ready = prepared(scenario, choice, own=Own.load(cca, on=[on]), on=on)

    def search(study: Study) -> None:
        answers.extend(study.find(ready.given.scenario, key, conditions, largest=largest))

    _studied(ready, choice, Store(store), jobs, search, on=on, progress=progress)
    return answers


#: Under another name for `race`, one of whose arguments is called so.
_sweep = sweep


def _precisions(until: str | Sequence[str]) -> list[Precision]:
    return [precision(text) for text in ([until] if isinstance(until, str) else until)]


def _studied(
    ready: Prepared,
    choice: Choice,
    store: Store,
    jobs: int | None,
    work: Callable[[Study], None],
    *,
    on: str,
    progress: bool | None,
) -> Study:
    """Work with a study whose results stay in the store alone."""
    workers = backends.workers(on, (job.request for job in ready.jobs), jobs)
    line = shown(is_wanted=progress, has_kept=True)
    with interrupts.passed_on(), Execution(ready.jobs, None, store=store, workers=workers, progress=line) as going:
        study = Study(going, choice)
        work(study)
    for error in study.errors.values():
        raise error
    return study
