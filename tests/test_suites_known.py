"""Known answers of the suites: what published runs, papers, and several seeds here say of controllers in their places.

A place is a file of a suite with single values; the bounds are those of the file, figures are read from its runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import dumbbell
from conftest import Cli
from dumbbell import ScenarioError, metrics
from dumbbell.errors import OutError
from dumbbell.results.result import Result
from dumbbell.scenario.file import from_file


def runs(place: str, *overrides: str) -> list[Result]:
    """The runs of a file of a suite, with other values."""
    return list(dumbbell.run(from_file(f"gallery:suites/{place}", overrides=overrides).scenario))


def run(place: str, *overrides: str) -> Result:
    """The only run of a place."""
    (one,) = runs(place, *overrides)
    return one


def mbps(result: Result, flow: int) -> float:
    """Goodput in the measured part."""
    return metrics.goodput_bps(result, flow, result.plan.window) / 1e6


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that the tests share."""
    return tmp_path_factory.mktemp("store")


def words(place: str, candidate: str, store: Path, *overrides: str) -> dict[str, dict[str, set[str]]]:
    """The words of a file, by the names of its expectations and their severity."""
    said: dict[str, dict[str, set[str]]] = {}
    file = f"gallery:suites/{place}"
    for line in dumbbell.verify(file, candidate=candidate, overrides=overrides, store=store):
        of_name = said.setdefault(line.asked.name, {"fail": set(), "warn": set()})
        of_name[line.asked.table.severity].add(line.word)
    return said


def grades(place: str, candidate: str, store: Path, *overrides: str) -> dict[str, str]:
    """The worst word of each name of expectations: pass, concern or fail."""
    return {
        name: "fail" if "fails" in of["fail"] else "concern" if "fails" in of["warn"] else "pass"
        for name, of in words(place, candidate, store, *overrides).items()
    }


# rfc9743, 7.6: misbehaving receivers (Savage et al., 1999)


def test_divided_and_repeated_acks_gain_nothing_with_linuxs_counting(store: Path) -> None:
    for candidate in ("reno", "cubic", "bbr", "bbr3"):
        said = grades("rfc9743/7.6-acks", candidate, store, "repetitions=2", "duration=40s")
        assert "fail" not in said.values(), (candidate, said)


@pytest.mark.parametrize(
    ("candidate", "ahead", "share", "loss"),
    [
        ("reno", 0, (0, 0.03), (0.6, 0.7)), ("cubic", 0, (0, 0.03), (0.6, 0.7)), ("bbr", 0, (0, 0.03), (0.6, 0.7)),
        ("bbr3", 0, (0, 0.03), (0.6, 0.7)), ("reno", 10, (0, 0.03), (0.6, 0.7)), ("bbr", 10, (0.65, 0.9), (0, 0.01)),
        ("bbr3", 10, (0.65, 0.9), (0, 0.01)),
    ],
)  # fmt: skip
def test_hidden_losses_take_the_link_from_a_rival_and_a_round_trip_that_is_too_short_does_not(
    candidate: str, ahead: int, share: tuple[float, float], loss: tuple[float, float]
) -> None:
    receiver = f'flow[1].receiver={{ kind = "optimistic_acks", ahead = {ahead} }}'
    one = run("rfc9743/7.6-optimistic-acks", f"flow[1].cca={candidate}", receiver, "repetitions=1", "duration=40s")
    rival, candidate_mbps = mbps(one, 0), mbps(one, 1)
    assert share[0] <= rival / (rival + candidate_mbps) <= share[1]
    assert loss[0] <= metrics.loss_rate(one, one.plan.window) <= loss[1]


# nsperf


@pytest.mark.parametrize(
    ("candidate", "buffer", "least", "most"),
    [
        ("bbr", "0.1bdp", 42, 47), ("bbr", "1bdp", 40, 46), ("bbr", "4bdp", 16, 25), ("bbr", "16bdp", 15, 22),
        ("bbr2", "1bdp", 12, 22), ("bbr2", "16bdp", 15, 24), ("bbr3", "0.1bdp", 24, 35), ("bbr3", "1bdp", 23, 34),
        ("bbr3", "16bdp", 15, 24),
    ],
)  # fmt: skip
def test_nsperf_coexist_gives_the_newcomer_its_share_by_buffer(
    candidate: str, buffer: str, least: float, most: float
) -> None:
    one = run("nsperf/1-coexist", f"flow[1].cca={candidate}", f"path.buffer={buffer}")
    assert least <= mbps(one, 1) <= most


