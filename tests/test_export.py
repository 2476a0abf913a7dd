"""`dumbbell export perfetto`: the trace decoded with the format's own classes, and held against the tables.

Perfetto's trace processor, which would answer SQL, is a binary that no package registry has.
"""

from __future__ import annotations

import builtins
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import dumbbell
from conftest import SMALL, Cli
from dumbbell.errors import ResultError
from dumbbell.export import perfetto


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Result:
    text = SMALL.replace('["0.5bdp", "2bdp"]', '"0.5bdp"').replace('"2s"', '"5s"')
    (found,) = dumbbell.run(dumbbell.from_text(text), tmp_path_factory.mktemp("export") / "run")
    return found


class Read:
    """A trace by its tracks: path of the names, and its events."""

    def __init__(self, data: bytes) -> None:
        trace = Trace.FromString(data)
        described = {
            one.track_descriptor.uuid: one.track_descriptor for one in trace.packet if one.HasField("track_descriptor")
        }
        self.units = {one.name: one.counter.unit_name for one in described.values() if one.HasField("counter")}
        self.times = [one.timestamp for one in trace.packet if one.HasField("track_event")]
        self.tracks: dict[tuple[str, ...], list[tuple[int, Any]]] = {}
        for packet in trace.packet:
            if packet.HasField("track_event"):
                own = described[packet.track_event.track_uuid]
                above = (described[own.parent_uuid].name,) if own.parent_uuid else ()
                self.tracks.setdefault((*above, own.name), []).append((packet.timestamp, packet.track_event))


@pytest.fixture(scope="module")
def read(run: dumbbell.Result) -> Read:
    return Read(perfetto.trace(run))


def test_counters_are_the_samples(run: dumbbell.Result, read: Read) -> None:
    for flow, label in ((0, "flow 0: CUBIC"), (1, "flow 1: BBR")):
        mine = run.samples.filter(pc.equal(run.samples["flow"], flow))
        for name, column, factor in (
            ("cwnd", "cwnd", 1), ("in flight", "in_flight", 1), ("srtt", "srtt_us", 1e-3), ("pacing rate", "pacing_bps", 1e-6),
        ):  # fmt: skip
            wanted = [
                (t * 1000, value * factor)
                for t, value in zip(mine["t_us"].to_pylist(), mine[column].to_pylist())
                if value is not None
            ]
            found = [(t, event.double_counter_value) for t, event in read.tracks[label, name]]
            assert found == [(t, pytest.approx(value)) for t, value in wanted]
    queue = [event.double_counter_value for _, event in read.tracks["link bottleneck", "queue"]]
    assert queue == run.queue.filter(pc.equal(run.queue["link"], 0))["backlog_packets"].to_pylist()
    assert read.units["srtt"] == "ms"
    assert read.times == sorted(read.times)


def test_states_are_slices_that_follow_each_other(run: dumbbell.Result, read: Read) -> None:
    noted = run.events.filter(pc.and_(pc.equal(run.events["flow"], 1), pc.equal(run.events["kind"], "cca_state")))
    depth, names = 0, []
    for _, event in read.tracks["flow 1: BBR", "state of the controller"]:
        depth += 1 if event.type == TrackEvent.TYPE_SLICE_BEGIN else -1
        assert depth in (0, 1)
        names += [event.name] if event.type == TrackEvent.TYPE_SLICE_BEGIN else []
    assert depth == 0
    assert names == noted["note"].to_pylist()


def test_instants_are_the_events_and_arrows_lead_from_drops_to_later_retransmissions(
    run: dumbbell.Result, read: Read
) -> None:
    for flow, label in ((0, "flow 0: CUBIC"), (1, "flow 1: BBR")):
        mine = run.events.filter(pc.equal(run.events["flow"], flow))
        wanted = Counter(perfetto.INSTANTS[kind] for kind in mine["kind"].to_pylist() if kind in perfetto.INSTANTS)
        events = read.tracks[label, "events"]
        assert Counter(event.name for _, event in events) == wanted
        began = {arrow: t for t, event in events for arrow in event.flow_ids}
        dropped = mine.filter(pc.equal(mine["kind"], "drop_queue"))["value"].to_pylist()
        assert len(began) == sum(dropped) > 0
        ended = [(arrow, t, event.name) for t, event in events for arrow in event.terminating_flow_ids]
        assert ended
        assert len({arrow for arrow, _, _ in ended}) == len(ended)
        assert all(began[arrow] < t and name == "retransmission" for arrow, t, name in ended)
        # A drop is noticed after a round trip at least: nothing is matched with a retransmission of the same moment.
        assert min(t - began[arrow] for arrow, t, _ in ended) >= 20_000_000 / 2


def test_the_command_writes_one_run_and_refuses_several(
    run: dumbbell.Result, cli: Cli, small: Path, tmp_path: Path
) -> None:
    done = cli("export", "perfetto", run.folder, "-o", "x.pftrace")
    assert (done.returncode, done.stdout) == (0, "x.pftrace\n"), done.stderr
    assert (tmp_path / "x.pftrace").read_bytes() == perfetto.trace(run)
    assert cli("run", small, "--out", "two", "-q").returncode == 0
    done = cli("export", "perfetto", "two", "-o", "y.pftrace")
    assert done.returncode == 2
    assert 'RUN: got "two", wanted the folder of one run; it holds 2: ' in done.stderr
    assert not (tmp_path / "y.pftrace").exists()


def test_without_the_package_the_error_says_how_to_get_it(
    run: dumbbell.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **named: Any) -> Any:
        if name.startswith("perfetto"):
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ResultError, match=r"pip install 'dumbbell\[perfetto\]'"):
        perfetto.trace(run)
