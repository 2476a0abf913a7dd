"""The script of docs/gym.md: stable-baselines3 trains a controller, and its model becomes one that runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import dumbbell
from conftest import ROOT

PYTHON = ROOT / "build/sb3/bin/python"
SCRIPT = ROOT / "scenarios/examples/train_sb3.py"


@pytest.mark.skipif(not PYTHON.exists(), reason="no build/sb3: `make build/stamps/sb3` makes it of Debian's torch")
def test_a_model_of_stable_baselines3_becomes_a_controller(tmp_path: Path, cli) -> None:
    shutil.copy(SCRIPT, tmp_path)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(dumbbell.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [PYTHON, SCRIPT.name, "2048"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    imported = cli("policy", "import", "mine.zip", "-o", "mine.safetensors")
    assert "70-32-1" in imported.stdout, imported.stderr
    raced = cli(
        "race", "mine.safetensors", "cubic", "--rate", "12Mbps", "--rtt", "20ms", "--buffer", "2bdp", "--duration", "5s"
    )
    assert "mine" in raced.stdout
    assert raced.returncode == 0


def test_the_script_is_short_and_on_the_page():
    code = [line for line in SCRIPT.read_text().split('"""')[2].splitlines() if line.strip()]
    assert len(code) <= 15
    assert "train_sb3.py" in (ROOT / "docs/gym.md").read_text()
