"""Options of the commands about papers: demo, papers, fidelity, reproduce."""

from __future__ import annotations

import argparse

from .options_run import add_set, count, share


def add_demo(demo: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell demo`."""
    demo.add_argument("--full", action="store_true", help="the paper's ten repetitions instead of one")
    demo.add_argument("--out", metavar="DIR", help="folder for picture and scoreboard (default: results/demo)")
    _add_kept(demo)


def _add_kept(command: argparse.ArgumentParser) -> None:
    """Add options of the store and of runs."""
    command.add_argument(
        "--store", metavar="DIR", help="where runs are kept (default: $DUMBBELL_STORE or results/.store)"
    )
    command.add_argument("--jobs", type=count, metavar="N", help="runs at the same time (default: one per core)")
    command.add_argument("-q", "--quiet", action="store_true", help="no progress")


def _factor(text: str) -> float:
    """A number above 0; raises ArgumentTypeError."""
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise argparse.ArgumentTypeError(f"got {text}, wanted a number above 0, such as 0.1")
    return factor


def add_papers(listed: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell papers`."""
    listed.add_argument(
        "id", metavar="ID", nargs="*",
        help="list the figures of these papers: all, kfoury2020, kfoury2020/fig14a (default: whether the conclusions of"
        " the papers hold)",
    )  # fmt: skip
    listed.add_argument("--json", action="store_true", help="print one JSON object per figure and line")


def add_fidelity(fidelity: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell fidelity`."""
    fidelity.add_argument("files", nargs="*", metavar="FILE", help="scenarios of your own instead of a set")
    fidelity.add_argument(
        "--set", default="tests", metavar="NAME",
        help="tests (default: 200 rows), random (drawn), means (of 16 seeds), smoke (a few), both-ways",
    )  # fmt: skip
    fidelity.add_argument("--only", default="", metavar="REGEX", help="rows whose name has this")
    fidelity.add_argument("--seeds", type=count, metavar="N", help="of each row on each side (default: 3; means: 16)")
    fidelity.add_argument("--seed", type=int, default=1, metavar="N", help="of --set random: what it is drawn by")
    fidelity.add_argument("--count", type=count, default=100, metavar="N", help="of --set random: how many scenarios")
    fidelity.add_argument(
        "--on", default="uml", metavar="BACKEND", help="what stands for Linux: uml (default), or uml:VERSION"
    )
    fidelity.add_argument(
        "--need", type=share, default="0", metavar="SHARE", help="share of rows that must agree for status 0"
    )
    fidelity.add_argument("--against", metavar="FILE", help="say what moved since this stored table")
    fidelity.add_argument("--stored", action="store_true", help="take Linux's figures from it; needs no kernel")
    fidelity.add_argument("--save", metavar="FILE", help="put what was measured into this table")
    fidelity.add_argument("--json", action="store_true", help="print one JSON object per row and line")
    _add_kept(fidelity)


def add_reproduce(reproduce: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell reproduce`."""
    reproduce.add_argument(
        "id",
        metavar="ID",
        nargs="+",
        help="all, a paper (kfoury2020), a figure (kfoury2020/fig14a), or the folder of a suite of your own"
        " (docs/suites.md)",
    )
    profile = reproduce.add_mutually_exclusive_group()
    profile.add_argument(
        "--fast",
        action="store_const",
        const="fast",
        dest="profile",
        default="full",
        help="shorter runs and fewer repetitions than the paper's; verdicts are provisional",
    )
    profile.add_argument(
        "--quick", action="store_const", const="quick", dest="profile", help="still fewer, for a first look"
    )
    reproduce.add_argument(
        "--on", metavar="BACKEND", default="sim", help="sim (default), or uml: Linux in virtual time"
    )
    reproduce.add_argument(
        "--beside", metavar="BACKEND", help="run it on this back end too, and draw both into one picture: linux, uml"
    )
    reproduce.add_argument(
        "--scale", type=_factor, default=1.0, metavar="FACTOR",
        help="rates, and the number of flows or their sizes, times this, where a back end does not carry the paper's;"
        " buffers in BDP follow, and figures are brought to the paper's scale",
    )  # fmt: skip
    add_set(reproduce)
    reproduce.add_argument(
        "--repetitions", type=count, metavar="N", help="of each set-up (default: those of the profile)"
    )
    reproduce.add_argument(
        "--at", action="append", default=[], metavar="AXIS=VALUE",
        help="run these places of the figure alone, such as buffer_bdp=1,10; repeatable",
    )  # fmt: skip
    reproduce.add_argument("--out", metavar="DIR", help="folder for figures and scoreboard (default: results/papers)")
    reproduce.add_argument("--json", action="store_true", help="print one JSON object per figure and line")
    _add_kept(reproduce)
