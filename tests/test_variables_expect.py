"""`variable ...` in sentences of ``[[expect]]``, from `variables.parquet`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dumbbell
from dumbbell import ScenarioError
from dumbbell.judge.parse import sentence
from dumbbell.judge.sentence import Both, Compare
from dumbbell.judge.values import Variable

PAIR = """
name = "pair"
duration = "6s"

[path]
rate = "20Mbps"
rtt = "40ms"
buffer = "4bdp"

[record]
variables = true

[[flow]]
name = "main"
cca = "bbr3"

[[flow]]
name = "late"
cca = "cubic"
start = "4s"
"""


def words(folder: Path, *sentences: str, scenario: str = PAIR) -> list[str]:
    """The word for each sentence."""
    file = folder / "pair.toml"
    file.write_text(scenario + "".join(f"\n[[expect]]\nthat = {json.dumps(text)}\n" for text in sentences))
    lines = dumbbell.verify(file, store=folder / "store")
    return [line.word for line in lines]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("variable max_bw of main at STARTUP ends >= 19Mbps", ("last", "STARTUP", "ends", None, "bit/s")),
        ("variable min_rtt_us of main at DRAIN begins <= 45ms", ("last", "DRAIN", "begins", None, "s")),
        ("variable round_count of main at 2s >= 10", ("last", None, None, 2.0, "")),
        ("largest variable extra_acked of main <= 40", ("largest", None, None, None, "")),
        ("variable startup_end at STARTUP ends of main == plateau", ("last", "STARTUP", "ends", None, "")),
    ],
)
def test_a_variable_is_read_with_its_moment_and_unit(text: str, value: tuple[object, ...]) -> None:
    said = sentence(text)
    assert isinstance(said, Compare)
    left = said.left
    assert isinstance(left, Variable)
    assert left.of == "main"
    assert (left.pick, left.state, left.edge, left.at_s, left.unit) == value


def test_two_bounds_have_one_unit() -> None:
    said = sentence("19Mbps <= variable max_bw <= 21Mbps")
    assert isinstance(said, Both)
    assert [(part.sign, part.right) for part in said.parts] == [(">=", 19e6), ("<=", 21e6)]
    with pytest.raises(ScenarioError, match="numbers in one unit"):
        sentence("19 <= variable max_bw <= 21Mbps")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("variable", "a variable, such as max_bw at the end"),
        ("variable max_bw at STARTUP >= 1", "begins or ends behind"),
        ("variable max_bw >= plateau", "a number behind"),
        ("largest variable max_bw at 2s >= 1", "either a moment or a part of the run"),
        ("largest max_bw >= 1", '"variable" behind'),
        ("variable max_bw with cubic >= 1", 'no "with" behind'),
        ("variable max_bw >= 3apples", "a plain number, a rate or a time"),
        ("variable max_bw within 2% of baseline", "a number behind"),
    ],
)
def test_a_sentence_that_says_nothing_is_refused(text: str, wanted: str) -> None:
    with pytest.raises(ScenarioError, match=wanted):
        sentence(text)


def test_variables_are_judged(tmp_path: Path) -> None:
    assert words(
        tmp_path,
        "variable max_bw of main at STARTUP ends within 5% of 19.1Mbps",
        "variable max_bw of main at STARTUP ends >= 30Mbps",
        "variable full_bw_count of main at STARTUP ends == 3",
        "variable startup_end of main at STARTUP ends == plateau",
        "variable startup_end of main at STARTUP ends != plateau",
        "variable startup_end of main at 50ms == none",
        "variable min_rtt_us of main at STARTUP ends <= 45ms",
        "smallest variable min_rtt_us of main >= 40ms",
        "largest variable round_count of main from 1s to 2s <= 60",
        "variable inflight_hi of main at 50ms >= 1",
    ) == ["holds", "fails", "holds", "holds", "fails", "holds", "holds", "holds", "holds", "unjudged"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("variable maxbw of main >= 1", "no variable maxbw of bbr3, wanted one of: .*max_bw"),
        ("variable max_bw of main at STARTUPS ends >= 1", "bbr3 has no state STARTUPS"),
        ("variable round_count of main >= 2ms", "round_count is in rounds, got a time"),
        ("variable startup_end of main == plato", "startup_end is never plato, wanted one of: .*plateau"),
        ("variable max_bw of main == plateau", "max_bw is a number, got plateau"),
        ("variable max_bw of late >= 1", "no variable max_bw of cubic"),
    ],
)
def test_what_a_controller_does_not_have_is_an_error(text: str, wanted: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=wanted):
        words(tmp_path, text)


def test_a_scenario_without_variables_is_refused_before_it_runs(tmp_path: Path) -> None:
    scenario = PAIR.replace("variables = true", "variables = false")
    with pytest.raises(ScenarioError, match=r"needs the table of variables; \[record\] variables = true"):
        words(tmp_path, "variable max_bw of main >= 1", scenario=scenario)
    assert not (tmp_path / "store").exists()
