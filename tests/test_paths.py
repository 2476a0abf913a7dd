"""Queue disciplines, links, impairments and the acknowledgements' direction become what the engine takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, from_dict, from_file, plan
from dumbbell.backends import tc
from dumbbell.scenario import traces
from dumbbell.scenario.qdiscs import Codel, Qdisc

PATH = {"rate": "40Mbps", "rtt": "40ms", "buffer": "1bdp"}


def planned(
    flow: dict[str, Any] | None = None, link: list[dict[str, Any]] | None = None, **path: Any
) -> dict[str, Any]:
    tables = {"duration": "10s", "path": {**PATH, **path}, "flow": [{"cca": "cubic", **(flow or {})}]}
    runs = plan.runs(from_dict({**tables, "link": link} if link else tables))
    assert len(runs) == 1
    return runs[0].plan


def qdisc(written: Any, **path: Any) -> dict[str, Any]:
    return dict(planned(qdisc=written, **path)["links"][0]["qdisc"])


@pytest.mark.parametrize("kind", [kind for kind in Qdisc.FORMS if kind != "fifo"])
def test_a_queue_discipline_by_its_name_is_the_same_whatever_the_buffer_is(kind: str) -> None:
    assert qdisc(kind) == qdisc({"kind": kind})
    if kind != "red":  # tc wants red's limit, so it is the buffer
        assert qdisc(kind, buffer="7bdp") == qdisc(kind)


def test_the_buffer_may_be_an_aqms_own_limit_in_full_packets() -> None:
    assert qdisc({"kind": "fq_codel", "limit": "buffer"})["limit_packets"] == 200_000 // 1514
    assert qdisc({"kind": "codel", "limit": "2bdp"})["limit_packets"] == 400_000 // 1514
    assert qdisc({"kind": "cake", "memory_limit": "buffer"})["memory_limit_bytes"] == 200_000


def test_a_path_with_an_aqm_needs_no_buffer() -> None:
    assert qdisc("codel", buffer=None)["limit_packets"] == 1000
    with pytest.raises(ScenarioError, match=r"^path\.buffer: missing"):
        qdisc("fifo", buffer=None)


@pytest.mark.parametrize(
    "rate", [{"steps": [["0s", "40Mbps"], ["1s", "20Mbps"]]}, {"lte": "stationary", "mean": "40Mbps"}]
)
def test_cake_does_not_shape_a_rate_that_changes(rate: dict[str, Any]) -> None:
    assert qdisc("cake", rate=rate)["bandwidth_bps"] is None
    assert qdisc({"kind": "cake", "shaped": False})["bandwidth_bps"] is None


def test_a_table_made_in_python_is_that_of_its_kind() -> None:
    made = Qdisc(kind="codel", target="1ms")
    assert isinstance(made, Codel)
    assert made == Codel(target="1ms")
    assert qdisc(made) == qdisc({"kind": "codel", "target": "1ms"})


def test_a_setting_of_a_queue_discipline_varies() -> None:
    path = {**PATH, "qdisc": {"kind": "codel", "target": ["5ms", "1ms"]}}
    runs = plan.runs(from_dict({"duration": "1s", "path": path, "flow": [{"cca": "cubic"}]}))
    assert [run.vary for run in runs] == [{"path.qdisc.target": "5ms"}, {"path.qdisc.target": "1ms"}]
    assert runs[1].plan["links"][0]["qdisc"]["target_ns"] == 1_000_000


def test_a_plain_path_says_its_routes_too() -> None:
    flow = planned(loss="1%", jitter={"spread": "5ms"})["flows"][0]
    assert flow["forward"] == [
        {"kind": "loss", "model": "random", "ppb": 10_000_000, "correlation_ppb": 0},
        {
            "kind": "delay",
            "ns": 20_000_000,
            "steps": [],
            "repeat_ns": None,
            "jitter": {"distribution": "uniform", "spread_ns": 5_000_000, "correlation_ppb": 0, "reorder": True},
            "reorder": None,
        },
        {"kind": "link", "link": 0},
    ]
    assert [(stage["kind"], stage["ns"]) for stage in flow["back"]] == [("delay", 20_000_000)]


@pytest.mark.parametrize(("transport", "smallest"), [("tcp", 94), ("quic", 1514)])
def test_the_queue_of_acknowledgements_holds_one_of_the_largest_that_cross_it(transport: str, smallest: int) -> None:
    def with_buffer(size: int) -> int:
        made = planned({"transport": transport}, ack={"rate": "1Mbps", "buffer": f"{size}B"})
        return int(made["ack_links"][0]["qdisc"]["limit_bytes"])

    assert with_buffer(smallest) == smallest
    with pytest.raises(ScenarioError, match=rf"^path\.ack\.buffer: .* at least one packet of {smallest} bytes"):
        with_buffer(smallest - 1)


def test_impairments_by_name_come_before_the_delay_and_the_link_behind_it() -> None:
    flow = planned(
        loss={"model": "gilbert_elliott", "p": "1%", "r": "25%"},
        duplicate="2%",
        corrupt=0.03,
        reorder={"share": "25%", "gap": 5},
    )["flows"][0]
    assert [(stage["kind"], stage.get("ppb")) for stage in flow["forward"]] == [
        ("loss", None), ("duplicate", 20_000_000), ("corrupt", 30_000_000), ("delay", None), ("link", None),
    ]  # fmt: skip
    lossy = {
        "kind": "loss",
        "model": "gilbert_elliott",
        "p_ppb": 10_000_000,
        "r_ppb": 250_000_000,
        "bad_loss_ppb": 10**9,
        "good_loss_ppb": 0,
    }
    assert flow["forward"][0] == lossy
    assert flow["forward"][3]["reorder"] == {"gap": 5, "ppb": 250_000_000, "correlation_ppb": 0}
    assert flow["rtt_ns"] == 40_000_000


def test_a_chain_keeps_its_order_and_adds_what_it_leaves_out() -> None:
    loss = {"kind": "loss", "rate": "1%"}
    assert kinds(planned(impair=[loss])) == ["loss", "delay", "link"]
    assert kinds(planned(impair=[{"kind": "links"}, loss])) == ["link", "loss", "delay"]
    assert kinds(planned(impair=[{"kind": "delay", "time": "1ms"}, {"kind": "links"}, {"kind": "delay"}])) == [
        "delay",
        "link",
        "delay",
    ]
    assert [stage.get("ns") for stage in planned(impair=[{"kind": "delay", "time": "1ms"}])["flows"][0]["forward"]] == [
        1_000_000,
        20_000_000,
        None,
    ]


def kinds(made: dict[str, Any]) -> list[str]:
    return [stage["kind"] for stage in made["flows"][0]["forward"]]


def test_an_rtt_in_steps_is_halved_step_by_step() -> None:
    made = planned(rtt={"steps": [["0s", "20ms"], ["5s", "60.000001ms"]], "repeat": True})
    flow = made["flows"][0]
    assert flow["forward"][0]["steps"] == [(0, 10_000_000), (5 * 10**9, 30_000_000)]
    assert flow["back"][0]["steps"] == [(0, 10_000_000), (5 * 10**9, 30_000_001)]
    assert flow["forward"][0]["repeat_ns"] == 10 * 10**9
    assert made["links"][0]["qdisc"]["limit_bytes"] == 100_000


LINKS = [
    {"name": "l1", "rate": "100Mbps", "buffer": "1bdp", "delay": "10ms"},
    {"name": "l3", "rate": "1Gbps", "buffer": "100pkt", "qdisc": "codel"},
]


def test_a_flow_crosses_its_links_in_order_and_their_delays_count_both_ways() -> None:
    made = planned({"via": ["l3", "bottleneck", "l1"]}, LINKS)
    flow = made["flows"][0]
    assert [(stage["kind"], stage.get("link", stage.get("ns"))) for stage in flow["forward"]] == [
        ("delay", 20_000_000), ("link", 2), ("link", 0), ("link", 1), ("delay", 10_000_000),
    ]  # fmt: skip
    assert [stage["ns"] for stage in flow["back"]] == [20_000_000, 10_000_000]
    assert flow["rtt_ns"] == 60_000_000
    assert [link["name"] for link in made["links"]] == ["bottleneck", "l1", "l3"]
    assert made["links"][1]["qdisc"]["limit_bytes"] == 500_000, "its own rate x path.rtt"


@pytest.mark.parametrize(
    ("rtt", "down", "up"),
    [
        ("40ms", 20_000_000, 20_000_000),
        ("48361us", 24_180_000, 24_181_000),  # tc gives netem whole microseconds
        ("1us", 500, 500),  # too little for a netem
        ("2.5us", 1250, 1250),
    ],
)
def test_the_ways_of_an_rtt_are_whole_microseconds_where_it_is(rtt: str, down: int, up: int) -> None:
    flow = planned(rtt=rtt, buffer="100pkt")["flows"][0]
    assert [stage["ns"] for way in ("forward", "back") for stage in flow[way] if stage["kind"] == "delay"] == [down, up]


def test_acknowledgements_have_a_way_of_their_own() -> None:
    ack = {
        "rate": "1Mbps",
        "buffer": "20pkt",
        "delay": "5ms",
        "loss": "1%",
        "thin": {"every": 4, "hold": "5ms"},
        "aggregate": {"every": "10ms"},
    }
    made = planned(ack=ack)
    assert [stage["kind"] for stage in made["flows"][0]["back"]] == ["thin", "serve", "loss", "link", "delay"]
    assert made["flows"][0]["rtt_ns"] == 25_000_000
    assert made["ack_links"][0]["rate_bps"] == 1_000_000
    assert made["ack_links"][0]["qdisc"]["limit_packets"] == 20
    assert kinds(made) == ["delay", "link"]


@pytest.mark.parametrize(
    ("written", "word"),
    [(False, "off"), (True, "classic"), ("classic", "classic"), ("accurate", "accurate")],
)
def test_ecn_is_off_classic_or_accurate(written: object, word: str) -> None:
    tables = {"duration": "1s", "path": PATH, "host": {"ecn": written}, "flow": [{"cca": "cubic"}]}
    assert plan.runs(from_dict(tables))[0].plan["host"]["ecn"] == word


def test_a_trace_is_found_beside_the_scenario_and_measured(tmp_path: Path) -> None:
    (tmp_path / "t.trace").write_text("0\n1\n1\n4\n")
    (tmp_path / "s.toml").write_text(
        'duration = "1s"\n[path]\nrate = { trace = "t.trace", opportunity = "1500B" }\nrtt = "40ms"\nbuffer ='
        ' "1bdp"\n[[flow]]\ncca = "reno"\n'
    )
    link = plan.runs(from_file(tmp_path / "s.toml").scenario)[0].plan["links"][0]
    assert link["rate_bps"] == 4 * 1500 * 8 * 1000 // 4
    digest = "77eaad0b59ad1118bc1c87ba213ace0525c2d15303739425249c608f43bd718d"  # sha256sum of the four lines
    assert link["trace"] == {
        "path": str(tmp_path / "t.trace"),
        "sha256": digest,
        "opportunity_bytes": 1500,
        "repeat": True,
    }


@pytest.mark.parametrize("text", ["", "5\n3\n", "x\n", "0\n", "1\n2 3\n4\n", "4294967296\n"])
def test_what_is_no_trace_is_an_error_that_names_the_key(text: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(ScenarioError, match=r"^path\.rate: got .*wanted a recording"):
        plan.runs(
            from_dict(
                {"duration": "1s", "path": {**PATH, "rate": {"trace": "t"}}, "flow": [{"cca": "reno"}]}, folder=tmp_path
            )
        )


@pytest.mark.parametrize("line", [" 5", "\t5", "+5", " +5", "005", "5 ", "5\r", "5\n", "5\n \n", "5\n# x", "#\n5"])
def test_a_time_of_a_trace_is_written_as_mahimahi_reads_it_and_as_editors_write_it(tmp_path: Path, line: str) -> None:
    (tmp_path / "link.trace").write_bytes(f"1\n{line}\n".encode())
    assert list(traces.read(tmp_path / "link.trace", "path.rate").times_ms) == [1, 5]


@pytest.mark.parametrize("line", ["+", "++5", "\ufeff5", "+ 5", "5 6", " " * 39 + "5", " " * 40, "4294967296"])
def test_other_lines_of_a_trace_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "link.trace").write_bytes(f"1\n{line}\n7\n".encode())
    with pytest.raises(ScenarioError, match="line 2 is"):
        traces.read(tmp_path / "link.trace", "path.rate")


def test_a_link_may_have_another_header_than_ethernets(tmp_path: Path) -> None:
    path = {"rate": "10Mbps", "rtt": "20ms", "buffer": "1bdp"}
    for header, frame in (("14B", 1514), ("2B", 1502), ("22B", 1522)):
        tables = {"duration": "2s", "path": {**path, "link_header": header}, "flow": [{"cca": "reno"}]}
        (run,) = dumbbell.run(from_dict(tables), tmp_path / header)
        last = run.queue.to_pylist()[-1]
        # All packets are full but the SYN and the acknowledgement after it, of 74 and 66 bytes over Ethernet.
        assert last["sent_bytes"] == 74 + 66 + 2 * (frame - 1514) + (last["sent_packets"] - 2) * frame
        assert 0.9 < run.summary.link.utilization <= 1
    assert "header_bytes" not in planned(link_header="14B")["links"][0]
    up = planned(up={"rate": "1Mbps", "buffer": "10pkt", "link_header": "0B"})
    assert [link["header_bytes"] for link in up["ack_links"]] == [0]


def test_only_a_drop_tail_queue_counts_a_header_of_its_own() -> None:
    wanted = "wanted 14B, Ethernet's, or a drop-tail queue"
    policer = {"rate": "1Mbps", "burst": "10kB"}
    for keys in ({"qdisc": "codel"}, {"policer": policer}, {"qdisc": {"kind": "fifo", "head_drop": True}}):
        with pytest.raises(ScenarioError, match=rf'^path\.link_header: got "2B", {wanted}'):
            planned(link_header="2B", **keys)
    with pytest.raises(ScenarioError, match=r'^path\.link_header: got "65B", wanted a size of at most 64 bytes'):
        planned(link_header="65B")
    (run,) = plan.runs(
        from_dict({"duration": "10s", "path": {**PATH, "link_header": "2B"}, "flow": [{"cca": "cubic"}]})
    )
    with pytest.raises(ScenarioError, match=r"^path\.link_header: got another than Ethernet's 14B; --on sim"):
        tc.refuse(run.plan["links"][0])


def test_captures_have_no_compact_headers(tmp_path: Path) -> None:
    flow = {"cca": "cubic", "transport": {"kind": "quic", "compact": True}}
    tables = {"duration": "1s", "path": PATH, "flow": [flow]}
    with pytest.raises(dumbbell.DumbbellError, match=r"record\.pcap: must be false: captures have no compact headers"):
        dumbbell.run(from_dict({**tables, "record": {"pcap": True}}), tmp_path / "pcap")
    wire = []
    for compact in (False, True):
        one = {**tables, "flow": [{**flow, "transport": {"kind": "quic", "compact": compact}}]}
        (run,) = dumbbell.run(from_dict(one), tmp_path / str(compact))
        last = run.queue.to_pylist()[-1]
        wire.append(last["sent_bytes"] / last["sent_packets"])
    # 11 bytes, or 8: flags, a number of two bytes, type, stream, an offset of three.
    assert wire[0] - wire[1] == pytest.approx(3, abs=0.2)
