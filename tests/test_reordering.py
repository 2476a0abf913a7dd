"""QUIC on a path that reorders: fixed thresholds of loss detection, and adaptive ones."""

from __future__ import annotations

from pathlib import Path

import dumbbell
from closed_form import rows

PATH = """
duration = "6s"
[path]
rate = "50Mbps"
rtt = "20ms"
buffer = "1bdp"
jitter = { spread = "5ms" }
[[flow]]
cca = "cubic"
transport = { kind = "quic", adaptive_thresholds = THRESHOLDS }
"""


def goodput_mbps(folder: Path, adaptive: str) -> float:
    (result,) = dumbbell.run(dumbbell.from_text(PATH.replace("THRESHOLDS", adaptive)), folder / adaptive)
    return float(rows(result, "flows")[0]["goodput_bytes"]) * 8 / 6e6


def test_adaptive_thresholds_survive_reordering_that_fixed_ones_take_for_loss(tmp_path: Path) -> None:
    assert goodput_mbps(tmp_path, "false") < 10
    assert goodput_mbps(tmp_path, "true") > 40
