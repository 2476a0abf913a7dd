"""Tables of a scenario hold values, and keep the text as it was written."""

from __future__ import annotations

import pytest

from dumbbell import Ack, Flow, Jitter, Path, Qdisc, Scenario, from_dict, plan
from dumbbell.scenario.declare import is_written, raw, raw_at
from dumbbell.scenario.file import Measure
from dumbbell.scenario.schedule import Schedule

STEPS = {"steps": [["0s", "40Mbps"], ["2s", "1Gbps"]], "repeat": True}


def test_a_key_reads_as_its_value_and_its_text_stays() -> None:
    path = Path(rate="40Mbps", rtt="20ms", buffer="1.5bdp", loss="0.1%", duplicate=0.01, jitter={"spread": "1ms"})
    assert (path.rate, path.rtt, path.buffer, path.loss) == (40_000_000, 20_000_000, ("bdp", 15, 10), 1_000_000)
    assert (path.duplicate.rate, path.duplicate.correlation) == (10_000_000, 0)
    assert isinstance(path.jitter, Jitter)
    assert path.jitter.spread == 1_000_000
    assert raw(path) == {
        "rate": "40Mbps", "rtt": "20ms", "buffer": "1.5bdp", "loss": "0.1%", "duplicate": 0.01,
        "jitter": {"spread": "1ms"},
    }  # fmt: skip


def test_a_key_that_is_not_written_reads_as_its_default() -> None:
    path = Path(rate="40Mbps")
    assert (path.burst, path.loss, path.rtt, path.qdisc) == (3028, 0, None, Qdisc(kind="fifo"))
    assert (raw_at(path, "burst"), is_written(path, "burst"), is_written(path, "rate")) == ("3028B", False, True)
    assert Flow(cca="cubic").via == ("bottleneck",)


def test_a_key_named_as_a_word_of_python_reads_as_the_others() -> None:
    assert (Measure(from_="1s").from_, Measure().from_, Measure(to="2s").to) == (10**9, 0, 2 * 10**9)


def test_a_rate_in_steps_is_a_schedule() -> None:
    path = Path(rate=STEPS)
    assert path.rate == Schedule(((0, 40_000_000), (2 * 10**9, 10**9)), 4 * 10**9)
    assert raw(path) == {"rate": STEPS}


def test_what_was_written_does_not_change_with_the_lists_that_it_was_given_in() -> None:
    steps = [["0s", "40Mbps"], ["2s", "1Gbps"]]
    path = Path(rate={"steps": steps})
    steps.clear()
    raw(path)["rate"]["steps"].clear()
    assert raw(path) == {"rate": {"steps": [["0s", "40Mbps"], ["2s", "1Gbps"]]}}


def test_a_case_has_one_value_for_each_varied_key_and_its_text() -> None:
    given = {
        "duration": "1s",
        "path": {"rate": ["1Mbps", STEPS], "rtt": "20ms", "buffer": "1bdp", "ack": {"delay": ["1ms", "2ms"]}},
        "flow": [{"cca": "bbr2", "params": {"beta": [717, 800]}, "impair": [{"kind": "loss", "rate": [0, "1%"]}]}],
    }
    scenario = from_dict(given)
    cases = [case.scenario for case in plan.cases(scenario)]
    assert len(cases) == 16
    last = cases[-1]
    assert isinstance(last.path.rate, Schedule)
    assert isinstance(last.path.ack, Ack)
    assert (last.path.ack.delay, last.flow[0].params) == (2_000_000, {"beta": 800})
    assert raw(last)["path"] == {"rate": STEPS, "rtt": "20ms", "buffer": "1bdp", "ack": {"delay": "2ms"}}
    assert raw(last)["flow"][0]["impair"] == [{"model": "random", "kind": "loss", "rate": "1%"}]
    assert raw(scenario)["path"]["rate"] == ["1Mbps", STEPS], "the scenario still varies"


def test_a_table_takes_no_new_value() -> None:
    scenario = Scenario(duration="1s", path=Path(rate="1Mbps"), flow=[Flow(cca="cubic")])
    with pytest.raises(AttributeError, match="Scenario is frozen"):
        scenario.duration = "2s"  # type: ignore[misc]
