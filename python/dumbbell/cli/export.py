"""`dumbbell export`: a run in the format of another program."""

from __future__ import annotations

import argparse
from pathlib import Path

from dumbbell.errors import ResultError, wrong
from dumbbell.files import written_whole

from .latest import latest_folder
from .status import OK


def main(arguments: argparse.Namespace) -> int:
    """Write it."""
    from dumbbell.export import perfetto
    from dumbbell.results.load import load

    path = Path(arguments.output)
    if path.is_dir() or not path.parent.is_dir():
        raise wrong("--output", str(path), "a file in a folder that exists")
    folder = arguments.run or latest_folder("RUN")
    runs = load(folder)
    if len(runs) != 1:
        names = ", ".join(run.folder.name for run in runs[:4]) + (", ..." if len(runs) > 4 else "")
        raise wrong("RUN", folder, f"the folder of one run; it holds {len(runs)}: {names}")
    data = perfetto.trace(runs[0])
    try:
        with written_whole(path) as beside:
            beside.write_bytes(data)
    except OSError as error:
        raise ResultError(f"{path}: cannot be written ({error.strerror})") from None
    print(path)
    return OK
