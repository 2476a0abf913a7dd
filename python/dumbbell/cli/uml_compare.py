"""`dumbbell uml compare`: one scenario on two kernels in virtual time, and which figures moved."""

from __future__ import annotations

import argparse

from . import compare


def main(arguments: argparse.Namespace) -> int:
    """Run and compare; see `dumbbell uml compare --help`. The tolerances are those of two real kernels."""
    names = [f"uml:{series}" for series in arguments.kernels]
    return compare.main(argparse.Namespace(**{**vars(arguments), "on": ",".join(names)}))
