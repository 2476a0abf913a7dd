"""`dumbbell report`: result folders as one page in one file."""

from __future__ import annotations

import argparse

from dumbbell.units import option_s

from .status import OK


def main(arguments: argparse.Namespace) -> int:
    """Write the page."""
    from dumbbell.report import html
    from dumbbell.report.document import document
    from dumbbell.report.gathered import gather

    path = html.checked(arguments.output)
    start, end = option_s("--from", arguments.start), option_s("--to", arguments.end)
    text = html.page(document(gather(arguments.dirs, start_s=start, end_s=end, title=arguments.title), path))
    html.write(text, path)
    print(path)
    return OK
