"""Options of `dumbbell uml`."""

from __future__ import annotations

import argparse

from .options_run import add_compare_kernels, count


def add_uml(uml: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell uml`."""
    actions = uml.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser("build", help="make a kernel of the distribution's source package; prints its folder")
    build.add_argument(
        "--kernel",
        metavar="SERIES",
        help="series of the kernel, such as 6.1 (default: 6.12); with --source also a name, such as 6.12-mine",
    )
    build.add_argument(
        "--hz", type=count, default=1000, metavar="N", help="ticks a second (default: 1000); one kernel for each"
    )
    build.add_argument(
        "--source",
        metavar="FILE",
        help="source that is here: linux-source-*.deb, an archive (linux-*.tar.xz), or a folder, which stays as it is",
    )
    build.add_argument("--force", action="store_true", help="build also what is there")
    build.add_argument("-q", "--quiet", action="store_true", help="print errors, the folder, and nothing else")
    status = actions.add_parser("status", help="list the kernels that are built")
    status.add_argument("--json", action="store_true", help="print one JSON object per kernel and line")
    remove = actions.add_parser("remove", help="remove kernels")
    remove.add_argument("name", metavar="NAME", nargs="?", help="a kernel (6.12-hz1000) or all of a series (6.12)")
    remove.add_argument("--all", action="store_true", help="all kernels, source packages and programs")
    add_compare_kernels(
        actions.add_parser("compare", help="run a scenario on two kernels, and say where their figures differ")
    )
