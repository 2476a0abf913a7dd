"""Our own controllers in flows over the emulated path: loaded for a run, and what they say of themselves. Needs root, BPF and network namespaces."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import kernel
from test_linux import ran, scenario, untroubled, why_not


def why_not_loaded() -> str:
    """What is missing for these tests, if anything."""
    return why_not() or ("" if kernel.built_in() else "built without clang: no controllers for the kernel")


pytestmark = [pytest.mark.root, pytest.mark.skipif(bool(why_not_loaded()), reason=why_not_loaded() or "everything is there")]

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def ours(name: str) -> set[str]:
    """Kernel names under which runs have loaded a controller."""
    return {word for word in AVAILABLE.read_text().split() if word.startswith(f"d_{name}_")}


def test_controllers_that_the_kernel_lacks_are_loaded_for_the_run_only_each_with_its_parameters(tmp_path: Path, cli: Any) -> None:
    before = ours("cubic")
    flows = '[[flow]]\ncca = "cubic"\nparams = { beta = 900 }\n[[flow]]\ncca = "cubic"\nparams = { beta = 400 }\n[[flow]]\ncca = "cubic"'
    result = ran(cli, tmp_path, "loaded", seconds=6, flows=flows)
    names = result.manifest["emulator"]["controllers"]
    assert len(set(names)) == 3, "flows that differ in parameters have a controller each"
    assert names[2] == "cubic", "the kernel's own"
    gentle, harsh, _ = result.summary["flows"]
    assert gentle["goodput_mbps"] > 1.5 * harsh["goodput_mbps"], "900/1024 of its window after a loss, against 400/1024"
    assert untroubled(result) == []
    assert ours("cubic") <= before


def test_two_runs_at_once_each_have_their_own_controller(tmp_path: Path, cli: Any) -> None:
    before = ours("bbr2")
    started = []
    for name, threshold in (("one", 10), ("two", 20)):
        file = scenario(tmp_path, name, seconds=3, flows=f'[[flow]]\ncca = "bbr2"\nparams = {{ loss_thresh = {threshold} }}')
        command = [sys.executable, "-m", "dumbbell", "run", str(file), "--on", "linux", "--out", str(tmp_path / f"out-{name}")]
        started.append((name, subprocess.Popen(command, stderr=subprocess.PIPE, text=True)))
    used = []
    for name, process in started:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        [result] = dumbbell.load(tmp_path / f"out-{name}")
        assert untroubled(result) == []
        assert result.summary["flows"][0]["goodput_mbps"] > 10
        used += result.manifest["emulator"]["controllers"]
    assert len(set(used)) == 2, used
    assert ours("bbr2") <= before
