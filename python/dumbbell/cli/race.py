"""`dumbbell race`: a question in one line, answered in one or two sentences with a small picture."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from dumbbell import api, interrupts, racing
from dumbbell.results import figures
from dumbbell.results.statistic import finite
from dumbbell.units import value_text

from .chart import Axis, Line, chart
from .output import note
from .status import OK
from .writers import write_file, write_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.racing import Race
    from dumbbell.results.figures import Row
    from dumbbell.results.load import Result

#: Averaging time of the picture, s, as of `plot goodput`.
_BIN_S = 1.0


def main(arguments: argparse.Namespace) -> int:
    """Race, and print the answer."""
    began = time.monotonic()
    with interrupts.Raised():
        answer = _raced(vars(arguments))
    if arguments.save:
        write_file("--save", arguments.save, answer.scenario, force=arguments.force)
    if arguments.json:
        _write(answer)
        return OK
    if not arguments.quiet and _is_shown(sys.stdout):
        sys.stdout.write(_picture(answer) + "\n")
    print(answer if arguments.quiet else f"{_asked(answer)}\n\n{answer}")
    if not arguments.quiet:
        print(f"\n{_cost(answer, time.monotonic() - began)}")
        if not arguments.save:
            note("--save FILE.toml writes this as a scenario for dumbbell run")
    return OK


def _raced(asked: dict[str, Any]) -> Race:
    return api.race(
        *asked["ccas"],
        **{name: asked[name] for name in ("rate", "rtt", "buffer", "qdisc", "loss", "trace", "duration", "sweep")},
        **{name: asked[name] for name in ("overrides", "most", "cca", "on", "store", "jobs")},
        progress=not asked["quiet"] and sys.stderr.isatty(),
    )


def _asked(answer: Race) -> str:
    """What was run, in one line: ``100 Mbit/s, 30 ms, buffer 1 BDP, 60 s``."""
    path = answer.tables["path"]
    named = ("rate", "rtt", "buffer", "qdisc", "loss")
    said = [f"{name} {value_text(path[name])}" for name in named if name in path and f"path.{name}" not in answer.vary]
    over = [f"over {', '.join(answer.vary)}"] if answer.vary else []
    return ", ".join([*said, answer.tables["duration"], *over])


def _cost(answer: Race, took_s: float) -> str:
    runs = len(answer.results)
    points = len({tuple(result.vary.items()) for result in answer.results})
    at = f" at each of {points} points" if points > 1 else ""
    return f"{runs} runs of {answer.tables['duration']}, up to {answer.repetitions} repetitions{at}, in {took_s:.1f} s"


def _write(answer: Race) -> None:
    for row in racing.rows(answer.results):
        write_object(
            {
                "vary": row.vary,
                "cca": row.cca,
                "flows": row.flows,
                "repetitions": row.n,
                "figures": {
                    name: {"mean": finite(interval.mean), "half_width": finite(interval.half_width), "n": interval.n}
                    for name, interval in row.values.items()
                },
            }
        )
    write_object({"answer": answer.sentences, "doubts": answer.doubts})


def _is_shown(stream: Any) -> bool:
    return bool(stream.isatty())


def _picture(answer: Race) -> str:
    """Shares over what varies, or goodput over time of the first repetition."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    how: dict[str, Any] = {
        "colour": "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb",
        "plain": not encoding.startswith("utf"),
    }
    rows = racing.rows(answer.results)
    if answer.vary:
        return _over(rows, list(answer.vary), how)
    return _in_time(answer.results[0], how)


def _over(rows: Sequence[Row], keys: Sequence[str], how: dict[str, Any]) -> str:
    """The share of each controller at the values of the first key, equally far apart."""
    along = keys[0]
    values = list(dict.fromkeys(row.vary_text(along) for row in rows))
    lines = []
    for table in sorted({row.table for row in rows}):
        of_one = [row for row in rows if row.table == table]
        shares = [[row.value("share") or 0.0 for row in of_one if row.vary_text(along) == value] for value in values]
        lines.append(Line(of_one[0].name, range(len(values)), [sum(some) / len(some) for some in shares]))
    if len(values) < 2:
        return ""
    return chart(lines, Axis(along, values[0], values[-1]), Axis("share", "0", "1"), top=1.0, **how)


def _in_time(result: Result, how: dict[str, Any]) -> str:
    """Goodput of each table of flows in bins of a second."""
    from dumbbell.plots.goodput import series_of

    end = result.plan.duration_s
    lines, most = [], 0.0
    for row in figures.rows(figures.measured(result), ["share"], by="table"):
        flows = [i for i, flow in enumerate(result.plan.flows) if flow.table == row.table]
        grid = series_of(result, "goodput_bytes", flows, (0.0, end), _BIN_S)
        # nan: the flow is not there yet.
        rates = [sum(rate for rate in column if not math.isnan(rate)) for column in grid.values.T.tolist()]
        lines.append(Line(row.name, grid.t.tolist(), rates))
        most = max(most, *rates)
    unit = "goodput, Mbit/s, of the first repetition"
    return chart(lines, Axis("time", "0", f"{end:g} s"), Axis(unit, "0", f"{most:.3g}"), top=most or 1.0, **how)
