"""Zhang 2019: the printed numbers, the paths of its cases, and figures counted in its way."""

from __future__ import annotations

import json
from ast import literal_eval
from collections import Counter
from pathlib import Path

import pytest

from conftest import Cli
from dumbbell import suites
from dumbbell.runs.store import Store
from dumbbell.suites import cells
from dumbbell.suites.book import Book
from dumbbell.suites.table import FAST, Point, Table
from dumbbell.suites.zhang2019 import readings


def printed(name: str) -> dict[tuple[str, str, str], float]:
    """The cells of a table: line, place and metric to the number."""
    return {
        (claim.series[0], str(claim.at), claim.metric): claim.expected or 0.0
        for claim in suites.text_of(f"zhang2019/{name}").claims
        if cells.is_cell(claim)
    }


def test_the_tables_have_every_cell() -> None:
    assert {name: len(printed(name)) for name in ("table3", "table4", "table5", "table7")} == {
        "table3": 288,
        "table4": 120,
        "table5": 24,
        "table7": 108,
    }


def test_the_printed_indices_follow_from_the_printed_rates() -> None:
    table = printed("table3")
    for line, at, metric in table:
        if metric == "jain_all":
            one, two = (table[line, at, name] for name in ("x1_kbps", "x2_kbps"))
            assert (one + two) ** 2 / 2 / (one**2 + two**2) == pytest.approx(table[line, at, "jain_all"], abs=0.006)


def test_the_printed_rates_are_above_what_stream_data_alone_can_be() -> None:
    rates = printed("table3")
    mbps = {
        case.at["case"]: int(case.scenario["path"]["rate"].removesuffix("Mbps"))
        for case in suites.entry_of("zhang2019/table3").cases(FAST)
    }
    most = max(
        (rates[line, at, "x1_kbps"] + rates[line, at, "x2_kbps"]) / (1000 * mbps[literal_eval(at)["case"]])
        for line, at, metric in rates
        if metric == "x1_kbps"
    )
    assert 1000 / 1039 < most < 1009 / 1039


def test_buffers_are_the_multiples_of_the_bdp_that_the_paper_names() -> None:
    def bdps(name: str) -> Counter[float]:
        links = {
            case.at["case"]: [int(case.scenario["path"][key].removesuffix("ms")) for key in ("buffer", "rtt")]
            for case in suites.entry_of(f"zhang2019/{name}").cases(FAST)
        }
        return Counter(buffer / rtt for buffer, rtt in links.values())

    assert bdps("fig5") == {1: 3, 1.5: 6, 2: 2}
    assert bdps("table7") == {1: 2, 1.5: 5, 2: 2}


def book(tmp_path: Path) -> Book:
    """A book with a store of its own."""
    return Book(Store(tmp_path), FAST)


