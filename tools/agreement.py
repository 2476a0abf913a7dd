"""Writes what `dumbbell compare --json` printed as tables in Markdown: python tools/agreement.py FILE.jsonl ...

A row per combination; of each figure the medians of the back ends in the order in which they were compared, bold where
they differ by more than the tolerance.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Figures by the end of their name: heading, factor and digits.
FIGURES = {
    "share": ("shares, %", 100, 0),
    "retrans_rate": ("retransmitted, %", 100, 2),
    "srtt_mean_ms": ("mean srtt, ms", 1, 1),
    "utilization": ("utilisation", 1, 3),
}
NOT_BACK_ENDS = {"name", "tolerance", "agrees"}


def main() -> None:
    """Read the files and print one table of all their rows."""
    parser = argparse.ArgumentParser(description="What `dumbbell compare --json` printed, as a table in Markdown.")
    parser.add_argument("files", nargs="+", type=Path)
    rows = [json.loads(line) for file in parser.parse_args().files for line in file.read_text().splitlines()]
    print("\n".join(table(rows)))


def table(rows: list[dict[str, Any]]) -> Iterable[str]:
    """Lines of a table, and how many rows agree."""
    yield "| scenario | " + " | ".join(heading for heading, _, _ in FIGURES.values()) + " | |"
    yield "| --- |" + " --- |" * (len(FIGURES) + 1)
    for row in rows:
        cells = [cell(row["figures"], kind) for kind in FIGURES]
        yield f"| {label(row)} | {' | '.join(cells)} | {'' if row['agrees'] else 'differs'} |"
    yield f"\n{sum(row['agrees'] for row in rows)} of {len(rows)} rows agree."


def label(row: dict[str, Any]) -> str:
    """Scenario and varied values."""
    return ", ".join([row["scenario"], *(str(value).replace("|", "/") for value in row["vary"].values())])


def cell(figures: list[dict[str, Any]], kind: str) -> str:
    """One kind of figure for every flow: back ends between slashes, flows between semicolons."""
    _, factor, digits = FIGURES[kind]
    told = []
    for figure in figures:
        if not re.search(rf"(^| ){kind}$", figure["name"]):
            continue
        text = " / ".join(f"{factor * value:.{digits}f}" for key, value in figure.items() if key not in NOT_BACK_ENDS)
        told.append(text if figure["agrees"] else f"**{text}**")
    return "; ".join(told)


if __name__ == "__main__":
    main()
