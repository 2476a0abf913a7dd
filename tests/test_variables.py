"""`variables.parquet` and `limits.parquet`: what a controller knows, and what limits a flow."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from closed_form import rows
from dumbbell import ResultError, ScenarioError, plan
from dumbbell.backends import lacking
from dumbbell.backends.request import Request

BBR3 = """
duration = "20s"
[path]
rate = "10Mbps"
rtt = "40ms"
buffer = "4bdp"
[record]
variables = true
limits = true
[[flow]]
cca = "bbr3"
"""

CONTROLLERS = Path(__file__).parent / "controllers"

#: A greedy flow over a path that it cannot fill.
WIDE = """
duration = "10s"
[path]
rate = "100Mbps"
rtt = "40ms"
buffer = "2bdp"
[record]
limits = true
"""


def ran(text: str, folder: Path) -> dumbbell.Result:
    (result,) = dumbbell.run(dumbbell.from_text(text), folder / "run")
    return result


@pytest.fixture(scope="module")
def bbr3(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Result:
    return ran(BBR3, tmp_path_factory.mktemp("variables"))


def entered(result: dumbbell.Result, state: str) -> int:
    """When the controller entered a state for the first time, ns."""
    return next(row["t_ns"] for row in rows(result, "events", kind="cca_state", note=state))


def at(result: dumbbell.Result, t_ns: int) -> dict[str, Any]:
    """Every variable as it was after an instant; words where they have some."""
    held = [row for row in rows(result, "variables") if row["t_ns"] <= t_ns]
    return {row["name"]: row["word"] or row["value"] for row in held}


def shares(result: dumbbell.Result, after_s: float = 2.0) -> dict[str, float]:
    """The share of the time after a moment in which each limit held."""
    begin, end = after_s * 1e9, result.plan.duration_s * 1e9
    steps = [(row["t_ns"], row["limit"]) for row in rows(result, "limits")] + [(end, "")]
    held: dict[str, float] = defaultdict(float)
    for (since, limit), (until, _) in pairwise(steps):
        held[limit] += max(0.0, until - max(since, begin)) / (end - begin)
    return held


def test_bbr3_leaves_startup_after_three_rounds_without_growth_and_knows_the_link(bbr3: dumbbell.Result) -> None:
    known = at(bbr3, entered(bbr3, "DRAIN"))
    assert (known["full_bw_count"], known["full_bw_now"], known["full_bw_reached"]) == (3, 1, 1)
    assert known["startup_end"] == "plateau"
    assert known["max_bw"] == pytest.approx(10e6 * 1448 / 1514, rel=0.03)
    assert known["min_rtt_us"] == pytest.approx(40_000, rel=0.1)


def test_a_variable_has_a_row_when_it_changes(bbr3: dumbbell.Result) -> None:
    states = {row["t_ns"] for row in rows(bbr3, "events", kind="cca_state")}
    last: dict[str, Any] = {}
    for row in rows(bbr3, "variables"):
        if row["name"] in last and row["t_ns"] not in states:
            assert row["value"] != last[row["name"]], row
        last[row["name"]] = row["value"]


def test_every_variable_has_a_row_at_every_change_of_state(bbr3: dumbbell.Result) -> None:
    names = {row["name"] for row in rows(bbr3, "variables")}
    assert len(names) > 20
    (established,) = rows(bbr3, "events", kind="established")
    states = [row for row in rows(bbr3, "events", kind="cca_state") if row["t_ns"] > established["t_ns"]]
    assert len(states) > 5
    for event in states:
        assert {row["name"] for row in rows(bbr3, "variables", t_ns=event["t_ns"])} == names


def test_bounds_that_are_not_set_are_null(bbr3: dumbbell.Result) -> None:
    first = {row["name"]: row for row in rows(bbr3, "variables")[:30]}
    assert first["inflight_hi"]["value"] is None
    assert first["inflight_hi"]["unit"] == "segments"
    assert first["startup_end"]["word"] == "none"


def test_rounds_are_counted_one_by_one(bbr3: dumbbell.Result) -> None:
    counts = sorted({row["value"] for row in rows(bbr3, "variables", name="round_count")})
    assert counts == list(range(counts[-1] + 1))
    assert 300 < counts[-1] < 500  # 20 s of 40 ms and some queue


def test_the_switches_change_nothing_else(bbr3: dumbbell.Result, tmp_path: Path) -> None:
    without = ran(BBR3.replace("variables = true\nlimits = true\n", ""), tmp_path)
    for name in ("flows", "samples", "queue", "events", "messages"):
        one, other = (Path(run.folder) / f"{name}.parquet" for run in (bbr3, without))
        assert one.read_bytes() == other.read_bytes(), name
    for name in ("variables", "limits"):
        assert not (Path(without.folder) / f"{name}.parquet").exists()
        with pytest.raises(ResultError, match=rf"\[record\] {name} = true"):
            getattr(without, name)


def test_a_plan_without_the_switches_is_what_it_was() -> None:
    (planned,) = plan.runs(dumbbell.from_text(BBR3.replace("variables = true\nlimits = true\n", "")))
    assert not {"variables", "limits", "qlog"} & set(planned.plan["record"])


@pytest.mark.parametrize(("name", "on"), [("variables", "linux"), ("limits", "linux"), ("limits", "netem")])
def test_what_a_back_end_cannot_tell_is_refused(name: str, on: str) -> None:
    text = WIDE.replace("limits", name) + '[[flow]]\ncca = "cubic"\n'
    (planned,) = plan.runs(dumbbell.from_text(text))
    with pytest.raises(ScenarioError, match=f"record.{name}: got true, wanted false with --on {on}"):
        lacking(Request(planned, on, text))


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ('rate = "100Mbps"\nbuffer = "0.3bdp"', "reduction"),
        ('rate = "20Mbps"\nbuffer = "8bdp"', "delay"),
    ],
)
def test_cubic_tells_why_slow_start_ended(path: str, why: str, tmp_path: Path) -> None:
    text = f"""
