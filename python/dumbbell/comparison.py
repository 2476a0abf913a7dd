"""One scenario on several back ends: the runs that this needs, and what they say of each other, figure by figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import backends, units
from dumbbell.errors import EngineError, ScenarioError, wrong
from dumbbell.explain.sides import apart
from dumbbell.judge import FAILS, HOLDS, UNCLEAR, UNJUDGED, Word, versus
from dumbbell.results import parting
from dumbbell.results.experiment import repetitions
from dumbbell.results.figures import measured, summary
from dumbbell.results.statistic import finite
from dumbbell.runs.jobs import jobs_of

if TYPE_CHECKING:
    from dumbbell.explain.told import Teller
    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result
    from dumbbell.runs.job import Job
    from dumbbell.scenario.file import Given
    from dumbbell.scenario.own import Own

#: Default traffic generator when any of the back ends runs in real time. These use iperf3, so the others imitate it.
TRAFFIC = "iperf3"
#: Most back ends at once.
MOST = 3
#: What a verdict says of combinations that do not agree, and how many of them it names.
_SAID: dict[Word, str] = {FAILS: "differ", UNCLEAR: "unclear", UNJUDGED: "unjudged"}
_ONE = {"differ": "differs"}
_NAMED = 3


class Comparison(NamedTuple):
    """A combination of varied values with its figures: those of each other back end against the reference, by name."""

    name: str
    vary: dict[str, Any]
    figures: dict[str, list[versus.Figure]]
    warnings: dict[str, list[str]]
    repetitions: int
    packets: dict[str, list[parting.Compared]]
    """Flow by flow, where that was asked for; by the other back end's name."""
    window: Window | None
    """The part of the run that the figures cover, s; None for the whole."""
    why: list[str]
    """Why the sides differ, of the first repetition: the causes of each (docs/explain.md); empty where they do not."""

    @property
    def lines(self) -> dict[str, dict[str, versus.Figure]]:
        """The figures by their names, each by the other back end's name, where both have it; none of transfers that all
        ended.
        """
        lines: dict[str, dict[str, versus.Figure]] = {}
        for other, figures in self.figures.items():
            for figure in figures:
                lines.setdefault(figure.name, {})[other] = figure
        return {name: same for name, same in lines.items() if not _all_ended(name, same.values())}

    @property
    def word(self) -> Word:
        """One word for all figures."""
        return versus.agreement(figure for figures in self.figures.values() for figure in figures)

    @property
    def reasons(self) -> list[str]:
        """Why figures have that word."""
        figures = [figure for of_other in self.figures.values() for figure in of_other if figure.word == self.word]
        return list(dict.fromkeys(figure.verdict.reason for figure in figures))

    def as_json(self, reference: str) -> dict[str, Any]:
        """One object, as `dumbbell compare --json` prints it."""
        others = list(self.figures)
        figures = []
        for name, same in self.lines.items():
            first, word = any_of(same), versus.agreement(same.values())
            figures.append({
                "name": name,
                reference: finite(first.reference),
                **{other: finite(same[other].other) if other in same else None for other in others},
                "tolerance": finite(first.tolerance),
                "agrees": word == HOLDS,
                "unclear": word == UNCLEAR,
                "verdict": word,
                "margin": {other: finite(figure.verdict.margin) for other, figure in same.items()},
            })  # fmt: skip
        flows = {name: parting.as_json(these, (reference, name)) for name, these in self.packets.items()}
        return {
            "scenario": self.name,
            "vary": self.vary,
            "agrees": self.word == HOLDS,
            "verdict": self.word,
            "repetitions": self.repetitions,
            **({"window_s": list(self.window)} if self.window else {}),
            "warnings": self.warnings,
            "figures": figures,
            "why": self.why,
            **({"packets": flows} if flows else {}),
        }


def named(names: Sequence[str]) -> list[str]:
    """These back ends; raises ScenarioError where they cannot be compared."""
    known = [name for name, kind in backends.KINDS.items() if not kind.has_hosts]
    for name in names:
        if name.partition(":")[0] not in known:
            raise wrong("--on", name, f"two or three of: {', '.join(known)}, with commas between", known)
        backends.kind(name)
    if not 2 <= len(names) <= MOST or len(set(names)) < len(names):
        wanted = "two or three different back ends, such as sim,linux"
        raise ScenarioError("--on", f'got "{",".join(names)}", wanted {wanted}')
    return list(names)


