"""Options of `dumbbell test`."""

from __future__ import annotations

import argparse

from .options_run import HOW, ON, add_own, add_set, count, titled


def add_test(test: argparse.ArgumentParser) -> None:
    """Of `dumbbell test`."""
    test.add_argument(
        "files", nargs="*", metavar="FILE|DIR", default=["."],
        help="scenarios with [[expect]] tables, or folders with such files (default: the current folder)",
    )  # fmt: skip
    test.add_argument("-k", metavar="TEXT", dest="only", help="only expectations whose name or sentence has this text")
    test.add_argument(
        "--fail-on", action="append", default=[], choices=("unclear", "warn"),
        help="end with status 1 for these too; repeatable. What fails, or cannot be judged, always does",
    )  # fmt: skip
    test.add_argument(
        "--save-baseline", metavar="NAME", dest="baseline",
        help="keep the figures that expectations hold against this baseline, in baselines/NAME.json beside each file",
    )  # fmt: skip
    how = titled(test, HOW)
    how.add_argument("--on", metavar="BACKEND", default="sim", help=ON)
    how.add_argument("--jobs", type=count, metavar="N", help="runs at the same time (default: one per core)")
    how.add_argument("--store", metavar="DIR", help="where runs are kept (default: $DUMBBELL_STORE or results/.store)")
    add_own(test)
    add_set(test)
    output = test.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print one JSON object per expectation and place, and line")
    output.add_argument("--junit", metavar="FILE", help="write the verdicts as JUnit XML")
    output.add_argument(
        "--summary", metavar="FILE", nargs="?", const=None, default="",
        help="write a Markdown summary to the end of FILE (without FILE: of $GITHUB_STEP_SUMMARY, else to stdout)",
    )  # fmt: skip
    output.add_argument("--annotate", action="store_true", help="print annotations of GitHub for what does not hold")
    output.add_argument("-q", "--quiet", action="store_true", help="print what does not hold, and the count, alone")
