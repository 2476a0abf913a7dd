"""Recordings of rate, delay and loss: what their files say, what a scenario makes of them, and what is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from closed_form import rows
from dumbbell import ScenarioError, from_text, plan
from dumbbell.backends import tc

TABLE = "time_s,rate_mbps,rtt_ms,loss_percent\n0,20,40,0\n2,5,80,0.5\n4,30,20,0\n6,10,60,1\n"
HEAD = 'duration = "{duration}"\n[path]\nrate = "10Mbps"\nrtt = "20ms"\nbuffer = "50pkt"\n'
FLOW = '[[flow]]\ncca = "reno"\n'
MS = 1_000_000


def planned(folder: Path, path: str, *, duration: str = "4s", flow: str = FLOW) -> Any:
    """The plan of a scenario whose path has these lines."""
    written = {line.split("=")[0].strip() for line in path.splitlines() if line}
    head = "\n".join(
        line for line in HEAD.format(duration=duration).splitlines() if line.split("=")[0].strip() not in written
    )
    return plan.runs(from_text(f"{head}\n{path}\n{flow}", folder=folder))[0].plan


def refusal(folder: Path, text: str, line: str, *, duration: str = "4s") -> str:
    (folder / "r").write_bytes(text.encode("latin-1"))
    with pytest.raises(ScenarioError) as caught:
        planned(folder, line, duration=duration)
    return str(caught.value).replace(str(folder), "")


def delays(made: Any, way: str = "forward") -> Any:
    return next(stage for stage in made["flows"][0][way] if stage["kind"] == "delay")


def test_one_table_gives_rate_rtt_and_loss_at_the_same_times(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(TABLE)
    named = '{ trace = "r.csv", repeat = true }'
    made = planned(tmp_path, f"rate = {named}\nrtt = {named}\nloss = {named}", duration="20s")
    link, loss = made["links"][0], made["flows"][0]["forward"][0]
    times = [0, 2 * 10**9, 4 * 10**9, 6 * 10**9]
    assert link["steps"] == list(zip(times, (20_000_000, 5_000_000, 30_000_000, 10_000_000)))
    for way in ("forward", "back"):
        assert delays(made, way)["steps"] == list(zip(times, (20 * MS, 40 * MS, 10 * MS, 30 * MS)))
    assert loss["steps"] == list(zip(times, (0, 5_000_000, 0, 10_000_000)))
    # The last row lasts as long as the one before it.
    assert link["repeat_ns"] == delays(made)["repeat_ns"] == loss["repeat_ns"] == 8 * 10**9


def test_a_buffer_in_bdp_counts_the_means_of_the_recordings(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(TABLE)
    named = '{ trace = "r.csv", repeat = true }'
    made = planned(tmp_path, f'rate = {named}\nrtt = {named}\nbuffer = "1bdp"', duration="20s")
    mean_bps, mean_rtt_s = (20 + 5 + 30 + 10) / 4 * 1e6, (40 + 80 + 20 + 60) / 4 / 1e3
    assert made["links"][0]["qdisc"]["limit_bytes"] == int(mean_bps * mean_rtt_s / 8)
    assert made["flows"][0]["rtt_ns"] == mean_rtt_s * 1e9


def test_a_run_may_begin_within_a_recording(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(TABLE)
    made = planned(tmp_path, 'rtt = { trace = "r.csv", offset = "3s", repeat = true }', duration="20s")
    assert delays(made)["steps"] == [(0, 40 * MS), (10**9, 10 * MS), (3 * 10**9, 30 * MS), (5 * 10**9, 20 * MS),
                                     (7 * 10**9, 40 * MS)]  # fmt: skip
    cut = planned(tmp_path, 'rtt = { trace = "r.csv", offset = "3s", repeat = false }', duration="20s")
    assert delays(cut)["steps"] == [(0, 40 * MS), (10**9, 10 * MS), (3 * 10**9, 30 * MS)]
    assert delays(cut)["repeat_ns"] is None


def test_straight_lines_are_steps_of_the_length_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("time_ms,delay_ms\n0,10\n40,50\n80,50\n")
    made = planned(tmp_path, 'delay = { trace = "r.csv", interpolate = "10ms", repeat = false }')
    assert delays(made)["steps"] == [(0, 10 * MS), (10 * MS, 20 * MS), (20 * MS, 30 * MS), (30 * MS, 40 * MS),
                                     (40 * MS, 50 * MS)]  # fmt: skip


def test_each_direction_has_its_own_delay(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("time_ms,delay_down_ms,delay_up_ms\n0,10,5\n100,20,7\n")
    both = 'delay = { trace = "r.csv", repeat = true }\nup = { delay = { trace = "r.csv", repeat = true } }'
    made = planned(tmp_path, both)
    assert delays(made)["steps"] == [(0, 10 * MS), (100 * MS, 20 * MS)]
    assert delays(made, "back")["steps"] == [(0, 5 * MS), (100 * MS, 7 * MS)]
    assert made["flows"][0]["rtt_ns"] == (10 + 20) // 2 * MS + (5 + 7) * MS // 2


def test_a_path_with_both_delays_needs_no_rtt(tmp_path: Path) -> None:
    text = 'duration = "1s"\n[path]\nrate = "1Mbps"\nbuffer = "9pkt"\ndelay = "30ms"\nup = { delay = "12ms" }\n' + FLOW
    made = plan.runs(from_text(text, folder=tmp_path))[0].plan
    assert (delays(made)["ns"], delays(made, "back")["ns"]) == (30 * MS, 12 * MS)
    assert made["flows"][0]["rtt_ns"] == 42 * MS


def test_a_flow_has_no_rtt_next_to_a_delay_of_the_path(tmp_path: Path) -> None:
    with pytest.raises(
        ScenarioError, match=r'^flow\[0\]\.rtt: got "9ms", wanted no RTT of its own next to path\.delay'
    ):
        planned(tmp_path, 'delay = "30ms"', flow=FLOW + 'rtt = "9ms"\n')


def test_parts_of_a_chain_take_recordings_too(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(TABLE)
    loss = '{ kind = "loss", trace = "r.csv", repeat = true }'
    more = '{ kind = "delay", time = { trace = "r.csv", column = "rtt_ms", repeat = true } }'
    made = planned(tmp_path, f'impair = [{loss}, {more}, {{ kind = "links" }}]', duration="20s")
    lossy, delay = made["flows"][0]["forward"][:2]
    assert [share for _, share in lossy["steps"]] == [0, 5_000_000, 0, 10_000_000]
    assert [ns for _, ns in delay["steps"]] == [40 * MS, 80 * MS, 20 * MS, 60 * MS]


def test_leoreplayers_delays_hold_for_10_ms_each_and_both_ways(tmp_path: Path) -> None:
    (tmp_path / "delay_1.txt").write_text("24\n18\n18\n30\n")
    made = planned(tmp_path, 'rtt = { trace = "delay_1.txt", repeat = true }')
    expected = [(0, 24 * MS), (10 * MS, 18 * MS), (30 * MS, 30 * MS)]
    assert delays(made)["steps"] == delays(made, "back")["steps"] == expected
    assert delays(made)["repeat_ns"] == 40 * MS


def test_cellreplays_delays_are_one_way_and_its_last_line_ends_the_recording(tmp_path: Path) -> None:
    (tmp_path / "down").write_text("100 20 0 1 1\n250 40 0 2\n400 10 0 0 1\n")
    made = planned(tmp_path, 'delay = { trace = "down", repeat = true }')
    assert delays(made)["steps"] == [(0, 20 * MS), (250 * MS, 40 * MS)]
    assert delays(made)["repeat_ns"] == 400 * MS
    assert delays(made, "back")["ns"] == 10 * MS


#: Of LeoReplayer's and CellReplay's forms, and of tables: a file, a line of the path, and the refusal.
REFUSED = {
    "no-header": ("0,10\n1,20\n", 'rtt = { trace = "r" }', "it has 2 columns of numbers without a heading"),
    "no-unit": ("time_s,rtt\n0,10\n", 'rtt = { trace = "r" }', "line 1: rtt has no unit"),
    "bytes": ("time_s,rate_MBps\n0,2\n", 'rate = { trace = "r" }', "line 1: rate_MBps is in bytes, wanted bits, as in"),
    "no-number": ("time_s,rtt_ms\n0,10\n1,x\n", 'rtt = { trace = "r" }', "line 3: the rtt is no number"),
    "not-finite": ("time_s,rtt_ms\n0,inf\n", 'rtt = { trace = "r" }', "line 2: the rtt is no number"),
    "cells": ("time_s,rtt_ms\n0,10\n1\n", 'rtt = { trace = "r" }', "line 3 has 1 cells, wanted 2"),
    "backwards": ("time_s,rtt_ms\n1,10\n0,10\n", 'rtt = { trace = "r" }', "line 3: its time is before that of the row before"),
    "negative": ("time_s,rtt_ms\n0,-1\n", 'rtt = { trace = "r" }', "line 2: the rtt is not above 0 and at most 60 s"),
    "loss": ("time_s,loss_percent\n0,101\n", 'loss = { trace = "r" }', "line 2: the loss is not 0 to 100 %"),
    "rate": ("time_s,rate_bps\n0,-5\n", 'rate = { trace = "r" }', "line 2: the rate is not 0 to 1 Tbit/s"),
    "only-outages": ("time_s,rate_bps\n0,5\n9,1\n", 'rate = { trace = "r" }', "wanted a recording whose outages end"),
    "no-value": ("time_s,rtt_ms\n0,\n1,-\n", 'rtt = { trace = "r" }', "column rtt_ms has no value, wanted one in some row"),
    "no-row": ("time_s,rtt_ms\n", 'rtt = { trace = "r" }', "a heading and no row"),
    "empty-line": ("time_s,rtt_ms\n0,1\n\n1,1\n", 'rtt = { trace = "r" }', "line 3 is empty"),
    "no-text": ("time_s,rtt_ms\n\xff,1\n", 'rtt = { trace = "r" }', "line 2 is no UTF-8 text"),
    "other": ("time_s,rate_mbps\n0,1\n", 'rtt = { trace = "r" }', "wanted a file with a column such as rtt_ms (it has rate_mbps)"),
    "one-way": ("time_s,delay_ms\n0,1\n", 'rtt = { trace = "r" }', "one-way delays are for path.delay and path.up.delay"),
    "two": ("time_s,rtt_ms,RTT (s)\n0,1,1\n", 'rtt = { trace = "r" }', 'path.rtt.column: missing, wanted one of: "rtt_ms", "RTT (s)"'),
    "column": ("time_s,rtt_ms\n0,1\n", 'rtt = { trace = "r", column = "x" }', 'path.rtt.column: got "x", wanted one of: rtt_ms'),
    "short": ("time_s,rtt_ms\n0,1\n1,2\n", 'rtt = { trace = "r" }', "path.rtt.repeat: missing, wanted true"),
    "offset": ("time_s,rtt_ms\n0,1\n1,2\n", 'rtt = { trace = "r", offset = "2s", repeat = true }', 'path.rtt.offset: got "2 s"'),
    "one-row": ("time_s,rtt_ms\n0,1\n", 'rtt = { trace = "r", repeat = true }', "two rows at least to repeat"),
    "outage": ("time_s,rate_mbps\n0,1\n1,0\n", 'rate = { trace = "r", repeat = false }', "a recording whose outages end"),
    "leo": ("1\nx\n", 'rtt = { trace = "r", format = "leoreplayer" }', "line 2: the delay is no whole number of ms"),
    "leo-huge": ("61000\n", 'delay = { trace = "r", format = "leoreplayer" }', "line 1: the delay is not 0 to 60 s"),
    "cell": ("0 5 1\n9 5\n9 5\n", 'delay = { trace = "r" }', "line 3: its time is not after that of the line before"),
    "cell-few": ("0 5 1\n9 5\n", 'delay = { trace = "r" }', "it has 2 lines, wanted three or more"),
    "cell-train": ("0 5 x\n9 5\n10 5\n", 'delay = { trace = "r", format = "cellreplay" }', "line 1: a time of the train is no whole"),
    "mahimahi": ("1\n2\n", 'rtt = { trace = "r", format = "mahimahi" }', "a Mahimahi trace is a rate's"),
    "mahimahi-key": ("1\n2\n", 'rate = { trace = "r", offset = "1s" }', "path.rate.offset: unknown key of a Mahimahi trace"),
    "mahimahi-burst": ("1\n2\n", 'rate = { trace = "r" }\nburst = "0B"', "path.burst: unknown key of a link with a Mahimahi trace"),
    "opportunity": (TABLE, 'rate = { trace = "r", opportunity = "9B" }', "path.rate.opportunity: unknown key"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_right_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    text, line, expected = REFUSED[name]
    found = refusal(tmp_path, text, line)
    assert expected in found
    assert found.startswith("path.")
    assert "\n" not in found


def test_an_empty_cell_keeps_the_value_before(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("time_s,rtt_ms,loss_percent\n0,10,0\n1,,5\n2,30,\n3,10,0\n")
    made = planned(tmp_path, 'rtt = { trace = "r.csv", repeat = false }\nloss = { trace = "r.csv", repeat = false }')
    assert delays(made)["steps"] == [(0, 5 * MS), (2 * 10**9, 15 * MS), (3 * 10**9, 5 * MS)]
    assert made["flows"][0]["forward"][0]["steps"] == [(0, 0), (10**9, 50_000_000), (3 * 10**9, 0)]


def test_gaps_and_lengths_that_differ_are_warned_of(tmp_path: Path) -> None:
    rows = [*range(20), *range(60, 80)]
    (tmp_path / "a.csv").write_text("time_s,rtt_ms\n" + "".join(f"{at},{10 + at}\n" for at in rows))
    (tmp_path / "b.csv").write_text("time_s,rate_mbps\n0,10\n1,20\n")
    text = HEAD.format(duration="200s").replace('"20ms"', '{ trace = "a.csv", repeat = true }')
    text = text.replace('"10Mbps"', '{ trace = "b.csv", repeat = true }') + FLOW
    (one,) = plan.runs(from_text(text, folder=tmp_path))
    assert one.warnings == (
        "a.csv: has gaps between its values, over which the value before them holds (1, the longest of 41 s at 19 s)",
        "recordings begin again at different times and do not stay in step: path.rate after 2 s, path.rtt after 80 s",
    )


def test_only_recordings_that_begin_again_within_the_run_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time_s,rtt_ms\n0,10\n80,20\n")
    (tmp_path / "b.csv").write_text("time_s,rate_mbps\n0,10\n90,20\n")
    text = HEAD.format(duration="60s").replace('"20ms"', '{ trace = "a.csv", repeat = true }')
    text = text.replace('"10Mbps"', '{ trace = "b.csv", repeat = true }') + FLOW
    (one,) = plan.runs(from_text(text, folder=tmp_path))
    assert one.warnings == ()


def test_a_trace_that_ends_before_the_run_leaves_a_link_that_sends_nothing_and_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1\n2\n3\n2000\n")
    for repeat, duration, said in (("false", "5s", 1), ("false", "2s", 0), ("true", "5s", 0)):
        text = HEAD.format(duration=duration).replace('"10Mbps"', f'{{ trace = "t", repeat = {repeat} }}') + FLOW
        (one,) = plan.runs(from_text(text, folder=tmp_path))
        wanted = ("path.rate: the trace ends after 2 s, and the link sends nothing from then on",)
        assert one.warnings == wanted[:said], (repeat, duration)


def test_a_mean_is_that_of_the_values_that_the_run_takes(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("time_s,rate_mbps\n0,2\n10,22\n")
    slope = '{ trace = "r.csv", repeat = true, interpolate = "10ms" }'
    made = planned(tmp_path, f'rate = {slope}\nrtt = "50ms"\nbuffer = "1bdp"', duration="20s")
    # From 2 to 22 Mbit/s in 10 s, and 22 for as long as the row before lasted.
    assert made["links"][0]["qdisc"]["limit_bytes"] == pytest.approx((12 + 22) / 2 * 1e6 * 0.05 / 8, rel=1e-3)


def digests(folder: Path) -> dict[str, str]:
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.rglob("*.parquet")}
    assert len(found) >= 4, found
    return found


def ran(folder: Path, out: str, path: str, *, flow: str = FLOW, duration: str = "4s") -> tuple[Any, dict[str, str]]:
    written = {line.split("=")[0].strip() for line in path.splitlines() if line}
    head = "\n".join(
        line for line in HEAD.format(duration=duration).splitlines() if line.split("=")[0].strip() not in written
    )
    (result,) = dumbbell.run(from_text(f"{head}\n{path}\n{flow}", folder=folder), folder / out)
    return result, digests(folder / out)


def test_a_constant_recording_is_the_constant_path_to_the_byte(tmp_path: Path) -> None:
    # The mean, which tables name as the RTT, is that of the constant path.
    (tmp_path / "r.csv").write_text("time_s,rate_mbps,rtt_ms,loss_percent\n0,10,20,1\n3600,11,21,1\n7200,9,19,1\n")
    named = '{ trace = "r.csv", repeat = true }'
    for line, same in (("rtt", 'rtt = "20ms"'), ("rate", 'rate = "10Mbps"')):
        _, constant = ran(tmp_path, f"c-{line}", same)
        _, recorded = ran(tmp_path, f"r-{line}", f"{line} = {named}")
        assert constant == recorded, line
    changing = planned(tmp_path, f"rtt = {named}", duration="2h")
    assert len(delays(changing)["steps"]) == 2


def test_a_delay_that_may_change_and_does_not_gives_the_bytes_of_a_constant_one(tmp_path: Path) -> None:
    """The engine's own part for delays in steps, beside its ring for constant ones."""
    (tmp_path / "r.csv").write_text("time_s,rtt_ms\n0,20\n3.999999,21\n5.999999,19\n")
    _, constant = ran(tmp_path, "constant", 'rtt = "20ms"')
    _, recorded = ran(tmp_path, "recorded", 'rtt = { trace = "r.csv" }')
    (manifest,) = (tmp_path / "recorded").rglob("manifest.json")
    assert len(delays(json.loads(manifest.read_text())["plan"])["steps"]) == 2
    assert constant == recorded


