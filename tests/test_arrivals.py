"""Flows that arrive at random, applications and transports become plain flows of a plan."""

from __future__ import annotations

import math
import statistics
from decimal import localcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dumbbell import ScenarioError, from_dict, plan
from dumbbell.scenario.arrivals import Arrivals, expand

PATH = {"rate": "40Mbps", "rtt": "40ms", "buffer": "1bdp"}


def flows(
    flow: dict[str, Any], *, seed: int = 1, repetitions: int = 1, folder: str | Path = ""
) -> list[list[dict[str, Any]]]:
    tables = {
        "duration": "10s",
        "seed": seed,
        "repetitions": repetitions,
        "path": PATH,
        "flow": [{"cca": "cubic", **flow}],
    }
    return [run.plan["flows"] for run in plan.runs(from_dict(tables, folder=folder))]


def drawn(sizes: Any, *, rate: str = "1000/s", seconds: int = 10, seed: int = 1) -> list[tuple[int, int]]:
    return expand(
        Arrivals(rate=rate, sizes=sizes), 0, seconds * 10**9, seed=seed, at="flow[0]", folder=Path(), most=49_151
    )


def test_arrivals_are_poisson_with_their_rate() -> None:
    found = [start for start, _ in drawn("1kB")]
    gaps = [later - earlier for earlier, later in pairwise(found)]
    assert len(found) == pytest.approx(10_000, abs=4 * 100)
    assert statistics.fmean(gaps) == pytest.approx(1e6, rel=0.04)
    assert statistics.stdev(gaps) == pytest.approx(1e6, rel=0.06), "an exponential distribution's deviation is its mean"


def test_sizes_follow_their_distribution() -> None:
    pareto = [size for _, size in drawn({"kind": "pareto", "least": "10kB", "shape": 2.5})]
    assert min(pareto) >= 10_000
    assert statistics.median(pareto) == pytest.approx(10_000 * 2 ** (1 / 2.5), rel=0.02)
    logs = [math.log(size) for _, size in drawn({"kind": "lognormal", "median": "100kB", "sigma": 0.5})]
    assert statistics.fmean(logs) == pytest.approx(math.log(100_000), abs=0.02)
    assert statistics.stdev(logs) == pytest.approx(0.5, rel=0.03)
    small = [size for _, size in drawn([["10kB", 9], ["1MB", 1]])].count(10_000)
    assert small / 9990 == pytest.approx(0.9, abs=0.012)
    assert max(size for _, size in drawn({"kind": "pareto", "least": "10kB", "shape": 0.5, "most": "50kB"})) == 50_000


def test_draws_are_the_same_whatever_the_callers_arithmetic_is() -> None:
    first = drawn({"kind": "lognormal", "median": "100kB"}, rate="10/s")
    with localcontext() as context:
        context.prec = 6
        assert drawn({"kind": "lognormal", "median": "100kB"}, rate="10/s") == first
    # Written down once: another platform or version must find the same.
    assert first[:2] == [(19600744, 312824), (33167878, 80190)]


def test_repetitions_and_seeds_draw_their_own_arrivals_and_starts() -> None:
    runs = flows({"arrivals": {"rate": "2/s", "sizes": "10kB"}}, repetitions=3)
    assert len({tuple(flow["start_ns"] for flow in run) for run in runs}) == 3
    assert flows({"arrivals": {"rate": "2/s", "sizes": "10kB"}}) == runs[:1]
    tables = {
        "duration": "10s",
        "repetitions": 2,
        "path": PATH,
        "host": {"start_jitter": "5ms"},
        "flow": [{"cca": "cubic"}],
    }
    starts = [run.plan["flows"][0]["start_ns"] for run in plan.runs(from_dict(tables))]
    assert starts[0] != starts[1]


def test_arrivals_keep_to_their_time() -> None:
    (run,) = flows({"start": "2s", "arrivals": {"rate": "100/s", "until": "4s", "sizes": "10kB"}})
    assert all(2 * 10**9 <= flow["start_ns"] < 4 * 10**9 for flow in run)
    assert {(flow["size_bytes"], flow["stop_ns"]) for flow in run} == {(10_000, 10 * 10**9)}


def test_sizes_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "sizes").write_bytes(b"\xef\xbb\xbf# size weight\r\n10kB 1\r\n\r\n20kB 1\r\n")
    (run,) = flows({"arrivals": {"rate": "10/s", "sizes": {"file": "sizes"}}}, folder=tmp_path)
    assert {flow["size_bytes"] for flow in run} == {10_000, 20_000}
    (tmp_path / "sizes").write_text("10kB one\n")
    with pytest.raises(
        ScenarioError, match=r'^flow\[0\]\.arrivals\.sizes\.file: got "sizes", wanted a size .* \(line 1 is not\)$'
    ):
        flows({"arrivals": {"rate": "10/s", "sizes": {"file": "sizes"}}}, folder=tmp_path)
    with pytest.raises(ScenarioError, match=r"wanted a readable file"):
        flows({"arrivals": {"rate": "10/s", "sizes": {"file": "none"}}}, folder=tmp_path)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"kind": "pareto", "least": "1GB", "most": "1kB"}, 'got "1kB", wanted at least `least` (1GB)'),
        ({"kind": "lognormal", "median": "2GB"}, 'got "1GB", wanted at least `median` (2GB)'),
    ],
)
def test_a_largest_size_below_the_smallest_is_refused(sizes: dict[str, str], said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        flows({"arrivals": {"rate": "10/s", "sizes": sizes}})
    assert str(error.value) == f"flow[0].arrivals.sizes.most: {said}"


def test_a_run_in_which_nothing_arrives_is_an_error() -> None:
    with pytest.raises(ScenarioError, match="no flow arrives"):
        flows({"start": "9.999999s", "arrivals": {"rate": "1/h", "sizes": "10kB"}})


@pytest.mark.parametrize(
    ("workload", "planned"),
    [
        (
            {"kind": "on_off", "on": "1s", "off": "2s", "random": True},
            {
                "on": {"ns": 10**9, "exponential": True},
                "off": {"ns": 2 * 10**9, "exponential": True},
                "rate_bps": None,
                "message_bytes": 1448,
            },
        ),
        ({"kind": "paced", "rate": "5Mbps", "message": "10kB"}, {"rate_bps": 5_000_000, "message_bytes": 10_000}),
        (
            {"kind": "request_response", "response": "100kB", "think": "1s"},
            {"response_bytes": 100_000, "think": {"ns": 10**9, "exponential": False}, "count": 0},
        ),
    ],
)
def test_what_an_application_does(workload: dict[str, Any], planned: dict[str, Any]) -> None:
    ((flow,),) = flows({"workload": workload})
    assert flow["workload"] == {"kind": workload["kind"], **planned}


def test_a_transport_is_a_word_or_a_table() -> None:
    for written in ("quic", {"kind": "quic"}):
        ((flow,),) = flows({"transport": written})
        assert flow["transport"] == {
            "kind": "quic", "payload_bytes": 1000, "ack_every": 2, "ack_delay_ns": 25_000_000, "handshake": True,
            "initial_rtt_ns": 333_000_000,
            "window_unit_bytes": 0,
        }  # fmt: skip
    ((flow,),) = flows({})
    assert flow["transport"] == {"kind": "tcp"}