def test_nsperf_random_loss_has_its_cliff_between_1_and_2_percent_for_bbr2_and_bbr3(store: Path) -> None:
    short = ("duration=20s", "repetitions=1")
    for candidate, first in (("bbr2", "2%"), ("bbr3", "2%"), ("bbr", "20%")):
        before = {"2%": "1%", "20%": "15%"}[first]
        said = grades("nsperf/2-random-loss", candidate, store, *short, f"path.loss={before}")
        assert said["half of the link"] == "pass", candidate
        said = grades("nsperf/2-random-loss", candidate, store, *short, f"path.loss={first}")
        assert said["half of the link"] == "concern", candidate


def test_nsperf_shallow_tells_bbr_from_its_successors(store: Path) -> None:
    # BBRv3 is at 0.7 to 1.3 % over seeds, and the bound at 1 %: one run alone may be on either side.
    brief = ("flow[0].count=10", "duration=20s", "measure.from=10s", "repetitions=4")
    wanted = {"bbr": "fail", "bbr3": "pass", "bbr2": "pass", "cubic": "pass"}
    for candidate, grade in wanted.items():
        assert grades("nsperf/3-shallow", candidate, store, *brief)["retransmitted"] == grade, candidate


def test_nsperf_bufferbloat_is_cubics_and_not_bbrs(store: Path) -> None:
    for candidate, grade in (("cubic", "fail"), ("bbr", "pass"), ("bbr3", "pass")):
        said = grades("nsperf/4-bufferbloat", candidate, store, "path.buffer=50bdp", "duration=60s")
        assert said["median RTT"] == grade, candidate


def test_nsperf_ecn_bulk_needs_a_reaction_to_marks(store: Path) -> None:
    few, many = ("repetitions=1", "flow[0].count=10", "duration=5s"), ("repetitions=1", "flow[0].count=100")
    for candidate, place, grade in (
        ("dctcp", few, "pass"), ("bbr3", few, "pass"), ("bbr2", few, "fail"), ("bbr", few, "fail"),
        ("dctcp", many, "pass"), ("bbr3", many, "fail"),
    ):  # fmt: skip
        assert grades("nsperf/5-ecn-bulk", candidate, store, *place)["median RTT"] == grade, (candidate, place)


# l4s

#: Published, Mbit/s: near and far controller, their RTTs, queue discipline, near and far goodput.
S1 = [
    ("prague", "cubic", "20ms", "20ms", "dualpi2", 31.9, 15.5),
    ("prague", "cubic", "80ms", "80ms", "dualpi2", 29.9, 17.5),
    ("prague", "cubic", "10ms", "160ms", "dualpi2", 41.7, 4.9),
    ("cubic", "cubic", "10ms", "160ms", "dualpi2", 36.5, 10.7),
    ("cubic", "prague", "10ms", "160ms", "dualpi2", 37.3, 10.1),
    ("cubic", "cubic", "10ms", "160ms", "fifo", 30.3, 17.2),
    ("cubic", "prague", "20ms", "20ms", "fq_codel", 23.8, 23.5),
]


@pytest.mark.parametrize("published", S1)
def test_l4s_s1_is_within_15_percent_of_the_published_rates(published: tuple[Any, ...]) -> None:
    near, far, near_rtt, far_rtt, qdisc, *rates = published
    one = run(
        "l4s/S1-both", f"flow[0].cca={near}", f"flow[1].cca={far}", f"flow[0].rtt={near_rtt}", f"flow[1].rtt={far_rtt}",
        f"path.qdisc={qdisc}", "path.rate=50Mbps", "path.buffer=1000pkt", "together=[]",
    )  # fmt: skip
    assert [mbps(one, 0), mbps(one, 1)] == [pytest.approx(rate, rel=0.15) for rate in rates]


def test_l4s_s6_has_prague_take_ten_times_as_much_in_every_rfc_3168_queue() -> None:
    for one in runs("l4s/S6-rfc3168-queues", "flow[0].host={ ecn = true }"):
        assert mbps(one, 1) >= 10 * mbps(one, 0), one.vary


