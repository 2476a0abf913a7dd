"""The benchmarks' own arithmetic."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from dumbbell import plan
from dumbbell.scenario import file

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

import callgrind
import floor
import instructions
import measure
import micro
import paired
import papers
import parts
import run
import scaling
import simulators

CRATES = Path(__file__).resolve().parent.parent / "crates"

#: `main` has 12 instructions of its own, 9 of them inlined from other files, and calls `work`, which has 7 and is named in
#: full where it is called. `work` calls `copy` of the C library, which has 5.
COUNTS = """\
positions: instr line
events: Ir
ob=(1) /bin/engine
fl=(1) main.rs
fn=(1) main
0x100 3 3
fi=(2) inlined.rs
+4 1 4
+4 0 2
fe=(1)
+4 3 3
cfn=(2) work
calls=2 0x200 9
* 4 24
fn=(2)
0x200 9 7
cob=(2) /lib/libc.so.6
cfn=(3) copy
calls=1 0x300 0
* 9 5
ob=(2)
fn=(3)
0x300 0 5
totals: {total}
"""
#: Of each address its files, the innermost inlined function's first: a ring in the link in the loop, the ring in the
#: loop, one whose trace the compiler lost, and `work`'s own.
FRAMES = """\
0x0000000000000100
main.rs:3
0x0000000000000104
/a/crates/net/src/ring.rs:1
/a/crates/net/src/fifo.rs:70
/a/crates/sim/src/world.rs:8
0x0000000000000108
/lib/core/src/cmp.rs:7
/a/crates/net/src/ring.rs:1
/a/crates/sim/src/world.rs:8 (discriminator 2)
0x000000000000010c
??:0
0x0000000000000200
/a/crates/cca/c/cubic.c:9
"""


def test_instructions_count_where_they_ran_and_a_call_counts_once() -> None:
    counts = callgrind.read(COUNTS.format(total=24).splitlines())
    assert callgrind.by_function(counts) == {"main": 12, "work": 7, "copy": 5}
    assert counts["/bin/engine", "main", 0x10C] == 3


def test_events_of_a_cache_are_counted_beside_the_instructions() -> None:
    events = {"events: Ir": "events: Ir I1mr", "+4 1 4": "+4 1 4 2", "* 4 24": "* 4 24 3", "0x300 0 5": "0x300 0 5 1"}
    counted = COUNTS.format(total="24 3")
    for alone, beside in events.items():
        counted = counted.replace(alone, beside)
    assert callgrind.read(counted.splitlines()) == callgrind.read(COUNTS.format(total=24).splitlines())
    assert callgrind.totals(counted.splitlines()) == {"Ir": 24, "I1mr": 3}


def test_counts_that_are_not_those_of_the_whole_program_are_refused() -> None:
    with pytest.raises(ValueError, match="counted 25 instructions, its lines have 24"):
        callgrind.read(COUNTS.format(total=25).splitlines())
    with pytest.raises(ValueError, match="wanted --dump-instr=yes"):
        callgrind.read(["positions: line"])


def test_inlined_instructions_belong_to_the_innermost_part_and_parts_add_up() -> None:
    counts = callgrind.read(COUNTS.format(total=24).splitlines())
    found = parts.by_part(counts, callgrind.frames(FRAMES.splitlines()), "/bin/engine")
    # What has no part around it (3 without a trace, 3 of a file that is none of ours) is the function's.
    assert {part: n for part, n in found.items() if n} == {
        "event loop and hosts": 8,
        "link": 4,
        "controller": 7,
        "C library: memory and copies": 5,
    }
    assert found.total() == counts.total()
    assert "| all | 24 |" in parts.table({"case": found})


def test_a_program_without_debug_information_is_refused() -> None:
    counts = callgrind.read(COUNTS.format(total=24).splitlines())
    with pytest.raises(ValueError, match="no debug information"):
        parts.by_part(counts, {}, "/bin/engine")


@pytest.mark.parametrize("begin", [begin for begins in parts.PARTS.values() for begin in begins] + list(parts.SHARED))
def test_each_file_that_a_part_is_told_by_exists(begin: str) -> None:
    is_foreign = begin.endswith("-") or begin == "serde"
    assert is_foreign or list(CRATES.glob(f"{begin}*")), begin


def test_a_case_is_compared_by_instructions_per_packet() -> None:
    now = {"instructions": 990.0, "misses": 6.66, "functions": {"f": 90.0}}
    before = {"instructions": 1000.0, "misses": 16.3, "functions": {"f": 100.0}}
    assert instructions.change(now, before) == pytest.approx(-1.0)
    assert instructions.misses(now, before) == pytest.approx(-9.64)
    assert instructions.misses(now, {"instructions": 1000.0}) == 0
    text = instructions.report("case", {**now, "packets": 1000}, before, 5)
    assert (
        "990.0 a packet (-1.00 %), of which 6.7 (-9.6) are not in the first cache of instructions; 1,000 packets"
        in text
    )
    assert "90.0 (-10.0)  f" in text


def peer(**changed: object) -> simulators.Peer:
    fields: dict = {
        "name": "peer",
        "what": "less",
        "program": ("peer",),
        "calls": {"cubic100": simulators.Call(seconds=10, arguments=())},
        "faster_build": "peer, optimised",
        "factors": {"cubic100": 2.0},
    }
    return simulators.Peer(**{**fields, **changed})


def costs(*cpu_s: float, packets: float) -> list[tuple[measure.Cost, float]]:
    return [(measure.Cost(cpu_s=one, wall_s=one, peak_mb=50), packets) for one in cpu_s]


def test_every_simulator_has_its_row_those_that_are_faster_too() -> None:
    case = run.CASES[0]
    ours = run.summary(case, "dumbbell", "all", costs(2.0, 1.6, 2.5, packets=4_960_000), case.duration_s)
    theirs = run.summary(case, "peer", "less", costs(0.2, 0.2, 0.2, packets=826_000), 10)
    slow = run.derived(peer(), case, theirs)
    *_, first, second, third = run.table([ours, theirs, *slow]).splitlines()
    assert first == (
        "| 1 Gbit/s, 100 CUBIC flows, 20 ms | dumbbell: all | 2,480,000 | 1,984,000 to 3,100,000 | 957.6 | 50 |  |"
    )
    assert second == "|  | peer: less | 4,130,000 | 4,130,000 to 4,130,000 | 956.8 | 50 | 0.6 |"
    assert third == "|  | peer, optimised (derived: times 2) | 8,260,000 |  |  |  | 0.3 |"
    assert run.derived(peer(factors={}), case, theirs) == []


def test_a_goodput_that_is_not_that_of_the_scenario_is_refused() -> None:
    with pytest.raises(ValueError, match=r"peer delivers 579\.2 of 1000 Mbit/s"):
        run.summary(run.CASES[0], "peer", "less", costs(1.0, packets=500_000), 10)
    with pytest.raises(ValueError, match="1158"):
        run.summary(run.CASES[0], "peer", "less", costs(1.0, packets=1_000_000), 10)


def test_what_a_peer_delivered_is_in_its_one_line_of_json() -> None:
    assert run.delivered('cmd select_ca cubic\n{"goodput_bytes": 2896}\ncmd select_ca cubic\n') == 2


def test_a_simulator_that_is_not_here_says_what_would_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(simulators.UnavailableError, match="HTSIM=DIR names a checkout"):
        simulators.htsim(None, tmp_path)
    with pytest.raises(simulators.UnavailableError, match="could not be built from"):
        simulators.htsim(tmp_path, tmp_path)
    with pytest.raises(simulators.UnavailableError, match=f"ns-3 could not be built: from {tmp_path}"):
        simulators.ns3(tmp_path, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(simulators.UnavailableError, match="package ns2"):
        simulators.ns2()


def test_a_table_says_where_it_was_made() -> None:
    assert re.search(r"processors, load .*; Linux .*; commit \w+.*; \d+ \w+ \d{4}$", measure.origin())


def kept(folder: Path, name: str, ns: float, at: float) -> None:
    new = folder / name / "new"
    new.mkdir(parents=True)
    interval = {"confidence_level": 0.95, "lower_bound": ns - 1, "upper_bound": ns + 1}
    median = {"point_estimate": ns, "confidence_interval": interval}
    (new / "benchmark.json").write_text(json.dumps({"full_id": f"part: {name}"}))
    (new / "estimates.json").write_text(json.dumps({"median": median}))
    os.utime(new / "estimates.json", (at, at))


def test_parts_alone_are_those_of_this_run_in_its_order(tmp_path: Path) -> None:
    kept(tmp_path, "second", 4, at=1002)
    kept(tmp_path, "of_a_run_before", 3, at=999)
    kept(tmp_path, "first", 12.25, at=1001)
    rows = micro.measured(tmp_path, since=1000)
    rows += micro.controllers("controller   ns per ACK (median of 9 runs)\ncubic        13.5\n\n")
    *_, first, second, third = micro.table(rows).splitlines()
    assert first == "| part: first | 12.2 | 11.2 to 13.2 |"
    assert second == "| part: second | 4.0 | 3.0 to 5.0 |"
    assert third == "| controller: an ACK, cubic | 13.5 |  |"


def test_each_line_of_the_floor_names_parts_of_the_engine() -> None:
    assert {part for _, who in floor.LINES for part in who} <= set(parts.PARTS)
    *_, engine, to_tcp, to_least = floor.table(
        "ns", list(floor.CASES[:1]), [[10, 20, 30, 40, 50, 100, 240.4]]
    ).splitlines()
    assert engine == "| the engine | 240 |"
    assert to_tcp == "| the engine to its TCP without losses | 2.4 |"
    assert to_least == "| the engine to events, bytes and controller | 4.8 |"
    every = dict.fromkeys(parts.PARTS, 10.0)
    _, _, first, *_, last = floor.beside(floor.CASES[0], [40, 60, 80, 100, 125, 900], every).strip().splitlines()
    assert first == "| events | 40 | 20 | event queue, event loop and hosts |"
    told = sum(len(who) for _, who in floor.LINES)
    assert last.startswith(f"| none of these | | {10 * (len(parts.PARTS) - told)} | ")


def test_long_runs_are_picked_as_often_as_they_matter() -> None:
    assert papers.picks([1, 1, 6, 1, 1], 5) == [1, 2, 2, 2, 4]
    assert papers.picks([10] * 6, 3) == [1, 3, 5]
    assert len(papers.picks([3, 1, 4, 1, 5, 9, 2, 6], 7)) == 7


def test_a_sample_stands_for_all_runs_by_their_weight() -> None:
    # Each unit of weight costs 2 s, without spread: the whole is known exactly, whatever was picked.
    assert papers.total([1, 5, 94], [(94, 188.0), (1, 2.0)]) == (pytest.approx(200.0), pytest.approx(0.0))
    whole, error = papers.total([50, 50], [(50, 50.0), (50, 150.0)])
    assert (whole, error) == (pytest.approx(200.0), pytest.approx(1.96 * 100 * 2**0.5 / 2**0.5))


def runs(costs: list[float]) -> list[paired.Run]:
    return [paired.Run(ns_per_packet=cost, digest="") for cost in costs]


def test_pairs_tell_a_change_that_is_smaller_than_the_noise() -> None:
    noise = [300.0, 420.0, 310.0, 500.0, 305.0, 460.0, 330.0, 400.0, 350.0, 380.0, 303.0]
    steps = [1.04, 1.06, 1.05, 1.05, 1.07, 1.03, 1.05, 1.04, 1.06, 1.2, 0.9]
    ratio = paired.compared(runs([cost * step for cost, step in zip(noise, steps)]), runs(noise))
    assert (ratio.median, ratio.low, ratio.high) == pytest.approx((1.05, 1.03, 1.07))


def test_too_few_pairs_tell_nothing_for_sure() -> None:
    assert paired.compared(runs([2.0] * 5), runs([1.0] * 5)).low == 0
    assert paired.compared(runs([2.0] * 6), runs([1.0] * 6)).low == pytest.approx(2.0)


def test_a_table_of_costs_says_how_much_dearer_each_row_is_than_the_cheapest() -> None:
    axis = scaling.Axis(name="flows", goal="flat", points=())
    rows = [
        scaling.Row(axis="flows", label=label, packets=2e6, ns_per_packet=cost)
        for label, cost in (("1", 250.0), ("10", 200.0))
    ]
    *_, first, second = scaling.table(axis, rows).splitlines()
    assert (first, second) == ("| 1 | 2,000,000 | 250 | 1.25 |", "| 10 | 2,000,000 | 200 | 1.00 |")


@pytest.mark.parametrize("point", [one for axis in scaling.AXES for one in axis.points], ids=lambda one: one.label)
def test_each_point_is_a_scenario_that_can_be_run(point: scaling.Point) -> None:
    loaded = file.from_file(scaling.HERE / "scenarios" / f"{point.scenario}.toml", overrides=point.overrides)
    assert len(plan.runs(loaded.scenario)) == 1


@pytest.mark.parametrize("case", paired.CASES, ids=lambda one: one.name)
def test_each_case_of_the_pairs_is_a_scenario_that_can_be_run(case: paired.Case) -> None:
    loaded = file.from_file(paired.HERE / "scenarios" / f"{case.scenario}.toml", overrides=case.overrides)
    assert len(plan.runs(loaded.scenario)) == 1
