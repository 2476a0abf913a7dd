"""L4S: Prague beside CUBIC over the queues that RFC 9332 and its critics speak of, with bounds that a sound
implementation keeps: coexistence, the delay of the low-latency queue, and the known failures.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
import pytest

from closed_form import Runner
from dumbbell.results.load import Result

DUALPI2 = '{ kind = "dualpi2", min_qlen_step = 2 }'
CODEL = '{ kind = "codel", ecn = true }'
ONE_BUCKET = '{ kind = "fq_codel", ecn = true, flows = 1 }'


def pair(qdisc: str, *, rate: str = "40Mbps", rtt: str = "5ms", peer: str = "accurate") -> str:
    """A Prague and a CUBIC flow for 30 s, both with ECN."""
    return f"""
duration = "30s"
path = {{ rate = "{rate}", rtt = "{rtt}", qdisc = {qdisc} }}
flow = [{{ cca = "prague", host = {{ ecn = "{peer}" }} }}, {{ cca = "cubic", host = {{ ecn = "classic" }} }}]
"""


def share(result: Result) -> float:
    """Prague's part of what both delivered."""
    prague, cubic = result.flows["goodput_bytes"].to_pylist()
    return float(prague / (prague + cubic))


def delay_ms(result: Result, base_ms: float) -> float:
    """99th percentile of Prague's RTT above that of the path, after 5 s."""
    samples = result.samples
    rows = samples.filter(pc.and_(pc.equal(samples["flow"], 0), pc.greater(samples["t_us"], 5_000_000)))
    return float(np.percentile(rows["rtt_us"].to_numpy(), 99)) / 1000 - base_ms


@pytest.mark.parametrize(
    ("rate", "rtt"), [("12Mbps", "5ms"), ("40Mbps", "5ms"), ("40Mbps", "10ms"), ("120Mbps", "5ms")]
)
def test_prague_and_cubic_share_a_dualpi2_link_within_a_factor_of_two(ran: Runner, rate: str, rtt: str) -> None:
    assert 1 / 3 < share(ran(pair(DUALPI2, rate=rate, rtt=rtt))) < 2 / 3


def long_pair(rtt_ms: int) -> str:
    """A Prague and a CUBIC flow for 300 s at 40 Mbit/s; CUBIC's sawtooth takes seconds."""
    return f"""
duration = "300s"
path = {{ rate = "40Mbps", rtt = "{rtt_ms}ms", qdisc = {DUALPI2} }}
flow = [{{ cca = "prague" }}, {{ cca = "cubic", start = "137ms" }}]
measure = {{ from = "60s" }}
"""


def reductions(result: Result) -> np.ndarray:
    """When a mark reduced Prague's window, s: as TCP enters CWR, and not sooner than 25 ms after the last time."""
    times: list[float] = []
    events = result.events.filter(pc.and_(pc.equal(result.events["flow"], 0), pc.equal(result.events["note"], "CWR")))
    for at in events["t_ns"].to_numpy() / 1e9:
        if not times or at - times[-1] >= 0.025:
            times.append(at)
    return np.array(times)


@pytest.mark.parametrize(("rtt_ms", "rounds_apart"), [(5, 5.2), (20, 2.1), (50, 1.2), (100, 1.2)])
def test_prague_shares_by_its_reductions_which_come_in_whole_rounds(
    rtt_ms: int, rounds_apart: float, ran: Runner
) -> None:
    """Growth is what reductions by half the share of marks take away: window times marks times reductions a round is
    twice the growth of a round, which is a segment from 25 ms on. The rounds from one reduction to the next are as
    many as last 25 ms, and those without marks (docs/cca/prague.md).
    """
    result = ran(long_pair(rtt_ms))
    samples, events = (
        table.filter(pc.and_(pc.equal(table["flow"], 0), pc.greater(table[at], after)))
        for table, at, after in ((result.samples, "t_us", 60_000_000), (result.events, "t_ns", 60_000_000_000))
    )
    delivered = samples["delivered"].to_numpy()
    marks = events["kind"].to_pylist().count("ecn_mark") / (delivered[-1] - delivered[0])
    rtt = samples["srtt_us"].to_numpy().mean() / 1e6
    reduced = reductions(result)
    a_round = np.count_nonzero(reduced > 60) / (240 / rtt)
    growth = min(1, rtt / 0.025) ** 2
    assert samples["cwnd"].to_numpy().mean() * marks * a_round == pytest.approx(2 * growth, rel=0.06)
    assert np.median(np.diff(reduced[reduced > 60])) / rtt == pytest.approx(rounds_apart, rel=0.05)


