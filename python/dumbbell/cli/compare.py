"""`dumbbell compare`: one scenario on two or three back ends, figure by figure, and all on one picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import backends, comparison, interrupts, units
from dumbbell.comparison import Comparison, any_of
from dumbbell.errors import ResultError, wrong
from dumbbell.explain.told import Teller
from dumbbell.judge import FAILS, HOLDS, UNCLEAR, Word
from dumbbell.results.load import load
from dumbbell.runs.place import Place
from dumbbell.scenario.file import from_file
from dumbbell.scenario.own import Own
from dumbbell.scenario.source import GALLERY

from . import run
from .output import note
from .status import FAILED, OK
from .writers import write_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dumbbell.results import packets
    from dumbbell.results.parting import Compared
    from dumbbell.scenario.file import Given

#: The word for a combination, and what stands behind a figure of it.
_WORDS: dict[Word, str] = {HOLDS: "agrees", FAILS: "DIFFERS", UNCLEAR: "UNCLEAR"}
_MARKS: dict[Word, str] = {FAILS: "*", UNCLEAR: "~"}
#: Flows that are told one by one.
_FLOWS = 8


class Wanted(NamedTuple):
    """Options of a comparison, those that `compare` and `uml compare` share."""

    files: list[str]
    overrides: list[str]
    cca: list[str]
    plot: str
    packets: bool
    need: int
    """Share of the rows that must agree, in parts of 10^9."""
    out: str | None
    resume: bool
    force: bool
    jobs: int | None
    json: bool
    quiet: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Wanted:
        """Read the options of a command line."""
        return cls(**{name: options[name] for name in cls._fields})


def main(arguments: argparse.Namespace) -> int:
    """Run and compare; see `dumbbell compare --help`."""
    return on_backends(arguments.on.split(","), Wanted.of(vars(arguments)))


def on_backends(names: Sequence[str], wanted: Wanted) -> int:
    """Run and compare on these back ends; status 1 when fewer rows agree than --need says."""
    names, overrides = comparison.named(names), tuple(wanted.overrides)
    own = Own.load(wanted.cca, on=names)
    scenarios = [from_file(file, overrides=overrides) for file in wanted.files]
    _check_kind(wanted.plot, names, scenarios)
    name = f"compare-{Path(wanted.files[0].removeprefix(GALLERY)).stem}"
    place = run.placed(wanted.out, name, resume=wanted.resume, force=wanted.force)
    with interrupts.Raised(), place as out:
        jobs = comparison.planned(scenarios, names, overrides=overrides, own=own, packets=wanted.packets)
        if not wanted.quiet:
            run.warn_of(scenarios, jobs[names[0]], own)
        for name, of_one in jobs.items():
            workers = backends.workers(name, (job.request for job in of_one), wanted.jobs)
            of_backend = Place(out / name, resume=wanted.resume)
            status = run.go(of_one, of_backend, workers=workers, show=run.Show.NOTHING, quiet=wanted.quiet)
            if status != OK:
                return status
    results = {name: load(out / name) for name in names}
    rows = list(comparison.compared(results, packets=wanted.packets, teller=Teller()))
    for row in rows:
        _print(row, names, as_json=wanted.json)
    agreeing = sum(row.word == HOLDS for row in rows)
    if not wanted.json:
        print(_pictures(out, names, wanted.plot))
        print(comparison.verdict(rows, names))
    return OK if agreeing * 10**9 >= wanted.need * len(rows) else FAILED


def _check_kind(kind: str, names: list[str], scenarios: list[Given]) -> None:
    """Raise ScenarioError for a picture that these runs will not have."""
    from dumbbell import plots

    if kind not in plots.SINGLE:
        raise wrong("--plot", kind, "one of: " + ", ".join(plots.SINGLE), list(plots.SINGLE))
    if kind != "states":
        return
    others = ", ".join(name for name in plots.SINGLE if name != kind)
    for name in names:
        if not backends.kind(name).has_states:
            told = ", ".join(name_ for name_, kind in backends.KINDS.items() if kind.has_states)
            raise wrong(
                "--plot",
                kind,
                f"one of: {others}; with --on {name} controllers are the kernel's own, which"
                f" do not tell their states, as those of {told} do",
            )
    for given in scenarios:
        off = [f"record.{key}" for key in ("events", "states") if not getattr(given.scenario.record, key)]
        if off:
            raise wrong("--plot", kind, f"one of: {others}; or {' and '.join(off)} = true in {given.source}")


def _print(row: Comparison, names: list[str], *, as_json: bool) -> None:
    if as_json:
        write_object(row.as_json(names[0]))
        return
    varied = units.varied_text(row.vary)
    part = f", {row.window[0]:g} to {row.window[1]:g} s" if row.window else ""
    print(f"{row.name}{' (' + varied + ')' if varied else ''}{part}: {_verdict(row)}")
    print(f"  {'':28}{''.join(f'{name:>12}' for name in names)}{'within':>10}")
    for name, same in row.lines.items():
        others = "".join(f"{same[other].other:12.4g}" if other in same else f"{'-':>12}" for other in names[1:])
        marks = [f"{_MARKS[figure.word]} {other}" for other, figure in same.items() if figure.word in _MARKS]
        differs = "  " + ", ".join(marks) if marks else ""
        print(f"  {name:28}{any_of(same).reference:12.4g}{others}{any_of(same).tolerance:10.2g}{differs}")
    for name, these in row.packets.items():
        print("\n".join(packet_lines(these, (names[0], name))))
    for name, warnings in row.warnings.items():
        for warning in warnings:
            print(f"  {name}: {warning}")
    for line in row.why:
        print(f"  why: {line}")


def _verdict(row: Comparison) -> str:
    """The word for a combination with its reasons."""
    why = row.reasons if row.word != HOLDS else ["one seed"] if row.repetitions == 1 else []
    return _WORDS.get(row.word, "UNJUDGED") + (f" ({'; '.join(filter(None, why))})" if any(why) else "")


def packet_lines(flows: list[Compared], names: tuple[str, str]) -> list[str]:
    """Flow by flow, how many packets are the same, and which differ first."""
    if not flows:
        return [f"  packets of {names[0]} and {names[1]}: not compared, because no flow has TCP"]
    whole = sum(flow.parting.first is None for flow in flows)
    lines = [
        f"  packets of {names[0]} and {names[1]}, first repetition: {whole} of {len(flows)} flows the same throughout"
    ]
    for flow in flows[:_FLOWS]:
        parting = flow.parting
        counts = f"{parting.sent:,} data segments and {parting.heard:,} acknowledgements"
        if parting.first is None:
            more = "" if all(one == other for one, other in parting.of) else f", {_ends(parting, names)}"
            lines.append(f"    flow {flow.flow} ({flow.name}): {counts}, all the same{more}")
            continue
        all_of = " and ".join(f"{min(both):,}" for both in parting.of)
        lines.append(f"    flow {flow.flow} ({flow.name}): {counts} are the same (of {all_of}), then")
        width = max(map(len, names))
        for name, (at, packet) in zip(names, parting.first, strict=True):
            lines.append(f"      {name:{width}}  {at:.6f} s  {packet}")
    if len(flows) > _FLOWS:
        lines.append(f"    and {len(flows) - _FLOWS} flows more (--json lists all)")
    return lines


def _ends(parting: packets.Parting, names: tuple[str, str]) -> str:
    """That one capture has more than the other: cut off by the end of the run, if it is a few."""
    data, acks = parting.of
    has = [f"{name} has {sent:,} and {heard:,}" for name, sent, heard in zip(names, data, acks, strict=True)]
    return f"as far as both go: {', '.join(has)}"


def _pictures(out: Path, names: list[str], kind: str) -> str:
    """Draw each run of all back ends below each other, to one scale; says where."""
    from dumbbell import plots

    count = 0
    for results in zip(*(load(out / name) for name in names), strict=True):
        try:
            figure = plots.stack(
                [(plots.SINGLE[kind], result) for result in results],
                names=names,
                same_scale=kind != "states",
                panel_height=2.4,
            )
        except ResultError as error:  # such as states of a controller that has none
            note(f"{results[0].folder.name}: no picture: {error}")
            continue
        plots.save(figure, out / f"{results[0].folder.name}.png")
        count += 1
    return f"{count} picture{'' if count == 1 else 's'} in {out}"
