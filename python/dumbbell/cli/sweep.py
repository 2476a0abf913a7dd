"""`dumbbell sweep`: a scenario over what varies, with a store of runs, until intervals are small, or in search of a
value.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

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

from . import run, status
from .output import note
from .rows import Asked, cell
from .show import checked, failed_text, of_runs
from .status import INTERRUPTED, OK
from .writers import write_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.judge import Bound
    from dumbbell.runs.job import Outcome


#: Combinations that a note names; more are abbreviated.
_NAMED = 5


class Search(NamedTuple):
    """Search of --find and --where."""

    which: str
    """``min`` or ``max``."""
    key: str
    where: Sequence[str]
    conditions: Sequence[Bound]


def main(arguments: argparse.Namespace) -> int:
    """Run the sweep in `arguments`; see `dumbbell sweep --help`."""
    with interrupts.Raised():
        backends.kind(arguments.on)
        if arguments.most and not arguments.until:
            raise ScenarioError("--max", "is of --until, which is not given")
        choice = Choice(
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
        search = _search(arguments.find, arguments.where, is_sample=bool(arguments.sample))
        wanted = checked(Asked(by=arguments.by, flows=arguments.flows, columns=arguments.columns, wide=arguments.wide))
        own = Own.load(arguments.cca, on=[arguments.on])
        ready = prepared(arguments.file, choice, overrides=tuple(arguments.overrides), own=own, on=arguments.on)
        if not arguments.quiet:
            run.warn_of([ready.given], ready.jobs, own)
        workers = backends.workers(arguments.on, (job.request for job in ready.jobs), arguments.jobs)
        name = ready.given.scenario.name
        place = run.placed(arguments.out, name, resume=arguments.resume, force=arguments.force)
        with Execution(
            ready.jobs,
            place,
            store=Store(arguments.store),
            workers=workers,
            may_fork=own.has_python,
            progress=None if arguments.quiet else Progress(screen(), has_kept=True),
            note=note,
        ) as going:
            show = run.Show.of(is_json=arguments.json, is_quiet=arguments.quiet)
            needs_resume = arguments.out is not None and not arguments.resume
            return _go(ready, going, choice=choice, search=search, wanted=wanted, show=show, needs_resume=needs_resume)


def _search(find: Sequence[str] | None, where: Sequence[str], *, is_sample: bool) -> Search | None:
    """Read the search; None for no search. Raises ScenarioError."""
    if bool(find) != bool(where):
        raise ScenarioError("--find", "wanted --find min|max KEY and --where CONDITION together")
    if not find:
        return None
    if find[0] not in ("min", "max"):
        raise wrong("--find", find[0], 'one of: "min", "max"', ["min", "max"])
    if is_sample:
        raise ScenarioError("--sample", "makes points without an order, in which --find cannot search")
    return Search(find[0], find[1], where, [bound(text) for text in where])


class _Teller:
    """Says what comes of each run, and remembers the exit status."""

    def __init__(self, *, has_lines: bool) -> None:
        self.has_lines, self.status, self.errors = has_lines, OK, run.Errors()
        self.failed = self.count = 0

    def tell(self, outcome: Outcome) -> None:
        """An error on stderr, or a line of JSON on stdout."""
        self.count += 1
        self.failed += outcome.error is not None
        if outcome.error:
            self.status = max(self.status, status.of(outcome.error))
            hint = "; finished runs are kept in the store" if isinstance(outcome.error, DiskFullError) else ""
            self.errors.tell(outcome, hint)
        elif self.has_lines and outcome.manifest:
            write_object(run.line(outcome.manifest, outcome.job.folder))


def _go(
    ready: Prepared,
    going: Execution,
    *,
    choice: Choice,
    search: Search | None,
    wanted: Asked,
    show: run.Show,
    needs_resume: bool,
) -> int:
    """Run, and print what came of it; returns the exit status."""
    teller, answers = _Teller(has_lines=show is run.Show.JSON and not search), []
    study = Study(going, choice, tell=teller.tell)
    try:
        if search:
            largest = search.which == "max"
            answers = study.find(ready.given.scenario, search.key, search.conditions, largest=largest)
        else:
            study.run()
    except KeyboardInterrupt as error:
        how = " with --resume" if needs_resume else ""
        note(f"interrupted; {len(study.finished)} runs are finished, the same command{how} runs the rest")
        return error.status if isinstance(error, interrupts.Interrupted) else INTERRUPTED
    teller.errors.end()
    failed = (teller.failed, teller.count)
    if search and show is run.Show.JSON:
        for answer in answers:
            write_object(_line(answer, search.key))
    elif search and show is run.Show.TABLE:
        _print_found(answers, search)
    elif show is run.Show.TABLE:
        _print_table(study, going, choice, wanted, failed=failed, told=run.told(ready.jobs))
    elif teller.failed and teller.count > 1 and show is run.Show.JSON:
        note(failed_text(*failed))
    return teller.status


def _print_table(
    study: Study, going: Execution, choice: Choice, wanted: Asked, *, failed: tuple[int, int], told: set[str]
) -> None:
    folders = [job.folder for job in going.jobs if job.number in study.finished]
    if folders:
        sys.stdout.write(of_runs(folders, going.out, wanted, failed=failed, told=told))
    elif failed[1] > 1:
        note(failed_text(*failed))
    for text in _short(study, choice):
        note(text)


def _short(study: Study, choice: Choice) -> list[str]:
    """Figures whose intervals are not as small as was wanted after all repetitions, and of which combinations."""
    missing: dict[str, list[str]] = {}
    for case, jobs in study.cases.items():
        if choice.until and case not in study.errors and all(job.number in study.finished for job in jobs):
            rows = study.rows(case, [goal.name for goal in choice.until])
            name = units.varied_text(jobs[0].planned.vary)
            for why in missed(choice.until, rows):
                missing.setdefault(why, []).append(name)
    return [f"{why}{_which(names, len(study.cases))}" for why, names in missing.items()]


def _which(names: Sequence[str], all_of: int) -> str:
    """Name the combinations, of how many."""
    if all_of == 1:
        return ""
    listed = [*names[:_NAMED], *(["..."] if len(names) > _NAMED else [])]
    return f", in {len(names)} of {all_of} combinations ({'; '.join(listed)})"


def _print_found(answers: Sequence[Found], search: Search) -> None:
    size = "smallest" if search.which == "min" else "largest"
    print(f"{size} {search.key} with {' and '.join(search.where)}:\n")
    for answer in answers:
        head = units.varied_text(answer.vary)
        print(f"  {head + ': ' if head else ''}{_answer(answer, search)}")
        for looked in answer.looked:
            mark = "holds" if looked.holds else "does not"
            print(f"      {units.value_text(looked.value):>12}  {_figures(looked, search.conditions)}  {mark}")
    print(
        f"\nThis assumes that {'each' if len(search.where) > 1 else 'the'} condition changes only once along the axis."
        " The search looked at both ends of the axis and at the neighbours of an answer between them,"
        f" {sum(len(answer.looked) for answer in answers)} points in all."
    )
    if any(answer.value is not None and answer.is_certain is None for answer in answers):
        print(
            "Each point is one run, so nothing says how sure the answer is; --repetitions 5 does, with"
            " host.start_jitter where nothing is random."
        )


def _answer(answer: Found, search: Search) -> str:
    if answer.error:
        return f"unknown: {answer.error}"
    if answer.value is None:
        return f"none: {_why_none(answer.looked, search.where)}"
    doubts = []
    if answer.is_end:
        other = "max" if search.which == "min" else "min"
        ends = f": it does not hold at the other end; --find {other} finds where it changes"
        doubts.append(f"the end of the axis{ends if answer.is_reversed else ', which may go on'}")
    if not answer.is_monotone:
        which = "a" if len(search.where) > 1 else "the"
        doubts.append(f"{which} condition changes more than once along the axis")
    if answer.is_certain is False:
        doubts.append("an interval next to the answer has the bound inside")
    return units.value_text(answer.value) + (f" ({'; '.join(doubts)})" if doubts else "")


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


def _figures(looked: Looked, conditions: Sequence[Bound]) -> str:
    texts = []
    for name in (condition.name for condition in conditions):
        (lacking, n), flow = looked.lacking.get(name, (0, 0)), looked.flows.get(name)
        text = f"{name} {cell(name, looked.figures.get(name))}{f' of {flow}' if flow else ''}{partly_text(lacking, n)}"
        texts.append(f"no {name}" if lacking == n > 0 else text)
    return ", ".join(texts)


def _line(answer: Found, key: str) -> dict[str, Any]:
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
        for point in answer.looked
    ]
    return {
        "vary": answer.vary,
        "key": key,
        "value": answer.value,
        "end": answer.is_end,
        "reversed": answer.is_reversed,
        "monotone": answer.is_monotone,
        "certain": answer.is_certain,
        "error": answer.error or None,
        "looked": looked,
    }
