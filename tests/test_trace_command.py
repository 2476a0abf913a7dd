"""`dumbbell trace`: the same recording each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_a_synthetic_trace_is_the_same_each_time(cli: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert (
            cli("trace", "wifi", "--mean", "5Mbps", "--length", "2s", "--seed", "7", "-o", name).stdout == f"{name}\n"
        )
    times = [int(line) for line in (tmp_path / "a").read_text().splitlines()]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert times == sorted(times)
    assert len(times) * 1500 * 8 / times[-1] * 1000 == pytest.approx(5e6, rel=0.02)
    assert cli("trace", "lte", "--mean", "5", "-o", "c").stderr.startswith('dumbbell: --mean: got "5", wanted a rate')
