"""`dumbbell report`: result folders as one page in one file."""

from __future__ import annotations

import argparse

from dumbbell import units
from dumbbell.errors import wrong
from dumbbell.units import UnitError

from .status import OK


def main(arguments: argparse.Namespace) -> int:
    """Write the page."""
    from dumbbell.report import html
    from dumbbell.report.document import document
    from dumbbell.report.gathered import gather

    path = html.checked(arguments.output)
    start, end = (_seconds(value, f"--{name}") for name, value in (("from", arguments.start), ("to", arguments.end)))
    text = html.page(document(gather(arguments.dirs, start_s=start, end_s=end, title=arguments.title), path))
    html.write(text, path)
    print(path)
    return OK


def _seconds(value: str | None, option: str) -> float | None:
    try:
        return None if value is None else units.span_ns(value) / 1e9
    except UnitError as error:
        raise wrong(option, value, str(error)) from None
