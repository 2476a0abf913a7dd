"""`dumbbell compare`: one scenario on two or three back ends, figure by figure, and all on one picture."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import backends, interrupts, units
from dumbbell.errors import EngineError, ResultError, ScenarioError, wrong
from dumbbell.judge import FAILS, HOLDS, UNCLEAR, Word, versus
from dumbbell.results.figures import finite, measured, summary
from dumbbell.scenario.file import from_file
from dumbbell.scenario.own import Own
from dumbbell.scenario.source import GALLERY

from . import compare_packets, run
from .status import FAILED, OK

if TYPE_CHECKING:
    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result

#: What makes the flows on every back end where a scenario leaves it open and one of them runs in real time, which takes
#: this program: the others are to do what it does.
TRAFFIC = "iperf3"
#: Most back ends at once.
MOST = 3


#: What stands behind a figure that does not agree.
MARKS: dict[Word, str] = {FAILS: "*", UNCLEAR: "~"}


class Row(NamedTuple):
    """A combination of varied values with its figures: those of each other back end against the reference, by name."""

    name: str
    vary: dict[str, Any]
    figures: dict[str, list[versus.Figure]]
    warnings: dict[str, list[str]]
    repetitions: int
    packets: dict[str, list[compare_packets.Compared]]
    """Flow by flow, where that was asked for; by the other back end's name."""
    window: Window | None
    """The part of the run that the figures cover, s; None for the whole."""

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
    def verdict(self) -> str:
        """The word as people read it, with the reason."""
        if self.word == HOLDS:
            return "agrees" + ("" if self.repetitions > 1 else " (of one repetition)")
        figures = [figure for of_other in self.figures.values() for figure in of_other if figure.word == self.word]
        reasons = dict.fromkeys(figure.verdict.reason for figure in figures)
        word = {FAILS: "DIFFERS", UNCLEAR: "UNCLEAR"}.get(self.word, "UNJUDGED")
        return f"{word} ({'; '.join(reasons)})"


def main(arguments: argparse.Namespace) -> int:
    """Run and compare; see `dumbbell compare --help`. Status 1 when fewer rows agree than --need says."""
    names = _names(arguments.on)
    _check_kind(arguments, names)
    with (
        interrupts.Raised(),
        run.placed(arguments, f"compare-{Path(arguments.files[0].removeprefix(GALLERY)).stem}") as out,
    ):
        traffic = TRAFFIC if any(backends.kind(name).is_real_time for name in names) else None
        _refuse(arguments, names, traffic)
        for name in names:
            status = _run(arguments, name, out / name, traffic)
            if status != OK:
                return status
    rows = list(_rows({name: _found(out / name) for name in names}, packets=arguments.packets))
    for row in rows:
        _print(row, names, as_json=arguments.json)
    agreeing = sum(row.word == HOLDS for row in rows)
    if not arguments.json:
        print(f"{agreeing} of {len(rows)} runs agree; {_pictures(out, names, arguments.plot)}")
    return OK if agreeing * 10**9 >= arguments.need * len(rows) else FAILED


def _names(text: str) -> list[str]:
    names, known = text.split(","), [name for name, kind in backends.KINDS.items() if not kind.has_hosts]
    for name in names:
        if name.partition(":")[0] not in known:
            raise wrong("--on", name, f"two or three of: {', '.join(known)}, with commas between", known)
        backends.kind(name)
    if not 2 <= len(names) <= MOST or len(set(names)) < len(names):
        raise ScenarioError("--on", f'got "{text}", wanted two or three different back ends, such as sim,linux')
    return names


def _check_kind(arguments: argparse.Namespace, names: list[str]) -> None:
    """Raise ScenarioError for a picture that these runs will not have."""
    from dumbbell import plots

    kind = arguments.plot
    if kind not in plots.SINGLE:
        raise wrong("--plot", kind, "one of: " + ", ".join(plots.SINGLE), list(plots.SINGLE))
    if kind != "states":
        return
    others = [name for name in plots.SINGLE if name != kind]
    for name in names:
        if not backends.kind(name).has_states:
            told = ", ".join(one for one, kind in backends.KINDS.items() if kind.has_states)
            raise wrong(
                "--plot",
                kind,
                f"one of: {', '.join(others)}; with --on {name} controllers are the kernel's own, which"
                f" do not tell their states, as those of {told} do",
            )
    for file in arguments.files:
        record = from_file(file, overrides=tuple(arguments.overrides)).scenario.record
        off = [f"record.{key}" for key in ("events", "states") if not getattr(record, key)]
        if off:
            raise wrong("--plot", kind, f"one of: {', '.join(others)}; or {' and '.join(off)} = true in {file}")


def _refuse(arguments: argparse.Namespace, names: list[str], traffic: str | None) -> None:
    """Raise what one of the back ends has against a run, before any of them has run anything."""
    own = Own.load(arguments.cca)
    for name in names:
        for job in run.jobs(_on(arguments, name), own, traffic)[1]:
            lacking = backends.lacking(job.request)
            if lacking:
                raise EngineError(lacking)