def test_the_paths_of_table_3_have_the_papers_round_trips(tmp_path: Path) -> None:
    made = book(tmp_path)
    plans = [
        job.planned.plan
        for case in suites.entry_of("zhang2019/table3").cases(FAST)
        for job in made._jobs_of("zhang2019/table3", case)
    ]
    rtts = {tuple(flow["rtt_ns"] // 10**6 for flow in plan["flows"]) for plan in plans}
    assert rtts == {(60, 100), (80, 120), (100, 140)}
    assert all(link["rate_bps"] == 10**8 for plan in plans for link in plan["links"][1:])


def test_every_link_has_the_frames_of_ns_3(tmp_path: Path) -> None:
    made = book(tmp_path)
    for name in ("table3", "table4", "table5", "table7", "fig5"):
        for case in suites.entry_of(f"zhang2019/{name}").cases(FAST):
            (job,) = made._jobs_of(f"zhang2019/{name}", case)
            assert {(link["burst_bytes"], link["header_bytes"]) for link in job.planned.plan["links"]} == {(0, 2)}


def test_flows_that_share_a_processor_are_polled_in_turn(tmp_path: Path) -> None:
    case = next(iter(suites.entry_of("zhang2019/table4").cases(FAST)))
    (job,) = book(tmp_path)._jobs_of("zhang2019/table4", case)
    assert [flow["transport"].get("clock_offset_ns", 0) for flow in job.planned.plan["flows"]] == [0, 1000, 2000, 3000]


def test_every_flow_has_his_sender(tmp_path: Path) -> None:
    (case,) = suites.entry_of("zhang2019/fig14a").cases(FAST)
    (job,) = book(tmp_path)._jobs_of("zhang2019/fig14a", case)
    bbr, cubic = job.planned.plan["flows"][0], job.planned.plan["flows"][2]
    sender = {"packet_threshold": 1, "clock_ns": 10**6, "rto_min_ns": 2 * 10**8, "counts_sent": True, "prr": True,
              "payload_bytes": 1400, "write_bytes": 3000, "poll_ns": 500_000, "initial_sample": True, "compact": True}  # fmt: skip
    for flow in (bbr, cubic):
        assert {name: flow["transport"][name] for name in sender} == sender
    assert bbr["transport"]["initial_window"] * 1009 >= 14_600 > (bbr["transport"]["initial_window"] - 1) * 1009
    assert "initial_window" not in cubic["transport"]


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Fig. 14a for 30 s."""
    made = book(tmp_path_factory.mktemp("store"))
    (case,) = suites.entry_of("zhang2019/fig14a").cases(FAST)
    case = case._replace(scenario={**case.scenario, "duration": "30s"})
    jobs = made._jobs_of("zhang2019/fig14a", case)
    made.run(jobs)
    entry, text = suites.entry_of("zhang2019/fig14a"), suites.text_of("zhang2019/fig14a")
    return Table(text, entry, [Point(None, {"case": 5}, tuple(made.store.results(jobs)))])


def test_figures_are_counted_as_his_scripts_count(short: Table) -> None:
    (run,) = short.points[0].runs
    flows = run.flows.to_pylist()
    received = [flow["goodput_bytes"] / 1000 * 1009 * 8 / 30 / 1000 for flow in flows]
    assert readings.rates_kbps(run) == pytest.approx(received, rel=1e-3)
    assert readings.utility(run, None) == pytest.approx(sum(received) / 6000, rel=1e-3)
    assert readings.ratio(run, None) == pytest.approx(max(received) / min(received), rel=1e-3)
    weighed = sum(flow["owd_mean_us"] * flow["goodput_bytes"] for flow in flows)
    mean = weighed / sum(flow["goodput_bytes"] for flow in flows) / 1000
    assert readings.mean_delay_ms(run, None) == pytest.approx(mean, rel=1e-3)
    shares = [flow["goodput_bytes"] for flow in flows]
    assert readings.own_share(run, None) == pytest.approx(sum(shares[:2]) / sum(shares), rel=1e-3)


def test_the_rate_over_time_is_bbrs_estimate_and_cubics_window_over_its_rtt(short: Table) -> None:
    (run,) = short.points[0].runs
    rows = [row for row in run.samples.to_pylist() if row["t_us"] >= 20 * 10**6]
    for number in (0, 2):
        _, rate = readings.rate_over_time(run, number)
        own = [row for row in rows if row["flow"] == number]
        last = own[-1]
        wanted = last["bw_bps"] / 1e6 if number == 0 else last["cwnd"] * 1460 * 8 / last["srtt_us"]
        assert rate[-1] == pytest.approx(wanted)
    estimates = [row["bw_bps"] for row in rows if row["flow"] == 0]
    mean = sum(estimates) / len(estimates)
    spread = (sum((one - mean) ** 2 for one in estimates) / len(estimates)) ** 0.5 / mean
    other = readings.variation(run, "BBR", (20.0, 30.0))
    second = [row["bw_bps"] for row in rows if row["flow"] == 1]
    mean = sum(second) / len(second)
    spread += (sum((one - mean) ** 2 for one in second) / len(second)) ** 0.5 / mean
    assert other == pytest.approx(spread / 2, rel=1e-6)


@pytest.fixture(scope="module")
def joining(tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, Table]:
    """Three flows of BBR, the second from 40 s on, the third from 80 s on."""
    made = book(tmp_path_factory.mktemp("joining"))
    (case,) = suites.entry_of("zhang2019/fig7b").cases(FAST)
    flows = [{key: value for key, value in flow.items() if key != "stop"} for flow in case.scenario["flow"][:3]]
    short = {**case.scenario, "flow": flows, "duration": "90s"}
    jobs = made._jobs_of("zhang2019/fig7b", case._replace(scenario=short))
    made.run(jobs)
    entry, text = suites.entry_of("zhang2019/fig7b"), suites.text_of("zhang2019/fig7b")
    return made, Table(text, entry, [Point("BBR", {"case": 3}, tuple(made.store.results(jobs)))])


def test_spikes_of_startup_are_held_against_an_equal_part_of_the_link(joining: tuple[Book, Table]) -> None:
    made, table = joining
    (run,) = table.points[0].runs
    (claim,) = (one for one in table.text.claims if one.id == "c2")
    peaks, link = readings.READERS["spikes"](table, claim, made)
    assert [one.mean for one in link] == [5 / 2, pytest.approx(5 / 3)]
    for number, peak in zip((1, 2), peaks, strict=True):
        begin = run.plan.flows[number].start_ns / 1e9
        t, rate = readings.rate_over_time(run, number)
        assert peak.mean == max(value for at, value in zip(t, rate, strict=True) if begin <= at <= begin + 5)


def test_the_link_and_the_fair_share_stand_in_the_legend(joining: tuple[Book, Table]) -> None:
    _, table = joining
    assert table.entry.draw is not None
    figure = table.entry.draw(table)
    named = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert {"rate of the link", "fair share"} < set(named)
    (share,) = (line for line in figure.axes[0].lines if line.get_label() == "fair share")
    assert [value for value in share.get_ydata() if value > 0] == pytest.approx([5 / 2, 5 / 3, 5 / 3])


def test_a_window_is_read_from_the_claim() -> None:
    (claim,) = suites.text_of("zhang2019/fig7a").claims
    assert readings.window_of(claim) == (120.0, 200.0)


def test_the_command_prints_each_cell_beside_the_papers(cli: Cli) -> None:
    done = cli("reproduce", "zhang2019/table5", "--fast", "--out", "out", "--store", "store")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Table 5: ours (the paper's), * within tolerance" in done.stdout
    lines = [
        line
        for line in done.stdout.splitlines()
        if line.strip().startswith(("BBR", "Tsunami", "Cubic", "Reno")) and "(0.9" in line
    ]
    assert len(lines) == 8
    assert "(170.2)" in lines[0]
    again = cli("reproduce", "zhang2019/table5", "--fast", "--out", "out", "--store", "store", "--json")
    claims = json.loads(again.stdout)["claims"]
    loss = next(one for one in claims if one["id"] == "c1")
    assert f"{loss['measured']:.3f} (0.001)" in lines[0]


def test_a_table_is_drawn_and_judged_at_some_of_its_places_alone(cli: Cli, tmp_path: Path) -> None:
    asked = ("reproduce", "zhang2019/table3", "--fast", "--at", "case=2", "--set", "duration=2s")
    done = cli(*asked, "--out", "out", "--store", "store")
    assert (done.returncode, done.stderr) == (0, "")
    assert sum(line.strip().startswith(("BBR", "Tsunami", "Cubic", "Reno")) for line in done.stdout.splitlines()) == 8
    assert (tmp_path / "out/zhang2019-table3.png").exists()


def test_dumbbell_paper_is_gone(cli: Cli) -> None:
    assert cli("paper", "zhang2019").returncode == 2
