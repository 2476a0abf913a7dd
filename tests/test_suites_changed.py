"""What a reader changes of a paper's figure: the scale, keys, repetitions, places; and that everything made of it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dumbbell import suites
from dumbbell.errors import ScenarioError
from dumbbell.runs.store import Store
from dumbbell.suites import of_hosts, score
from dumbbell.suites.book import Book
from dumbbell.suites.changed import Changed, has_scalable_flows, scaled
from dumbbell.suites.measure import is_of_a_flow
from dumbbell.suites.places import Case
from dumbbell.suites.table import FAST, Table


def cases(name: str, *overrides: str) -> list[Case]:
    return list(suites.entry_of(name).cases(FAST, overrides))


def test_a_key_is_set_in_every_case() -> None:
    assert all(case.scenario["host"]["ecn"] is True for case in cases("kfoury2020/fig14a", "host.ecn=true"))
    assert all("ecn" not in case.scenario["host"] for case in cases("kfoury2020/fig14a"))


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("path.buffer=1bdp", "path.buffer varies in the figure; --at AXIS=VALUE runs some of its places"),
        ("flow[0].cca=reno", "flow.0..cca makes the line of the figure what it is: wanted another key"),
        ("host.ecn=[true, false]", "host.ecn has several values; wanted one"),
        ("host.ecm=true", "ecm"),
    ],
)
def test_a_key_that_cannot_be_set_is_refused(override: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        cases("kfoury2020/fig14a", override)


def test_some_places_of_a_figure_run_alone() -> None:
    chosen = Changed.of(at=["buffer_bdp=1,10"]).chosen("x", cases("kfoury2020/fig14a"))
    assert {case.at["buffer_bdp"] for case in chosen} == {1, 10}


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("buffer=1", "axes of the figure: buffer_bdp"),
        ("buffer_bdp=7", r"places of kfoury2020/fig14a: buffer_bdp=0\.1,"),
        ("buffer_bdp", "AXIS=VALUE"),
    ],
)
def test_places_that_a_figure_lacks_are_refused_with_those_that_it_has(at: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        Changed.of(at=[at]).chosen("kfoury2020/fig14a", cases("kfoury2020/fig14a"))


def test_another_panel_of_a_figure_that_was_not_asked_for_and_lacks_these_places_does_not_run(tmp_path: Path) -> None:
    book = Book(Store(tmp_path), FAST, changed=Changed.of(at=["buffer_bdp=10"]))
    names = book.needed(["kfoury2020/fig4d"])
    assert "kfoury2020/fig4a" in names
    assert len(book.jobs(names)) == 3, "of CUBIC, BBRv1 and BBRv2"


def test_an_entry_that_is_only_read_runs_at_all_its_places_where_it_lacks_the_axis() -> None:
    every = cases("kfoury2020/fig14a")
    assert Changed.of(at=["n_flows=1"]).chosen("x", every, is_asked=False) == every


def test_a_hundred_flows_at_a_tenth_of_the_rate_are_ten_of_the_same_size() -> None:
    given = cases("kfoury2020/fig4a")
    assert has_scalable_flows(given, 0.1)
    (flow,) = scaled(given[0].scenario, 0.1, with_flows=True)["flow"]
    assert flow["count"] == 10
    assert scaled(given[0].scenario, 0.1, with_flows=True)["path"]["rate"] == "0.1Gbps"
    assert not has_scalable_flows(cases("kfoury2020/fig14a"), 0.1), "one flow a line has no tenth"
    assert not has_scalable_flows(given, 1.0)


@pytest.mark.parametrize(
    ("metric", "is_one"), [("goodput", False), ("each goodput", True), ("goodput_flow_mean", True), ("queue", False)]
)
def test_rates_of_one_flow_stay_where_the_number_of_flows_is_scaled(metric: str, *, is_one: bool) -> None:
    assert is_of_a_flow(metric) is is_one


def test_the_words_of_the_command_change_the_same_again() -> None:
    changed = Changed.of(0.1, ["host.ecn=true"], 3, ["buffer_bdp=1,10"])
    assert changed.options == ["--scale 0.1", "--set host.ecn=true", "--repetitions 3", "--at buffer_bdp=1,10"]
    assert not Changed.of()
    assert Changed.of().options == []


def test_what_is_made_of_changed_runs_says_so(tmp_path: Path) -> None:
    changed = Changed.of(overrides=["host.ecn=true", "duration=5s"], repetitions=1, at=["buffer_bdp=1"])
    judged = Book(Store(tmp_path), FAST, changed=changed).judged("kfoury2020/fig14a")
    assert judged.table.entry.draw is not None
    caption = " ".join(judged.table.entry.draw(judged.table).legends[0].get_title().get_text().split())
    assert "changed: host.ecn = true; changed: duration = 5s" in caption
    board: dict[str, Any] = score.as_json([judged], FAST, changed)
    assert board["changed"] == ["--set host.ecn=true", "--set duration=5s", "--repetitions 1", "--at buffer_bdp=1"]
    page = score.markdown([judged], FAST, {}, changed)
    assert f"`dumbbell reproduce kfoury2020/fig14a --fast {' '.join(changed.options)}`" in page


BORGLI = {"host": {"nic": "virtual", "hz": 250}, "flow": [{"cca": "bbr", "preset": "linux-4.9"}]}


def test_what_hosts_decide_themselves_is_left_out_and_said() -> None:
    tables, remarks = of_hosts.adapted({**BORGLI, "record": {"pcap": True}}, "ssh://a,b")
    assert tables == {"host": {"hz": 250}, "flow": [{"cca": "bbr"}], "record": {}}
    assert remarks[0] == "the hosts' own bbr instead of preset linux-4.9"
    assert ["host.nic" in remark for remark in remarks] == [False, True, False]


@pytest.mark.parametrize("on", ["sim", "uml", "uml:6.1", "ray://"])
def test_nothing_is_left_out_where_the_hosts_are_made_for_the_run(on: str) -> None:
    assert of_hosts.adapted(BORGLI, on) == (BORGLI, [])


def test_a_preset_that_is_no_older_linux_stays_for_the_hosts_to_refuse() -> None:
    flow = {"cca": "bbr2plus", "preset": "paper"}
    assert of_hosts.adapted({"flow": [flow]}, "ssh://a,b") == ({"flow": [flow]}, [])


def test_what_the_reader_sets_stays_for_the_hosts_to_refuse() -> None:
    set_by_reader = ["host.nic=virtual", "flow[0].preset=linux-4.9"]
    assert of_hosts.adapted(BORGLI, "ssh://a,b", set_by_reader) == (BORGLI, [])


def test_a_table_names_what_hosts_decided_on_either_back_end() -> None:
    text, entry = suites.text_of("borgli/fig8"), suites.entry_of("borgli/fig8")
    table = Table(text, entry, [], changed=Changed(overrides=("host.hz=1000",)))
    table.beside = Table(text, entry, [], kind="ssh://a,b", left_out=("the hosts' own bbr",))
    assert table.remarks == ["changed: host.hz = 1000", "on ssh: the hosts' own bbr"]


def test_the_number_of_flows_is_scaled_in_all_panels_of_a_figure_or_in_none(tmp_path: Path) -> None:
    for at in ([], ["buffer_bdp=100"]):
        book = Book(Store(tmp_path), FAST, changed=Changed.of(0.1, at=at))
        counts = {len(job.planned.plan["flows"]) for job in book.jobs(["kfoury2020/fig9b", "kfoury2020/fig9d"])}
        assert counts == {10, 50}, "2 and 25 flows, of the other panels, have no tenth"