duration = "5s"
[path]
rtt = "40ms"
{path}
[record]
variables = true
[[flow]]
cca = "cubic"
params = {{ hystart = {0 if why == "reduction" else 1}, hystart_detect = 2 }}
"""
    run = ran(text, tmp_path)
    words = [row["word"] for row in rows(run, "variables", name="slow_start_end")]
    assert words[0] == "none"
    assert why in words


def test_a_controller_that_declares_nothing_has_no_rows(tmp_path: Path) -> None:
    run = ran(BBR3.replace('"bbr3"', '"reno"').replace("20s", "2s"), tmp_path)
    assert run.variables.num_rows == 0
    assert run.limits.num_rows > 0


def test_a_controller_of_ones_own_declares_variables_in_the_same_way(tmp_path: Path) -> None:
    text = BBR3.replace('"bbr3"', '"counting"').replace("20s", "2s")
    (run,) = dumbbell.run(dumbbell.from_text(text), tmp_path / "run", cca=[CONTROLLERS / "counting.c"])
    counts = [row["value"] for row in rows(run, "variables", name="acks")]
    assert counts == sorted(set(counts))
    assert counts[-1] > 100
    assert [row["word"] for row in rows(run, "variables", name="is_many")] == ["few", "many"]
    assert {row["value"] for row in rows(run, "variables", name="unknown")} == {None}


@pytest.mark.parametrize(
    ("tables", "limit", "least"),
    [
        ('[host]\nrcvbuf = "64kB"\n[[flow]]\ncca = "cubic"\n', "receive_window", 0.85),
        ('[host]\nrcvbuf = "64kB"\n[[flow]]\ncca = "bbr3"\n', "receive_window", 0.5),
        ('[host]\nsndbuf = "128kB"\n[[flow]]\ncca = "cubic"\n', "send_buffer", 0.8),
        ('[[flow]]\ncca = "cubic"\nworkload = { kind = "paced", rate = "5Mbps" }\n', "application", 0.9),
        ('[[flow]]\ncca = "cubic"\n', "cwnd", 0.6),
        ('[[flow]]\ncca = "bbr3"\n', "pacing", 0.6),
        ('[[flow]]\ncca = "cubic"\ntransport = "quic"\n', "cwnd", 0.5),
    ],
)
def test_what_limits_a_flow_is_told(tables: str, limit: str, least: float, tmp_path: Path) -> None:
    found = shares(ran(WIDE + tables, tmp_path))
    assert found[limit] > least, dict(found)


def test_recovery_is_told_while_it_lasts(tmp_path: Path) -> None:
    run = ran(WIDE + '[[flow]]\ncca = "reno"\n', tmp_path)
    entered = [row["t_ns"] for row in rows(run, "events", kind="ca_state", note="Recovery")]
    assert entered
    assert set(entered) <= {row["t_ns"] for row in rows(run, "limits", limit="recovery")}


def test_limits_change_from_row_to_row(bbr3: dumbbell.Result) -> None:
    limits = [row["limit"] for row in rows(bbr3, "limits")]
    assert all(one != other for one, other in pairwise(limits))
