"""`dumbbell demo`: Kfoury et al. 2020, Fig. 11a, as a table, a picture, and what holds of the paper's claims."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.runs.jobs import jobs_of
from dumbbell.scenario.file import Given
from dumbbell.scenario.toml_text import to_toml

from . import run
from .status import FAILED, OK

if TYPE_CHECKING:
    from dumbbell.suites.demo import Claim, Point

#: Name of the picture in the results' folder.
PICTURE = "kfoury-fig11a.png"
#: Digits behind the point of each column after the buffer's.
_DIGITS = (1, 1, 3, 3, 2)


def main(arguments: argparse.Namespace) -> int:
    """Run, print, draw."""
    from dumbbell.suites import demo

    scenario = demo.fig11a(full=arguments.full)
    planned = jobs_of([Given(scenario, to_toml(scenario))], Path())
    place = run.placed(arguments.out, scenario.name, resume=arguments.resume, force=arguments.force)
    status = run.go(planned, place, workers=arguments.jobs, show=run.Show.NOTHING, quiet=arguments.quiet)
    return report(place.path, full=arguments.full) if status == OK else status


def report(out: Path, *, full: bool) -> int:
    """Table, picture and claims of the results in `out`."""
    from dumbbell import plots
    from dumbbell.results.load import load
    from dumbbell.suites import demo

    results = load(out)
    points = demo.points(results)
    print_points(points)
    picture = out / PICTURE
    plots.save(plots.draw("vary", results, metric="goodput", jain=True), picture)
    print(f"\nPicture: {picture}\n")
    crossover = demo.crossover_bdp(points)
    print(
        "CUBIC overtakes BBR "
        + ("nowhere in this range" if crossover is None else f"at a buffer of about {crossover:.2g} BDP")
    )
    print_claims(demo.claims(points))
    print("\nWhat differs from the paper's set-up:")
    for line in [
        *demo.DIFFERENCES,
        *([] if full else ["120 s and one repetition instead of 300 s and ten; --full has the paper's"]),
    ]:
        print(f"  - {line}")
    return OK if points else FAILED


def print_points(points: list[Point]) -> None:
    """A row per buffer size."""
    from rich import box
    from rich.table import Table

    from .table import console

    table = Table(title="BBR against CUBIC, 1 Gbit/s, 20 ms, drop tail", title_justify="left", box=box.SIMPLE_HEAD)
    for head in ("buffer\nBDP", "BBR\nMbit/s", "CUBIC\nMbit/s", "BBR's\nshare", "Jain's\nindex", "queue\nmean ms"):
        table.add_column(head, justify="right")
    for point in points:
        bbr, cubic = point.bbr, point.cubic
        values = [bbr.value("goodput"), cubic.value("goodput"), point.bbr_share, bbr.value("jain"), bbr.value("queue")]
        texts = ["" if value is None else f"{value:.{digits}f}" for value, digits in zip(values, _DIGITS, strict=True)]
        table.add_row(f"{point.buffer_bdp:g}", *texts)
    console().print(table)


def print_claims(claims: list[Claim]) -> None:
    """A line per claim of the paper."""
    print("\nThe paper's claims (sec. 5.5):")
    for claim in claims:
        print(f"  {claim.verdict.word:10}  {claim.text}: {claim.measured}")
