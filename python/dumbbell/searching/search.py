"""A search from a scenario and bounds to findings in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from dumbbell import units
from dumbbell.errors import OutError, ScenarioError, wrong
from dumbbell.files import read_text, written_whole
from dumbbell.runs.jobs import AnyScenario, folder_of, text_of
from dumbbell.scenario.file import from_dict
from dumbbell.scenario.kinds import NAME_LETTERS
from dumbbell.scenario.source import file_name, located, tables

from . import BATCH, BUDGET, finding
from .archive import Archive
from .genome import Genome
from .optimise import Modelled, Optimiser, Uniform
from .trial import TRIALS, Bench

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dumbbell.scenario.own import Own

    from .finding import Finding

#: What was asked for, so that the folder of another search is not gone on with; and how the search went.
ASKED, CURVE = "search.json", "curve.csv"
_ASKED_MAX = 1 << 20
Method = Literal["model", "random"]
Tell = Callable[[Archive], None]


class Asked(NamedTuple):
    """What is searched for; attributes as the parameters of `search`."""

    worst: str | None
    within: tuple[str, ...]
    budget: int
    seed: int
    method: Method
    batch: int = BATCH


class Found(NamedTuple):
    """What a search has found.

    Attributes
    ----------
    archive
        All that was tried, the worst of each kind.
    findings
        Those that break the expectation, made small, the worst first.
    nearest
        What came nearest where nothing breaks it, in words.
    unchanged
        What comes of the scenario as it is, in words.
    is_whole
        Whether the whole budget was spent, and not the time.
    """

    archive: Archive
    findings: list[Finding]
    nearest: str
    unchanged: str
    is_whole: bool


def search(
    scenario: AnyScenario,
    worst: str | None = None,
    *,
    within: Sequence[str],
    out: str | Path,
    budget: int = BUDGET,
    seed: int = 1,
    method: Method = "model",
    batch: int = BATCH,
    findings: int = 3,
    limit_s: float | None = None,
    overrides: tuple[str, ...] = (),
    own: Own | None = None,
    on: str = "sim",
    jobs: int | None = None,
    tell: Tell = lambda _: None,
) -> Found:
    """Look for the worst case of an expectation inside bounds, and write findings as scenario files (docs/search.md).

    Parameters
    ----------
    scenario
        A `Scenario`, the path of a scenario file, or its tables as nested dictionaries; nothing in it varies.
    worst
        A sentence of [[expect]], or the name of an expectation of the scenario; None: the only one that it has.
    within
        What may change: ``path.rtt=10ms..100ms``, ``outages=2:20ms..10s``.
    out
        Folder for findings and trials; a search that was interrupted there goes on.
    budget, limit_s
        How many candidates are tried at most, and for how many seconds.
    seed
        Of everything that is drawn; the runs have the scenario's.
    method
        ``model``, or ``random`` for comparison.
    batch
        How many go at once; what is found depends on it, and not on `jobs`.
    findings
        How many are made small.
    overrides, own, on, jobs
        Keys such as ``path.rate=10Mbps``, controllers of one's own, the back end, and how many runs go at once.
    tell
        Hears of the archive after each batch.

    Raises
    ------
    ScenarioError
        The scenario, the sentence or the bounds make no sense, or no candidate can be judged.
    OutError
        `out` has something else.
    """
    within, out = (within,) if isinstance(within, str) else tuple(within), Path(out)
    asked = _checked(Asked(worst, within, budget, seed, method, batch))
    base, name, folder = _base(scenario, worst, overrides)
    files = _placed(base, folder, out)
    genome = Genome(within, units.span_ns(base["duration"]) / 1e9)
    bench = Bench(base, genome, folder=out, name=name, own=own, on=on, workers=jobs)
    out.mkdir(parents=True, exist_ok=True)
    unchanged = _unchanged(bench)
    used = {"files": files, "controllers": own.record() if own else [], "engine": _engine()}
    is_new = _same(out, {"scenario": base, "on": on, **asked._asdict(), **used})
    with bench.written(out / TRIALS):
        until = None if limit_s is None else time.monotonic() + limit_s
        try:
            archive, is_whole = _tried(bench, asked, until, tell)
        except ScenarioError:
            if is_new:  # so that the question may be put right in the same folder
                for name in (ASKED, TRIALS):
                    (out / name).unlink(missing_ok=True)
            raise
        _write_curve(out, archive)
        said = [f"Found by dumbbell search within {', '.join(within)}; seed {seed}, {archive.tried} tried."]
        made = _findings(bench, archive, findings, until, said)
    for old in out.glob(finding.PATTERN):
        old.unlink()
    for number, one in enumerate(made, start=1):
        finding.write(out / finding.name(number), one)
    return Found(archive, made, _nearest(genome, archive), unchanged, is_whole)


def _unchanged(bench: Bench) -> str:
    """What comes of the scenario as it is, in words; raises ScenarioError for a sentence that it cannot answer."""
    try:
        bench.planned(bench.text(()))
    except ScenarioError as error:
        raise ScenarioError("--worst", error.problem) from None
    (trial,) = bench.trials([()])
    if trial.margin is None and trial.is_refused:
        raise ScenarioError("--worst", trial.measured)
    return trial.measured if trial.margin is not None else f"not judged: {trial.measured}"


def _tried(bench: Bench, asked: Asked, until: float | None, tell: Tell) -> tuple[Archive, bool]:
    """Everything that was tried, and whether that is the whole budget."""
    archive = Archive()
    optimiser: Optimiser
    if asked.method == "random":
        optimiser = Uniform(bench.genome, asked.batch, asked.seed)
    else:
        optimiser = Modelled(bench.genome, asked.batch, asked.seed, lambda: [elite.at for elite in archive.elites])
    while archive.tried < asked.budget:
        if until is not None and time.monotonic() > until:
            return archive, False
        asked_for = optimiser.ask()
        candidates = [bench.genome.changes(at) for at in asked_for]
        trials = bench.trials(candidates)
        for at, changes, trial in zip(asked_for, candidates, trials):
            archive.add(at, changes, trial)
        optimiser.tell([trial.margin for trial in trials])
        if archive.unjudged == archive.tried >= asked.batch:
            raise ScenarioError("--within", f"no candidate could be judged; the first: {archive.reason}")
        tell(archive)
    return archive, True


def _findings(bench: Bench, archive: Archive, most: int, until: float | None, notes: Sequence[str]) -> list[Finding]:
    """The worst findings whose changes, made small, or whose mechanisms are of different kinds; those that rest on one
    seed come last.
    """
    made: dict[tuple[Any, ...], Finding] = {}
    for elite in [elite for elite in archive.elites if elite.trial.is_broken][: _LOOKS * most]:
        if len(made) >= most or (made and until is not None and time.monotonic() > until):
            break
        one = finding.found(bench, elite, notes)
        genes = tuple(sorted({change.gene for change in one.small.changes}))
        made.setdefault((genes, one.rules[:1]), one)
    return sorted(made.values(), key=lambda one: (not one.is_robust, one.small.trial.margin))


#: Elites that are looked at for each finding that is wanted: many of them are the same when they are small.
_LOOKS = 4


def _nearest(genome: Genome, archive: Archive) -> str:
    if not archive.elites:
        return ""
    worst = archive.elites[0]
    return f"{worst.trial.measured}, wanted {worst.trial.wanted}, with {genome.said(worst.changes)}"


def _base(scenario: AnyScenario, worst: str | None, overrides: tuple[str, ...]) -> tuple[dict[str, Any], str, Path]:
    """The tables with the one expectation, their name, and where files that they name are looked for."""
    text = text_of(scenario)
    given = tables(text, overrides)
    folder = folder_of(scenario)
    given["expect"] = [_expected(given, worst)]
    given.setdefault(
        "name", file_name(located(scenario), NAME_LETTERS) if isinstance(scenario, (str, Path)) else "worst"
    )
    whole = from_dict(given, folder=folder)
    if whole.axes:
        varied = ", ".join(key for axis in whole.axes for key in axis.keys)
        raise ScenarioError("FILE", f"{varied} varies, wanted one value each: --set fixes it, --within searches it")
    return given, whole.name, folder


def _expected(given: Mapping[str, Any], worst: str | None) -> dict[str, Any]:
    """The [[expect]] table of a name or a sentence, or the only one that there is."""
    own = [one for one in given.get("expect", []) if isinstance(one, dict)]
    if worst is None:
        if len(own) != 1:
            wanted = "a sentence such as 'goodput of main >= 8Mbps', or the name of an [[expect]] table"
            raise ScenarioError("--worst", f"missing next to {len(own)} [[expect]] tables, wanted {wanted}")
        return own[0]
    return next((one for one in own if worst in (one.get("name"), one.get("that"))), {"that": worst})


#: Keys of a scenario that name a file.
_FILES = ("trace", "file")


def _placed(value: Any, folder: Path, out: Path) -> dict[str, str]:
    """Let the files that a scenario names be found from `out`, where findings are; returns their digests."""
    found: dict[str, str] = {}
    if isinstance(value, list):
        for one in value:
            found |= _placed(one, folder, out)
    if isinstance(value, dict):
        for key, one in value.items():
            if key in _FILES and isinstance(one, str) and (folder / one).is_file():
                value[key] = os.path.relpath((folder / one).resolve(), out.resolve())
                found[value[key]] = hashlib.sha256((folder / one).read_bytes()).hexdigest()
            else:
                found |= _placed(one, folder, out)
    return found


def _checked(asked: Asked) -> Asked:
    """Raise ScenarioError for numbers that make no sense."""
    for name, least in (("budget", 1), ("batch", 2), ("seed", 0)):
        if getattr(asked, name) < least:
            raise wrong(f"--{name}", getattr(asked, name), f"{least} or more")
    if asked.method not in get_args(Method):
        raise wrong("--method", asked.method, " or ".join(get_args(Method)), list(get_args(Method)))
    return asked


def _engine() -> str:
    from dumbbell import _native

    return str(_native.digests()["all"])


def _same(out: Path, wanted: Mapping[str, Any]) -> bool:
    """True if the folder is new; raises OutError where it is that of another search, which a larger budget is not."""
    path, text = out / ASKED, json.dumps(wanted, indent=1, default=str) + "\n"
    if path.exists():
        try:
            there = json.loads(read_text(path, _ASKED_MAX))
        except ValueError:
            there = None
        before = {**there, "budget": wanted["budget"]} if isinstance(there, dict) else there
        if before != json.loads(text):
            raise OutError(f"--out: {out} has another search, or one of another engine or file; name another folder")
        if there["budget"] > wanted["budget"]:
            raise OutError(f"--budget: {out} has a search of {there['budget']}, wanted that or more")
        is_new = False
    elif any(out.iterdir()):
        raise OutError(f"--out: {out} is not empty, wanted an empty folder or that of the same search")
    else:
        is_new = True
    with written_whole(path) as file:
        file.write_text(text, encoding="utf-8")
    return is_new


def _write_curve(out: Path, archive: Archive) -> None:
    rows = ["tried,margin", *(f"{tried},{margin:.9g}" for tried, margin in archive.curve)]
    with written_whole(out / CURVE) as file:
        file.write_text("\n".join(rows) + "\n", encoding="utf-8")