@pytest.mark.parametrize(("rtt_ms", "lowest", "highest"), [(5, 1 / 3, 2 / 3), (20, 2 / 3, 0.72), (50, 1 / 3, 2 / 3)])
def test_prague_has_most_beside_cubic_where_its_rtt_is_near_the_target(
    rtt_ms: int, lowest: float, highest: float, ran: Runner
) -> None:
    """The 15 ms of queue in CUBIC's RTT count most there: against RTT or target, whichever is longer."""
    result = ran(long_pair(rtt_ms))
    assert lowest < share(result) < highest
    samples = result.samples
    cubic = samples.filter(pc.and_(pc.equal(samples["flow"], 1), pc.greater(samples["t_us"], 60_000_000)))
    delivered = cubic["delivered"].to_numpy()
    events = result.events
    queue_drops = pc.and_(pc.equal(events["flow"], 1), pc.equal(events["kind"], "drop_queue"))
    drops = events.filter(pc.and_(queue_drops, pc.greater(events["t_ns"], 60_000_000_000))).num_rows
    window = cubic["cwnd"].to_numpy().mean() * (drops / (delivered[-1] - delivered[0])) ** 0.5
    # CUBIC is in its Reno-friendly region up to 20 ms: its window is Reno's, 1.22 over the root of its losses.
    assert (abs(window / 1.22 - 1) < 0.05) == (rtt_ms <= 20)


@pytest.mark.parametrize(("rate", "rtt_ms"), [("40Mbps", 5), ("40Mbps", 20), ("120Mbps", 20)])
def test_prague_waits_less_than_two_milliseconds_in_the_low_latency_queue(ran: Runner, rate: str, rtt_ms: int) -> None:
    result = ran(pair(DUALPI2, rate=rate, rtt=f"{rtt_ms}ms"))
    assert 0 < delay_ms(result, rtt_ms) < 2
    cubic = result.samples.filter(pc.equal(result.samples["flow"], 1))["srtt_us"].to_numpy()
    assert np.nanmedian(cubic) / 1000 - rtt_ms > 5  # which waits in the other queue


def test_a_single_queue_with_classic_marks_gives_prague_nearly_everything(ran: Runner) -> None:
    assert share(ran(pair(CODEL, rtt="20ms"))) > 0.8


def test_flows_of_one_tunnel_share_one_queue_of_fq_codel_and_so_do_their_marks(ran: Runner) -> None:
    tunnel, single = ran(pair(ONE_BUCKET, rtt="20ms")), ran(pair(CODEL, rtt="20ms"))
    assert tunnel.flows["goodput_bytes"] == single.flows["goodput_bytes"]
    assert abs(share(ran(pair('{ kind = "fq_codel", ecn = true }', rtt="20ms"))) - 0.5) < 0.05


def test_with_a_classic_peer_prague_is_a_classic_flow(ran: Runner) -> None:
    result = ran(pair(DUALPI2, rtt="20ms", peer="classic"))
    states = set(result.samples.filter(pc.equal(result.samples["flow"], 0))["cca_state"].to_pylist()) - {None}
    assert states == {"CLASSIC"}
    assert 0.2 < share(result) < 0.8
    assert any("paced Reno" in warning for warning in result.warnings)


def test_pragues_share_does_not_depend_on_an_rtt_below_the_target(ran: Runner) -> None:
    text = f"""
duration = "30s"
path = {{ rate = "40Mbps", rtt = "5ms", qdisc = {DUALPI2} }}
flow = [{{ cca = "prague" }}, {{ cca = "prague", rtt = "20ms" }}]
"""
    assert 0.35 < share(ran(text)) < 0.65


@pytest.mark.parametrize("cca", ["prague", "dctcp", "bbr"])
def test_what_a_run_does_does_not_depend_on_how_often_it_is_sampled(ran: Runner, cca: str) -> None:
    # Pacing timers fire together with others that are near (fq, TSO): samples are not among them.
    scenario = f"""
duration = "2s"
path = {{ rate = "100Mbps", rtt = "5ms", buffer = "4bdp", qdisc = {{ kind = "codel", ecn = true, ce_threshold = "100us" }} }}
host = {{ ecn = "classic" }}
flow = [{{ cca = "{cca}" }}]
record = {{ every = "EVERY" }}
"""
    runs = [ran(scenario.replace("EVERY", every)) for every in ("100ms", "10ms", "1ms")]
    counted = [run.flows.to_pylist() for run in runs]
    assert counted[0][0]["delivered_segs"] > 3000
    assert counted[0] == counted[1] == counted[2]
