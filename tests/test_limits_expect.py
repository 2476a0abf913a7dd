"""`limit ...` in sentences of ``[[expect]]``, from `limits.parquet`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dumbbell
from dumbbell import ScenarioError
from dumbbell.judge.parse import sentence
from dumbbell.results.limits import LIMITS, Held, share_of_time

SCENARIO = """
name = "limited"
duration = "6s"

[path]
rate = "20Mbps"
rtt = "40ms"
buffer = "4bdp"

[record]
limits = true

[[flow]]
name = "bulk"
cca = "cubic"
rtt = "40ms"

[[flow]]
name = "paced"
cca = "cubic"
workload = { kind = "paced", rate = "1Mbps", message = "1kB" }
"""


def words(folder: Path, *sentences: str) -> list[str]:
    """The word for each sentence."""
    file = folder / "limited.toml"
    file.write_text(SCENARIO + "".join(f"\n[[expect]]\nthat = {json.dumps(text)}\n" for text in sentences))
    return [line.word for line in dumbbell.verify(file, store=folder / "store")]


def test_the_share_of_time_of_a_limit_is_judged(tmp_path):
    said = ("limit cwnd of bulk from 1s >= 80%", "limit application of paced >= 80%", "limit application of bulk >= 1%")
    assert words(tmp_path, *said) == ["holds", "holds", "fails"]


def test_a_share_is_of_the_part_in_which_anything_limited_the_flow():
    held = [Held("cwnd", 1.0, 3.0), Held("pacing", 3.0, 4.0)]
    assert share_of_time(held, "cwnd", 0.0, 10.0) == pytest.approx(2 / 3)
    assert share_of_time(held, "cwnd", 2.5, 3.5) == pytest.approx(0.5)
    assert share_of_time(held, "cwnd", 5.0, 10.0) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limit window <= 5%", "one of: recovery, application"),
        ("limit cwnd <= 5", "a share of the time"),
        ("limit cwnd <= 5ms", "a share of the time"),
    ],
)
def test_another_limit_or_unit_is_refused(text, said):
    with pytest.raises(ScenarioError, match=said):
        sentence(text)


def test_limits_need_their_table(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(SCENARIO.replace("limits = true", "limits = false") + '\n[[expect]]\nthat = "limit cwnd >= 5%"\n')
    with pytest.raises(ScenarioError, match=re.escape("[record] limits = true")):
        dumbbell.verify(file, store=tmp_path / "store")


def test_the_names_are_those_of_the_engine():
    text = (Path(__file__).parent.parent / "docs/results.md").read_text()
    table = text.split("| limit | meaning |\n| --- | --- |\n")[1].split("\n\n")[0]
    assert tuple(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == LIMITS
