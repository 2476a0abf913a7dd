"""Options of `dumbbell test`."""

from __future__ import annotations

import argparse

from .options_run import HOW, ON, add_own, add_set, count, titled


def add_test(test: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell test`."""
    test.add_argument(
        "files", nargs="*", metavar="FILE|DIR", default=["."],
        help="scenarios with [[expect]] tables, or folders with such files (default: the current folder)",
    )  # fmt: skip
    test.add_argument("-k", metavar="TEXT", dest="only", help="only expectations whose name or sentence has this text")
    test.add_argument(
        "--candidate", metavar="CCA",
        help="the controller of the flow called candidate, which suites are about: a name, or a file",
    )  # fmt: skip
    test.add_argument(
        "--fail-on", action="append", default=[], choices=("unclear", "warn"),
        help="end with status 1 for these too; repeatable. What fails, or cannot be judged, always does",
    )  # fmt: skip
    test.add_argument(
        "--save-baseline", metavar="NAME", dest="baseline",
        help="keep the figures that expectations hold against this baseline, in baselines/NAME.json beside each file",
    )  # fmt: skip
    _add_how(test)
    output = test.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print one JSON object per expectation and place, and line")
    output.add_argument("--junit", metavar="FILE", help="write the verdicts as JUnit XML")
    output.add_argument(
        "--summary", metavar="FILE", nargs="?", const=None, default="",
        help="write a Markdown summary to the end of FILE (without FILE: of $GITHUB_STEP_SUMMARY, else to stdout)",
    )  # fmt: skip
    output.add_argument("--annotate", action="store_true", help="print annotations of GitHub for what does not hold")
    output.add_argument("-q", "--quiet", action="store_true", help="print what does not hold, and the count, alone")


def add_evaluate(evaluate: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell evaluate`."""
    evaluate.add_argument(
        "candidate",
        metavar="CCA",
        help="a controller by name (quinn:cubic is one of quinn's), or its file (C, Python or Rust)",
    )
    evaluate.add_argument(
        "--suite", metavar="NAME|DIR", default="rfc9743", help="a suite, or the folder of one's own (default: rfc9743)"
    )
    _add_evaluated(evaluate)


def add_suite(suite: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell suite`."""
    suite.add_argument(
        "name", metavar="NAME|DIR", nargs="?", help="a suite, or the folder of one's own (default: list them)"
    )
    suite.add_argument(
        "candidate", metavar="CCA", nargs="?", help="a controller by name, or its file (default: list the files)"
    )
    _add_evaluated(suite)


def _add_evaluated(command: argparse.ArgumentParser) -> None:
    """Add options of an evaluation."""
    command.add_argument(
        "--profile", choices=("quick", "full"), default="quick",
        help="quick (default): one repetition, fewer cells; full: every cell, five repetitions where chance counts",
    )  # fmt: skip
    _add_how(command)
    output = command.add_argument_group("output")
    output.add_argument("--out", metavar="FILE.html", help="write every cell as one page in one file")
    output.add_argument(
        "--qlogs", metavar="DIR",
        help="put a qlog of each run of the controller into a new folder, with an index (--on sim only)",
    )  # fmt: skip
    output.add_argument("--force", action="store_true", help="replace that file, and the qlogs of that folder")
    output.add_argument("--json", action="store_true", help="print one JSON object with every cell, and nothing else")
    output.add_argument("-q", "--quiet", action="store_true", help="no progress")


def _add_how(command: argparse.ArgumentParser) -> None:
    how = titled(command, HOW)
    how.add_argument("--on", metavar="BACKEND", default="sim", help=ON)
    how.add_argument("--jobs", type=count, metavar="N", help="runs at the same time (default: one per core)")
    how.add_argument("--store", metavar="DIR", help="where runs are kept (default: $DUMBBELL_STORE or results/.store)")
    add_own(command)
    add_set(command)