def _on(arguments: argparse.Namespace, name: str) -> argparse.Namespace:
    """The arguments of `dumbbell run` on one of the back ends."""
    return argparse.Namespace(**{**vars(arguments), "on": name, "pcap": arguments.packets, "force": False})


def _run(arguments: argparse.Namespace, name: str, out: Path, traffic: str | None) -> int:
    given = _on(arguments, name)
    given.out = str(out)
    return run.main(given, show=run.Show.NOTHING, traffic=traffic)


def _found(out: Path) -> dict[str, list[Result]]:
    """The repetitions of each combination."""
    import dumbbell

    found: dict[str, list[Result]] = {}
    for result in dumbbell.load(out):
        found.setdefault(result.name + json.dumps(result.vary), []).append(result)
    return found


def _rows(found: dict[str, dict[str, list[Result]]], *, packets: bool) -> Iterator[Row]:
    reference, *others = found
    strict = versus.is_strict(found)
    for key, runs in found[reference].items():
        if any(key not in found[other] for other in others):
            continue  # a folder that is resumed may hold more than was asked for
        parts = {name: [measured(run) for run in found[name][key]] for name in found}
        sides = {
            name: versus.Side([versus.measured(summary(run)) for run in of], [run.result.seed for run in of])
            for name, of in parts.items()
        }
        figures = {other: versus.versus(sides[reference], sides[other], strict=strict) for other in others}
        warnings = {
            name: list(dict.fromkeys(text for run in found[name][key] for text in run.warnings)) for name in found
        }
        repetitions = min(len(found[name][key]) for name in found)
        flows = compare_packets.compared(runs[0], {other: found[other][key][0] for other in others}) if packets else {}
        window = parts[reference][0].window
        yield Row(runs[0].name, dict(runs[0].vary), figures, warnings, repetitions, flows, window)


def _as_json(row: Row, names: list[str]) -> dict[str, Any]:
    """One object, as `--json` prints it."""
    figures = [
        {
            "name": name,
            names[0]: finite(_any(same).reference),
            **{other: finite(same[other].other) if other in same else None for other in names[1:]},
            "tolerance": finite(_any(same).tolerance),
            "agrees": (word := versus.agreement(same.values())) == HOLDS,
            "unclear": word == UNCLEAR,
            "verdict": word,
            "margin": {other: finite(figure.verdict.margin) for other, figure in same.items()},
        }
        for name, same in row.lines.items()
    ]
    flows = {name: compare_packets.as_json(these, (names[0], name)) for name, these in row.packets.items()}
    return {
        "scenario": row.name,
        "vary": row.vary,
        "agrees": row.word == HOLDS,
        "verdict": row.word,
        "repetitions": row.repetitions,
        **({"window_s": list(row.window)} if row.window else {}),
        "warnings": row.warnings,
        "figures": figures,
        **({"packets": flows} if flows else {}),
    }


def _print(row: Row, names: list[str], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_as_json(row, names)), flush=True)
        return
    varied = units.varied_text(row.vary)
    part = f", {row.window[0]:g} to {row.window[1]:g} s" if row.window else ""
    print(f"{row.name}{' (' + varied + ')' if varied else ''}{part}: {row.verdict}")
    print(f"  {'':28}{''.join(f'{name:>12}' for name in names)}{'within':>10}")
    for name, same in row.lines.items():
        others = "".join(f"{same[other].other:12.4g}" if other in same else f"{'-':>12}" for other in names[1:])
        marks = [f"{MARKS[figure.word]} {other}" for other, figure in same.items() if figure.word in MARKS]
        differs = "  " + ", ".join(marks) if marks else ""
        print(f"  {name:28}{_any(same).reference:12.4g}{others}{_any(same).tolerance:10.2g}{differs}")
    for name, these in row.packets.items():
        print("\n".join(compare_packets.as_text(these, (names[0], name))))
    for name, warnings in row.warnings.items():
        for warning in warnings:
            print(f"  {name}: {warning}")


def _all_ended(name: str, same: Iterable[versus.Figure]) -> bool:
    return versus.kind(name) == "completed" and all(one.reference == one.other == 1 for one in same)


def _any(same: dict[str, versus.Figure]) -> versus.Figure:
    """One of the figures of a line, for what all have of the reference."""
    return next(iter(same.values()))


def _pictures(out: Path, names: list[str], kind: str) -> str:
    """Draw each run of all back ends below each other, to one scale; says where."""
    import dumbbell
    from dumbbell import plots

    made = 0
    for results in zip(*(dumbbell.load(out / name) for name in names), strict=True):
        try:
            figure = plots.stack(
                [(plots.SINGLE[kind], result) for result in results],
                names=names,
                same_scale=kind != "states",
                panel_height=2.4,
            )
        except ResultError as error:  # such as states of a controller that has none
            print(f"dumbbell: {results[0].folder.name}: no picture: {error}", file=sys.stderr)
            continue
        plots.save(figure, out / f"{results[0].folder.name}.png")
        made += 1
    return f"{made} picture{'' if made == 1 else 's'} in {out}"