def planned(
    scenarios: Sequence[Given],
    names: Sequence[str],
    *,
    overrides: tuple[str, ...] = (),
    own: Own | None = None,
    packets: bool = False,
) -> dict[str, list[Job]]:
    """The runs of each back end. Raises what one of them has against a run, before any has run anything."""
    traffic = TRAFFIC if any(backends.kind(name).is_real_time for name in names) else None
    jobs = {
        name: jobs_of(scenarios, Path(), overrides=overrides, pcap=packets, traffic=traffic, own=own, on=name)
        for name in names
    }
    for of_one in jobs.values():
        for job in of_one:
            lacking = backends.lacking(job.request)
            if lacking:
                raise EngineError(lacking)
    return jobs


def compared(
    results: Mapping[str, Sequence[Result]],
    *,
    packets: bool = False,
    start_s: float | None = None,
    end_s: float | None = None,
    teller: Teller | None = None,
) -> Iterator[Comparison]:
    """Hold the runs of each further back end against those of the first, combination by combination; `teller` explains
    those that differ.
    """
    combinations = {name: repetitions(runs) for name, runs in results.items()}
    reference, *others = combinations
    strict = versus.is_strict(combinations)
    for key, runs in combinations[reference].items():
        if any(key not in combinations[other] for other in others):
            continue  # a folder that is resumed may hold more than was asked for
        same = {name: of_one[key] for name, of_one in combinations.items()}
        parts = {name: [measured(run, start_s, end_s) for run in of] for name, of in same.items()}
        sides = {
            name: versus.Side([versus.measured(summary(run)) for run in of], [run.result.seed for run in of])
            for name, of in parts.items()
        }
        figures = {other: versus.versus(sides[reference], sides[other], strict=strict) for other in others}
        yield Comparison(
            runs[0].name,
            dict(runs[0].vary),
            figures,
            {name: list(dict.fromkeys(text for run in of for text in run.warnings)) for name, of in same.items()},
            min(map(len, same.values())),
            parting.compared(runs[0], {other: same[other][0] for other in others}) if packets else {},
            parts[reference][0].window,
            _why({name: of_one[0] for name, of_one in same.items()}, figures, teller) if teller else [],
        )


def _why(runs: Mapping[str, Result], figures: Mapping[str, Sequence[versus.Figure]], teller: Teller) -> list[str]:
    """Why the figures differ: the causes of their flows, or of all where a figure is of the run."""
    bad = {other: [figure.name for figure in of_one if figure.word == FAILS] for other, of_one in figures.items()}
    reference, *others = runs
    sides = [reference, *(other for other in others if bad[other])]
    if len(sides) < 2:
        return []
    groups = list(runs[reference].plan.groups)
    named = {name.rpartition("[")[0] for names in bad.values() for name in names}
    flows = [group for group in groups if group in named] or groups
    return apart({side: teller.tell(runs[side]) for side in sides}, flows)


def verdict(rows: Sequence[Comparison], names: Sequence[str]) -> str:
    """One line for all combinations: how many agree, which do not and in what, and that chance has one seed."""
    counts = Counter(row.word for row in rows)
    reference, *others = names
    parts = [f"{counts[HOLDS]} of {len(rows)} combination{'s' * (len(rows) != 1)} agree{'s' * (counts[HOLDS] == 1)}"]
    for word, said in _SAID.items():
        bad = [row for row in rows if row.word == word]
        if bad:
            more = f" and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
            verb = said if len(bad) > 1 else _ONE.get(said, said)
            parts.append(f"{len(bad)} {verb}: {'; '.join(map(where, bad[:_NAMED]))}{more}")
    seeds = " (one seed, so chance is not told apart)" if any(row.repetitions == 1 for row in rows) else ""
    return f"{reference} against {' and '.join(others)}: {', '.join(parts)}{seeds}"


def where(row: Comparison) -> str:
    """The combination, and the figures that gave it its word."""
    names = [name for name, same in row.lines.items() if any(figure.word == row.word for figure in same.values())]
    varied = units.varied_text(row.vary)
    figures = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return f"{row.name}{f' ({varied})' if varied else ''} in {figures or 'a figure that is missing'}"


def any_of(same: Mapping[str, versus.Figure]) -> versus.Figure:
    """One of the figures of a line, for what all have of the reference."""
    return next(iter(same.values()))


def _all_ended(name: str, same: Iterable[versus.Figure]) -> bool:
    return versus.kind(name) == "completed" and all(figure.reference == figure.other == 1 for figure in same)