def test_a_probe_on_an_idle_path_measures_the_recording(tmp_path: Path) -> None:
    """A probe sent at t meets half of the RTT of t, and its answer half of that of its arrival."""
    rtts = {0: 40, 1_000: 100, 1_500: 20, 2_500: 64}
    (tmp_path / "r.csv").write_text("time_ms,rtt_ms\n" + "".join(f"{at},{rtt}\n" for at, rtt in rtts.items()))

    def rtt_at(us: int) -> int:
        return next(rtt for at, rtt in reversed(rtts.items()) if at * 1_000 <= us) * 1_000

    flow = '[[flow]]\ncca = "reno"\nsize = "1kB"\n[[flow]]\nworkload = { probe = "7ms" }\n'
    result, _ = ran(tmp_path, "probe", 'rtt = { trace = "r.csv", repeat = false }', flow=flow)
    seen, last_there, last_back = 0, 0, 0
    for row in rows(result, "probes"):
        if row["rtt_us"] is None:
            continue
        # Nobody overtakes: who enters after the delay has fallen arrives with the last that entered before.
        there = last_there = max(row["sent_us"] + rtt_at(row["sent_us"]) // 2, last_there)
        back = last_back = max(there + rtt_at(there) // 2, last_back)
        assert row["rtt_us"] == pytest.approx(back - row["sent_us"], abs=1), row
        seen += 1
    assert seen > 500


def test_losses_follow_the_recording(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("time_s,loss_percent\n0,0\n1,100\n2,0\n3,25\n")
    flow = '[[flow]]\ncca = "reno"\nsize = "1kB"\n[[flow]]\nworkload = { probe = "1ms" }\n'
    result, _ = ran(tmp_path, "loss", 'loss = { trace = "r.csv", repeat = false }', flow=flow, duration="13s")
    lost: dict[int, list[bool]] = {}
    for row in rows(result, "probes"):
        if row["sent_us"] < 12_900_000:
            lost.setdefault(min(3, row["sent_us"] // 1_000_000), []).append(row["rtt_us"] is None)
    share = {second: sum(one) / len(one) for second, one in lost.items()}
    assert (share[0], share[1], share[2]) == (0, 1, 0)
    assert share[3] == pytest.approx(0.25, abs=0.02)


def test_the_same_recording_gives_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(TABLE)
    named = '{ trace = "r.csv", repeat = true }'
    lines = f"rate = {named}\nrtt = {named}\nloss = {named}"
    result, once = ran(tmp_path, "a", lines, duration="10s")
    assert once == ran(tmp_path, "b", lines, duration="10s")[1]
    assert rows(result, "flows")[0]["retrans_segs"] > 0


def test_recordings_may_vary(tmp_path: Path) -> None:
    for name, rtt in (("a", 10), ("b", 30)):
        (tmp_path / f"{name}.csv").write_text(f"time_s,rtt_ms\n0,{rtt}\n100,{rtt}\n")
    text = HEAD.format(duration="4s").replace('"20ms"', '[{ trace = "a.csv" }, { trace = "b.csv" }]') + FLOW
    made = plan.runs(from_text(text, folder=tmp_path))
    assert [one.plan["flows"][0]["rtt_ns"] for one in made] == [10 * MS, 30 * MS]
    assert made[0].vary == {"path.rtt": {"trace": "a.csv"}}


def test_back_ends_that_cannot_follow_a_recording_refuse_it_by_its_key(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(TABLE)
    named = '{ trace = "r.csv", repeat = true }'
    rtt, loss, rate = (planned(tmp_path, f"{key} = {named}", duration="20s") for key in ("rtt", "loss", "rate"))
    with pytest.raises(ScenarioError, match=r"^flow\[0\]\.rtt: changes, wanted a constant RTT.*--on linux does"):
        tc.netem(rtt["flows"][0]["forward"][:1], "flow[0]")
    with pytest.raises(ScenarioError, match=r"^flow\[0\]\.loss: .*--on linux has it"):
        tc.netem(loss["flows"][0]["forward"][:1], "flow[0]", in_virtual_time=True)
    with pytest.raises(ScenarioError, match=r"^path\.rate: changes, wanted a constant rate.*--on linux does"):
        tc.refuse(rate["links"][0])
    tc.refuse(rate["links"][0], in_virtual_time=True)
    assert tc.netem(rtt["flows"][0]["forward"][:1], "flow[0]", in_virtual_time=True) is not None