def test_l4s_s5_fails_prague_and_passes_cubic(store: Path) -> None:
    for candidate, grade in (("prague", "fail"), ("cubic", "pass")):
        assert grades("l4s/S5-tunnel", candidate, store)["share of the rival"] == grade


# rfc7928


def test_rfc7928_has_so_many_flows_that_drop_tail_loses_a_tenth_a_half_and_one_percent() -> None:
    drops = [
        metrics.loss_rate(one, one.plan.window)
        for one in runs("rfc7928/8.2.2-congestion", "flow[0].cca=reno", "path.qdisc=fifo")
    ]
    assert drops == [pytest.approx(share, rel=0.25) for share in (0.001, 0.005, 0.01)]


def test_rfc7928_short_flows_from_three_segments_take_a_round_trip_longer_than_from_ten() -> None:
    one = run("rfc7928/5.1.2-different-windows", "path.qdisc=fq_codel", "repetitions=1", "duration=60s", "measure.from=20s",
              'flow[2].arrivals.until="55s"', 'flow[3].arrivals.until="55s"')  # fmt: skip
    names = [flow.name for flow in one.plan.flows]
    ten, three = (
        median(metrics.completion_times_s(one, [i for i, name in enumerate(names) if name == which]))
        for which in ("candidate-short", "candidate-short-three")
    )
    assert three - ten == pytest.approx(0.1, abs=0.03)


# cubic-9438


def test_cubic_has_the_windows_of_rfc_9438_table_1(store: Path) -> None:
    for file in ("4.3-reno-friendly", "5.1-response-long"):
        assert set(grades(f"cubic-9438/{file}", "cubic", store, "repetitions=1").values()) == {"pass"}, file


def test_reno_has_no_cubic_response_at_long_rtts_and_its_own_at_short_ones(store: Path) -> None:
    assert set(grades("cubic-9438/5.1-response-long", "reno", store).values()) == {"fail"}
    assert set(grades("cubic-9438/4.3-reno-friendly", "reno", store).values()) == {"pass"}


@pytest.mark.parametrize(
    ("file", "candidate", "overrides", "said"),
    [
        ("4.6-loss", "cubic", (), {"pass"}),
        ("4.6-loss", "cubic", ("flow[0].params={ beta = 820 }",), {"concern"}),
        ("4.6-loss", "reno", (), {"concern"}),
        ("4.6-ecn", "cubic", (), {"pass"}),
        ("4.6-ecn", "bbr3", (), {"fail"}),
        ("4.7-fast-convergence", "cubic", (), {"pass"}),
        ("4.7-fast-convergence", "cubic", ("flow[0].params={ fast_convergence = 0 }",), {"concern"}),
        ("4.4-concave", "cubic", (), {"pass"}),
        ("4.4-concave", "reno", (), {"fail"}),
        ("4.5-convex", "cubic", (), {"pass"}),
        ("4.5-convex", "reno", (), {"pass", "fail"}),
        ("4.2-idle", "cubic", (), {"pass"}),
        ("4.8-timeout", "cubic", (), {"pass", "concern"}),
        ("4.8-timeout", "reno", (), {"pass"}),
        ("4.10-slow-start", "cubic", (), {"pass"}),
        ("4.10-slow-start", "reno", (), {"pass", "concern"}),
        ("5.8-app-limited", "cubic", (), {"pass"}),
    ],
)
def test_a_conformance_point_of_rfc_9438(
    file: str, candidate: str, overrides: tuple[str, ...], said: set[str], store: Path
) -> None:
    assert set(grades(f"cubic-9438/{file}", candidate, store, *overrides).values()) == said


# slow-start


@pytest.mark.parametrize(
    ("rate", "rtt", "buffer", "reno", "cubic"),
    [
        ("10Mbps", "50ms", "0.5bdp", 60, 60), ("50Mbps", "200ms", "0.5bdp", 914, 876),
        ("10Mbps", "50ms", "2bdp", 124, 7), ("50Mbps", "200ms", "2bdp", 2478, 124),
    ],
)  # fmt: skip
def test_slow_start_loses_what_it_overshoots(rate: str, rtt: str, buffer: str, reno: int, cubic: int) -> None:
    for cca, wanted in (("reno", reno), ("cubic", cubic)):
        place = (f"path.rate={rate}", f"path.rtt={rtt}", f"path.buffer={buffer}")
        one = run("slow-start/1-overshoot", f"flow[0].cca={cca}", *place)
        events = one.events.to_pylist()
        losses = [(row["t_ns"], row["value"]) for row in events if row["kind"] == "loss_detected"]
        until = losses[0][0] + 3 * one.plan.flows[0].rtt_ns
        assert sum(count for t_ns, count in losses if t_ns <= until) == pytest.approx(wanted, rel=0.1, abs=3), cca


