"""`dumbbell compare`: one scenario on two back ends, figure by figure, and both on one picture."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dumbbell import agreement, backends, units
from dumbbell.errors import ScenarioError, wrong

from . import FAILED, OK
from .run import place


class Row(NamedTuple):
    """A combination of varied values with its figures."""

    name: str
    vary: dict[str, Any]
    figures: list[agreement.Figure]

    @property
    def agrees(self) -> bool:
        """Whether every figure does."""
        return all(figure.agrees for figure in self.figures)


def main(arguments: argparse.Namespace) -> int:
    """Run and compare; see `dumbbell compare --help`. Status 1 when fewer rows agree than --need says."""
    names = _names(arguments.on)
    out = place(arguments.out, f"compare-{Path(arguments.files[0]).stem}", resume=arguments.resume)
    status = OK
    for name in names:
        status = max(status, _run(arguments, name, out / name))
    if status != OK:
        return status
    rows = list(_rows(*(_summaries(out / name) for name in names)))
    for row in rows:
        _print(row, names, as_json=arguments.json)
    agreeing = sum(row.agrees for row in rows)
    if not arguments.json:
        print(f"{agreeing} of {len(rows)} runs agree; {_pictures(out, names)}")
    return OK if agreeing >= arguments.need * len(rows) else FAILED


def _names(text: str) -> list[str]:
    names, known = text.split(","), [name for name in backends.NAMES if name != "ssh"]
    for name in names:
        if name not in known:
            raise wrong("--on", name, f"two of: {', '.join(known)}, with a comma between", known)
    if len(names) != 2 or names[0] == names[1]:
        raise ScenarioError("--on", f'got "{text}", wanted two different back ends, such as sim,linux')
    return names


def _run(arguments: argparse.Namespace, name: str, out: Path) -> int:
    from . import run

    given = argparse.Namespace(**{**vars(arguments), "on": name, "out": str(out), "pcap": False})
    return run.main(given, show=run.Show.NOTHING)


def _summaries(out: Path) -> dict[str, tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """Summaries of the repetitions of each combination."""
    import dumbbell

    found: dict[str, tuple[str, dict[str, Any], list[dict[str, Any]]]] = {}
    for result in dumbbell.load(out):
        key = result.name + json.dumps(result.vary)
        found.setdefault(key, (result.name, dict(result.vary), []))[2].append(result.summary)
    return found


def _rows(reference: dict[str, Any], other: dict[str, Any]) -> Iterator[Row]:
    for key, (name, vary, summaries) in reference.items():
        yield Row(name, vary, agreement.figures(summaries, other[key][2]))


def _print(row: Row, names: list[str], *, as_json: bool) -> None:
    if as_json:
        figures = [{"name": f.name, names[0]: f.reference, names[1]: f.other, "tolerance": f.tolerance, "agrees": f.agrees} for f in row.figures]
        print(json.dumps({"scenario": row.name, "vary": row.vary, "agrees": row.agrees, "figures": figures}), flush=True)
        return
    varied = ", ".join(f"{key} = {units.value_text(value)}" for key, value in row.vary.items())
    print(f"{row.name}{' (' + varied + ')' if varied else ''}: {'agrees' if row.agrees else 'DIFFERS'}")
    print(f"  {'':28}{names[0]:>12}{names[1]:>12}{'within':>10}")
    for figure in row.figures:
        mark = "" if figure.agrees else "  *"
        print(f"  {figure.name:28}{figure.reference:12.4g}{figure.other:12.4g}{figure.tolerance:10.2g}{mark}")


def _pictures(out: Path, names: list[str]) -> str:
    """Draw each run of both back ends below each other; says where."""
    import dumbbell
    from dumbbell import plots
    from dumbbell.plots import style

    made = 0
    for one, other in zip(*(dumbbell.load(out / name) for name in names), strict=True):
        figure, axes = style.figure(rows=2, height=2.6, sharex=True)
        for ax, name, result in zip(axes, names, (one, other), strict=True):
            plots.throughput(result, ax=ax)
            ax.text(0.99, 0.03, name, transform=ax.transAxes, ha="right")
        style.save(figure, out / f"{one.folder.name}.png")
        made += 1
    return f"{made} picture{'s' if made > 1 else ''} in {out}"
