"""`dumbbell sweep`: a scenario over what varies, with a store of runs, until intervals are small, or in search of a
value.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dumbbell import backends, interrupts, units
from dumbbell.errors import DiskFullError, ScenarioError, wrong
from dumbbell.judge.grammar import bound, precision
from dumbbell.results.texts import partly_text
from dumbbell.runs import vary as varying
from dumbbell.runs.execute import Execution
from dumbbell.runs.progress import Progress, screen
from dumbbell.runs.store import Store
from dumbbell.runs.study import MOST, Choice, Found, Looked, Prepared, Study, missed, prepared
from dumbbell.scenario.own import Own

from . import run
from .rows import Asked, cell
from .show import checked, failed_text, of_runs
from .status import BAD_INPUT, FAILED, INTERRUPTED, OK
from .writers import write_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.judge import Bound
    from dumbbell.runs.job import Outcome


#: Combinations that a note names; more are abbreviated.
_NAMED = 5


def main(arguments: argparse.Namespace) -> int:
    """Run the sweep in `arguments`; see `dumbbell sweep --help`."""
    with interrupts.Raised():
        backends.kind(arguments.on)
        choice, conditions = _choice(arguments), _conditions(arguments)
        wanted = checked(Asked(by=arguments.by, flows=arguments.flows, columns=arguments.columns, wide=arguments.wide))
        own = Own.load(arguments.cca, on=[arguments.on])
        made = prepared(arguments.file, choice, overrides=tuple(arguments.overrides), own=own, on=arguments.on)
        if not arguments.quiet:
            run.warn_of([made.given], made.jobs, own)
        workers = backends.workers(arguments.on, (job.request for job in made.jobs), arguments.jobs)
        name = made.given.scenario.name
        place = run.placed(arguments.out, name, resume=arguments.resume, force=arguments.force)
        progress = None if arguments.quiet else Progress(screen(), has_kept=True)
        store = Store(arguments.store)
        with Execution(
            made.jobs,
            place,
            store=store,
            workers=workers,
            may_fork=own.has_python,
            progress=progress,
            note=_note,
        ) as going:
            return _go(arguments, made, going, choice=choice, conditions=conditions, wanted=wanted)


def _choice(arguments: argparse.Namespace) -> Choice:
    if arguments.until and arguments.repetitions:
        raise ScenarioError("--repetitions", "--until says how many there are: wanted one of them, or --max")
    if arguments.most and not arguments.until:
        raise ScenarioError("--max", "is of --until, which is not given")
    return Choice(
        vary=[varying.wanted(text) for text in arguments.vary],
        together=[[key.strip() for key in text.split(",")] for text in arguments.together],
        sample=arguments.sample,
        seed=arguments.seed,
        repetitions=arguments.repetitions,
        until=[precision(text) for text in arguments.until],
        most=arguments.most or MOST,
        by=arguments.by,
        flows=arguments.flows,
    )


def _conditions(arguments: argparse.Namespace) -> list[Bound]:
    if bool(arguments.find) != bool(arguments.where):
        raise ScenarioError("--find", "wanted --find min|max KEY and --where CONDITION together")
    if arguments.find and arguments.find[0] not in ("min", "max"):
        raise wrong("--find", arguments.find[0], 'one of: "min", "max"', ["min", "max"])
    if arguments.find and arguments.sample:
        raise ScenarioError("--sample", "makes points without an order, in which --find cannot search")
    return [bound(text) for text in arguments.where]


class _Teller:
    """Says what comes of each run, and remembers the exit status."""

    def __init__(self, *, has_lines: bool) -> None:
        self.has_lines, self.status = has_lines, OK
        self.failed = self.count = 0

    def tell(self, outcome: Outcome) -> None:
        """An error on stderr, or a line of JSON on stdout."""
        self.count += 1
        self.failed += outcome.error is not None
        if outcome.error:
            self.status = max(self.status, BAD_INPUT if isinstance(outcome.error, ScenarioError) else FAILED)
            hint = "; finished runs are kept in the store" if isinstance(outcome.error, DiskFullError) else ""
            _note(f"{outcome.error}{hint}")
        elif self.has_lines and outcome.manifest:
            write_object(run.line(outcome.manifest, outcome.job.folder))


def _go(
    arguments: argparse.Namespace,
    made: Prepared,
    going: Execution,
    *,
    choice: Choice,
    conditions: list[Bound],
    wanted: Asked,
) -> int:
    """Run, and print what came of it; returns the exit status."""
    teller, found = _Teller(has_lines=arguments.json and not conditions), None
    study = Study(going, choice, tell=teller.tell)
    try:
        if conditions:
            found = study.find(made.given.scenario, arguments.find[1], conditions, largest=arguments.find[0] == "max")
        else:
            study.run()
    except KeyboardInterrupt as error:
        how = " with --resume" if arguments.out and not arguments.resume else ""
        _note(f"interrupted; {len(study.finished)} runs are finished, the same command{how} runs the rest")
        return error.status if isinstance(error, interrupts.Interrupted) else INTERRUPTED
    if found is not None:
        _print_found(arguments, found, conditions)
    elif not arguments.json and not arguments.quiet:
        failed = (teller.failed, teller.count)
        _print_table(study, going, choice, wanted, failed=failed, told=run.told(made.jobs))
    elif teller.failed and teller.count > 1 and arguments.json:
        _note(failed_text(teller.failed, teller.count))
    return teller.status


def _print_table(
    study: Study, going: Execution, choice: Choice, wanted: Asked, *, failed: tuple[int, int], told: set[str]
) -> None:
    folders = [job.folder for job in going.jobs if job.number in study.finished]
    if folders:
        sys.stdout.write(of_runs(folders, going.out, wanted, failed=failed, told=told))
    for text in _short(study, choice):
        _note(text)


def _short(study: Study, choice: Choice) -> list[str]:
    """Figures whose intervals are not as small as was wanted after all repetitions, and of which combinations."""
    found: dict[str, list[str]] = {}
    for case, jobs in study.cases.items():
        if choice.until and case not in study.errors and all(job.number in study.finished for job in jobs):
            rows = study.rows(case, [one.name for one in choice.until])
            name = units.varied_text(jobs[0].planned.vary)
            for why in missed(choice.until, rows):
                found.setdefault(why, []).append(name)
    return [f"{why}{_which(names, len(study.cases))}" for why, names in found.items()]


def _which(names: Sequence[str], all_of: int) -> str:
    """Which combinations, of how many."""
    if all_of == 1:
        return ""
    listed = [*names[:_NAMED], *(["..."] if len(names) > _NAMED else [])]
    return f", in {len(names)} of {all_of} combinations ({'; '.join(listed)})"


def _print_found(arguments: argparse.Namespace, found: list[Found], conditions: list[Bound]) -> None:
    which, key = arguments.find
    if arguments.json:
        for one in found:
            write_object(_line(one, key))
        return
    if arguments.quiet:
        return
    size = "smallest" if which == "min" else "largest"
    print(f"{size} {key} with {' and '.join(arguments.where)}:\n")
    for one in found:
        head = units.varied_text(one.vary)
        print(f"  {head + ': ' if head else ''}{_answer(one, which, arguments.where)}")
        for looked in one.looked:
            mark = "holds" if looked.holds else "does not"
            print(f"      {units.value_text(looked.value):>12}  {_figures(looked, conditions)}  {mark}")
    print(
        f"\nThis assumes that {'each' if len(conditions) > 1 else 'the'} condition changes only once along the axis."
        " The search looked at both ends of the axis and at the neighbours of an answer between them,"
        f" {sum(len(one.looked) for one in found)} points in all."
    )
    if any(one.value is not None and one.is_certain is None for one in found):
        print(
            "Each point is one run, so nothing says how sure the answer is; --repetitions 5 does, with"
            " host.start_jitter where nothing is random."
        )


def _answer(one: Found, which: str, wanted: Sequence[str]) -> str:
    if one.error:
        return f"unknown: {one.error}"
    if one.value is None:
        return f"none: {_why_none(one.looked, wanted)}"
    text = units.value_text(one.value)
    other = "max" if which == "min" else "min"
    ends = f"it does not hold at the other end; --find {other} finds where it changes"
    doubts = [f"the end of the axis{': ' + ends if one.is_reversed else ', which may go on'}"] if one.is_end else []
    doubts += (
        []
        if one.is_monotone
        else [f"{'a' if len(wanted) > 1 else 'the'} condition changes more than once along the axis"]
    )
    doubts += ["an interval next to the answer has the bound inside"] if one.is_certain is False else []
    return f"{text} ({'; '.join(doubts)})" if doubts else text


def _why_none(looked: Sequence[Looked], wanted: Sequence[str]) -> str:
    """Why no point meets all conditions, by what holds at the ends of the axis."""
    if len(wanted) == 1:
        return "it holds at neither end of the axis"
    ends = list(zip(wanted, looked[0].met, looked[-1].met))
    nowhere = [text for text, low, high in ends if not (low or high)]
    if nowhere:
        return f"{' and '.join(nowhere)}: at neither end of the axis"
    low, high = (" and ".join(text for text, *ends in ends if ends == [i == 0, i == 1]) for i in (0, 1))
    return f"they nowhere hold together: {low} at the lower end of the axis, {high} at the upper end"


def _figures(looked: Looked, conditions: list[Bound]) -> str:
    found = []
    for each in conditions:
        (lacking, n), flow = looked.lacking.get(each.name, (0, 0)), looked.flows.get(each.name)
        said = f"{each.name} {cell(each.name, looked.figures.get(each.name))}{f' of {flow}' if flow else ''}"
        if lacking == n > 0:
            said = f"no {each.name}"
        else:
            said += partly_text(lacking, n)
        found.append(said)
    return ", ".join(found)


def _line(one: Found, key: str) -> dict[str, Any]:
    """An answer as JSON has it; half widths are null without repetitions."""
    looked = [
        {
            "value": point.value,
            "holds": point.holds,
            "met": list(point.met),
            "figures": {
                name: {
                    "mean": interval.mean,
                    "half_width": interval.half,
                    "n": interval.n,
                    "flow": point.flows.get(name),
                }
                for name, interval in point.figures.items()
            },
            "lacking": {name: {"repetitions": count, "of": n} for name, (count, n) in point.lacking.items()},
        }
        for point in one.looked
    ]
    return {
        "vary": one.vary,
        "key": key,
        "value": one.value,
        "end": one.is_end,
        "reversed": one.is_reversed,
        "monotone": one.is_monotone,
        "certain": one.is_certain,
        "error": one.error or None,
        "looked": looked,
    }


def _note(text: str) -> None:
    print(f"dumbbell: {text}", file=sys.stderr)