def test_hystart_saves_nothing_in_shallow_buffers_and_most_in_deep_ones(store: Path) -> None:
    for buffer, grade in (("0.5bdp", "concern"), ("2bdp", "pass")):
        place = ("path.rate=50Mbps", "path.rtt=200ms", f"path.buffer={buffer}")
        assert grades("slow-start/1-overshoot", "cubic", store, *place) == {"retransmitted in 30 RTTs": grade}


# What is printed, and qlogs


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A suite of one file without references."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "1-pair.toml").write_text(
        'name = "1-pair"\nduration = "1s"\nrepetitions = 2\n'
        'path = { rate = "5Mbps", rtt = "20ms", buffer = ["1bdp", "4bdp"] }\nhost = { start_jitter = "20ms" }\n'
        'flow = [{ name = "candidate", cca = "cubic" }, { name = "rival", cca = "reno" }]\n'
        '[[expect]]\nthat = "share of candidate >= 1%"\n'
        '[[expect]]\nthat = "share of rival >= 1 x share of rival with candidate=reno +- 90%"\n',
        encoding="utf-8",
    )
    (folder / "suite.toml").write_text('title = "Own"\n[[section]]\nnumber = "1"\ntitle = "A pair"\n', encoding="utf-8")
    return folder


def test_a_suite_says_its_cost_before_it_starts_and_what_the_store_has(own: Path, cli: Cli) -> None:
    first = cli("suite", own, "cubic", "--profile", "full", "--store", "store")
    assert first.returncode == 0, first.stderr
    assert "profile full: 1 files, 8 runs, less than a second on " in first.stderr
    assert "8 runs (8 in the store)" in cli("suite", own, "cubic", "--profile", "full", "--store", "store").stderr


def test_a_suite_without_references_has_the_candidate_alone(own: Path, cli: Cli) -> None:
    from dumbbell.report.evaluation import page

    said = dumbbell.evaluate("bbr", suite=str(own), store=own / "store")
    assert said.chapters[0].grade == "pass"
    assert "References" not in page(said)
    assert cli("suite", own, "bbr", "--store", "store", "-q").stdout.count("pass") == 1


def test_qlogs_are_those_of_the_candidates_own_runs_with_an_index(own: Path) -> None:
    folder = own / "qlogs"
    how: dict[str, Any] = {"suite": str(own), "profile": "full", "store": own / "store", "qlogs": folder}
    dumbbell.evaluate("bbr", **how)
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))["qlogs"]
    names = [f"1-pair_buffer={buffer}_r{n}.sqlog" for buffer in ("1bdp", "4bdp") for n in range(2)]
    assert [entry["qlog"] for entry in index] == names
    assert {path.name for path in folder.iterdir()} == {*names, "index.json", "README.md"}
    assert [flow["cca"] for flow in index[0]["flows"]] == ["bbr", "reno"]
    assert {line["verdict"] for line in index[0]["verdicts"]} == {"holds"}
    first = (folder / names[0]).read_text(encoding="utf-8")
    assert "flow0: bbr over TCP" in first
    assert "quic:recovery_metrics_updated" in first
    with pytest.raises(OutError, match="has qlogs already; --force replaces them"):
        dumbbell.evaluate("bbr", **how)
    dumbbell.evaluate("vegas", **how, force=True, overrides=["path.buffer=1bdp"])
    assert {path.suffix for path in folder.iterdir()} == {".sqlog", ".json", ".md"}
    assert len(list(folder.glob("*.sqlog"))) == 2


def test_qlogs_of_real_linux_are_refused_before_anything_runs(own: Path) -> None:
    with pytest.raises(ScenarioError, match="--qlogs: got --on uml, wanted --on sim"):
        dumbbell.evaluate("bbr", suite=str(own), on="uml", qlogs=own / "qlogs")
    (own / "full").mkdir()
    (own / "full/mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(OutError, match="holds something else"):
        dumbbell.evaluate("bbr", suite=str(own), qlogs=own / "full")
