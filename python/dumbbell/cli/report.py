"""`dumbbell report`: result folders as one page in one file."""

from __future__ import annotations

import argparse
from pathlib import Path

from dumbbell.units import option_s

from .latest import latest_unless, open_file
from .status import OK


def main(arguments: argparse.Namespace) -> int:
    """Write the page; into the first folder unless told where."""
    from dumbbell.report import html
    from dumbbell.report.document import document
    from dumbbell.report.gathered import gather
    from dumbbell.runs.place import PAGE

    folders = latest_unless(arguments.dirs)
    path = html.checked(arguments.output or str(Path(folders[0]) / PAGE))
    start, end = option_s("--from", arguments.start), option_s("--to", arguments.end)
    text = html.page(document(gather(folders, start_s=start, end_s=end, title=arguments.title), path))
    html.write(text, path)
    print(path)
    if arguments.open:
        open_file(path)
    return OK
