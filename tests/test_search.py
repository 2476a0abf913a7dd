"""`dumbbell search`: what may change, how it is written, and that what is found is there, small, and found again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dumbbell
from dumbbell.errors import OutError, ScenarioError
from dumbbell.scenario.file import from_text
from dumbbell.searching.fields import parsed
from dumbbell.searching.genes import Change
from dumbbell.searching.genome import Genome
from dumbbell.searching.search import Found, search

BASE: dict[str, Any] = {
    "name": "base",
    "duration": "20s",
    "path": {"rate": "10Mbps", "rtt": "40ms", "buffer": "1bdp"},
    "flow": [{"name": "main", "cca": "reno"}],
    "expect": [{"that": "goodput of main >= 8.5Mbps"}],
}


class Asked(NamedTuple):
    """A question: what is to be broken, what may change, and how many are tried."""

    worst: str | None
    within: tuple[str, ...]
    budget: int = 8
    seed: int = 1


SHREW = Asked("goodput of main >= 8.5Mbps", ("cuts:200ms..2s:1%..15%", "path.buffer=1bdp..4bdp"), budget=120)


def searched(scenario: dict[str, Any], asked: Asked, out: Path, **how: Any) -> Found:
    """Search for what a question asks."""
    return search(scenario, out=out, **asked._asdict(), **how)


@pytest.mark.parametrize(
    ("text", "changes", "key", "written"),
    [
        ("path.rtt=10ms..100ms", [["25ms"]], "rtt", "25ms"),
        ("path.qdisc=fifo,codel", [["codel"]], "qdisc", "codel"),
        (
            "outages=2", [["3s", "1s"], ["10s", "500ms"]], "rate",
            {"steps": [["0s", "10Mbps"], ["3s", "0bps"], ["4s", "10Mbps"], ["10s", "0bps"], ["10.5s", "10Mbps"]]},
        ),
        ("outages=2", [["3s", "1s"], ["3.5s", "1s"]], "rate",
         {"steps": [["0s", "10Mbps"], ["3s", "0bps"], ["4.5s", "10Mbps"]]}),
        ("rate_steps=2", [["5s", 0.5], ["2s", 3]], "rate",
         {"steps": [["0s", "10Mbps"], ["2s", "30Mbps"], ["5s", "5Mbps"]]}),
        ("rate_steps", [["0s", 0.5]], "rate", "5Mbps"),
        ("host.tso=true,false", [[False]], "rate", "10Mbps"),
        ("rtt_steps", [["5s", 0.5]], "rtt", {"steps": [["0s", "40ms"], ["5s", "20ms"]]}),
        ("cuts", [["300ms", "10%"]], "loss", {"steps": [["0s", "0%"], ["0.27s", "100%"]], "repeat": "0.3s"}),
        ("losses=3", [[7], [3], [7]], "loss", {"packets": [3, 7]}),
        ("bursts=2", [["8s", 3], ["5s", 20]], "loss",
         {"windows": [["5s", "5.2s", "100%", 20], ["8s", "8.2s", "100%", 3]]}),
        ("up.cuts", [["1s", "5%"]], "up", {"loss": {"steps": [["0s", "0%"], ["0.95s", "100%"]], "repeat": "1s"}}),
    ],
)  # fmt: skip
def test_a_change_is_written_as_a_person_would(text, changes, key, written):
    genome = Genome([text], 20)
    tables = genome.tables(BASE, tuple(Change(0, tuple(values)) for values in changes))
    assert tables["path"][key] == written
    assert {**tables["path"], key: None} == {**BASE["path"], key: None}


def test_an_outage_comes_back_to_the_step_that_holds_by_then():
    genome = Genome(["outages", "rate_steps"], 20)
    changes = (Change(0, ("3s", "2s")), Change(1, ("4s", 0.5)))
    assert genome.tables(BASE, changes)["path"]["rate"] == {
        "steps": [["0s", "10Mbps"], ["3s", "0bps"], ["5s", "5Mbps"]]
    }


def test_a_rival_is_a_flow_for_a_while():
    genome = Genome(["rivals=2:bbr,reno"], 20)
    (_, rival) = genome.tables(BASE, (Change(0, ("2s", "bbr", "5s", 0.5)),))["flow"]
    assert rival == {"name": "rival1", "cca": "bbr", "start": "2s", "stop": "7s", "rtt": "20ms"}


@pytest.mark.parametrize(
    "text", ["outages=3", "rate_steps=1..2", "rtt_steps=2", "cuts", "losses=5", "bursts=4", "rivals=2"]
)
def test_whatever_is_drawn_can_be_run(text):
    genome, random = Genome([text, "path.buffer=0.5bdp..8bdp"], 20), np.random.default_rng(5)
    from dumbbell.scenario.toml_text import tables_text

    for _ in range(50):
        changes = genome.changes(genome.drawn(random))
        from_text(tables_text(genome.tables(BASE, changes)))


def test_a_time_comes_at_round_numbers_as_often_as_at_others():
    genome, random = Genome(["outages"], 20), np.random.default_rng(1)
    times = [float(genome.changes(genome.drawn(random))[0].values[0].removesuffix("s")) for _ in range(1000)]
    assert 0.3 < sum(time % 5 == 0 for time in times) / 1000 < 0.5  # two of five: multiples of 5 s and of 10 s
    assert all(0 <= time <= 20 for time in times)


@pytest.mark.parametrize(
    ("low", "high", "middle"),
    [("10ms", "1s", "100ms"), ("1Mbps", "5Mbps", "3Mbps"), ("500ms", "8s", "2s"), (1, 100, 10)],
)
def test_ends_that_are_far_apart_are_drawn_by_equal_factors(low, high, middle):
    field = parsed("x", f"{low}..{high}", "--within")
    assert field.read((0.0,)) == low
    assert field.read((0.5,)) == middle
    assert field.read((1.0,)) == high


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "wanted KEY=RANGE"),
        ("outage", "wanted KEY=RANGE, such as path.rtt=10ms..100ms, or a kind of: outages"),
        ("path.rtt=10ms", "A..B"),
        ("path.rtt=100ms..10ms", "where B is above A"),
        ("path.rtt=10ms..1Mbps", "measure different things"),
        ("outages=0", "a number of events"),
        ("outages=3..1", "a number of events"),
        ("outages=1000", "up to 64"),
        ("outages:1s..2s:3s..4s", "ranges of: length, @ a time"),
        ("cuts@1s..2s", "ranges of: period, share"),
        ("cuts=2", "a number of events up to 1"),
        ("path.rtt=10ms..100ms@5s..9s", "wanted KEY=RANGE"),
        ("outages@20s..30s", "a part of the run, which ends at 20 s"),
        ("rate_steps:-1..2", "factor above zero"),
        ("outages:1Mbps..2Mbps", "measure different things"),
        ("path.rate=0Mbps..5Mbps/log", "with log A above zero"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(text, message, tmp_path):
    with pytest.raises(ScenarioError, match=message):
        searched(BASE, Asked(None, (text,), 8), tmp_path / "out")


@pytest.mark.parametrize(
    ("changed", "asked", "message"),
    [
        ({}, Asked(None, ()), "--within: missing"),
        ({}, Asked(None, ("cuts", "losses")), "both change path.loss"),
        ({}, Asked(None, ("path.rtt=1ms..2ms", "path.rtt=3ms..4ms")), "both change path.rtt"),
        ({}, Asked("goodput of main rises", ("outages",)), "--worst: "),
        ({}, Asked(None, ("outages",), 0), "--budget: got 0"),
        ({"expect": []}, Asked(None, ("outages",)), "--worst: missing next to 0"),
        ({}, Asked("goodput of nobody >= 1Mbps", ("outages",), 8), "--worst: no flow has the name or controller nobody"),
        ({"path": {**BASE["path"], "rtt": ["10ms", "20ms"]}}, Asked(None, ("outages",)), "path.rtt varies"),
        ({"path": {**BASE["path"], "loss": 0.01}}, Asked(None, ("cuts",), 8), "the path has a loss already"),
        ({"path": {**BASE["path"], "rate": {"lte": "mobile", "mean": "8Mbps", "length": "9s"}}},
         Asked(None, ("outages",), 8), "wanted one value, or steps"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_refused(changed, asked, message, tmp_path):
    with pytest.raises(ScenarioError, match=message):
        searched({**BASE, **changed}, asked, tmp_path / "out")


@pytest.fixture(scope="module")
def shrew(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search for the low-rate attack on Reno."""
    out = tmp_path_factory.mktemp("shrew") / "out"
    searched(BASE, SHREW, out)
    return out


def test_the_low_rate_attack_on_reno_is_found_and_made_small(shrew):
    text = (shrew / "finding-1.toml").read_text()
    assert 'buffer = "1bdp"' in text  # the buffer does nothing, and is as it was
    scenario = from_text(text)
    (result,) = dumbbell.run(scenario)
    assert result.summary.flows[0].goodput_mbps < 4
    repeat = scenario.path.loss.repeat / 1e9
    assert 0.2 <= repeat <= 0.6  # near the least timeout of 200 ms and the RTT: Kuzmanovic and Knightly, SIGCOMM 2003


def test_a_finding_is_a_scenario_whose_expectation_fails(shrew):
    (line,) = dumbbell.verify([shrew / "finding-1.toml"])
    assert line.word == "fails"
    head = (shrew / "finding-1.toml").read_text().partition("\n")[0]
    assert line.judged.measured in head


def test_a_search_is_repeated_to_the_byte(shrew, tmp_path):
    searched(BASE, SHREW, tmp_path / "out", jobs=1)
    searched(BASE, SHREW, tmp_path / "again", jobs=5)
    for name in ("trials.jsonl", "finding-1.toml", "curve.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_a_search_goes_on_where_it_was(shrew, tmp_path):
    out = tmp_path / "out"
    searched(BASE, SHREW._replace(budget=40), out, findings=0)
    before = (out / "trials.jsonl").read_text()
    searched(BASE, SHREW, out)
    assert (out / "trials.jsonl").read_text().startswith(before)
    assert (out / "finding-1.toml").read_bytes() == (shrew / "finding-1.toml").read_bytes()


def test_the_folder_of_another_search_is_left_alone(shrew):
    with pytest.raises(OutError, match="has another search"):
        searched(BASE, SHREW._replace(seed=2), shrew)
    with pytest.raises(OutError, match="is not empty"):
        searched(BASE, SHREW, shrew.parent)


def test_a_line_that_was_not_written_whole_is_tried_again(shrew, tmp_path):
    out = tmp_path / "out"
    searched(BASE, SHREW._replace(budget=20), out, findings=0)
    trials = out / "trials.jsonl"
    trials.write_bytes(trials.read_bytes()[:-30])
    for budget in (40, SHREW.budget):
        searched(BASE, SHREW._replace(budget=budget), out)
    assert (out / "finding-1.toml").read_text().partition("Found by")[0] == (
        shrew / "finding-1.toml"
    ).read_text().partition("Found by")[0]


def test_findings_of_before_are_replaced_and_a_smaller_budget_is_refused(tmp_path):
    out = tmp_path / "out"
    searched(BASE, SHREW._replace(budget=40), out)
    (out / "finding-7.toml").touch()
    searched(BASE, SHREW._replace(budget=48), out)
    assert not (out / "finding-7.toml").exists()
    with pytest.raises(OutError, match="has a search of 48, wanted that or more"):
        searched(BASE, SHREW._replace(budget=40), out)


def test_a_question_that_was_refused_leaves_its_folder_free(tmp_path):
    with pytest.raises(ScenarioError):
        searched(BASE, Asked(None, ("path.nonsense=1..5",), 8), tmp_path / "out")
    searched(BASE, Asked(None, ("outages",), 8), tmp_path / "out", findings=0)


def test_a_run_is_not_cut_where_the_scenario_itself_would_break_it(tmp_path):
    """In the first seconds slow start alone keeps the goodput down, and the outage would be over after the run."""
    base = {**BASE, "duration": "10s", "flow": [{"name": "main", "cca": "cubic"}]}
    asked = Asked("goodput of main >= 9.3Mbps", ("outages:50ms..300ms@3s..9s",), 40)
    (one,) = searched(base, asked, tmp_path / "out", findings=1).findings
    whole = from_text(one.text)
    (begin, _), (end, _) = _outage(one.text)
    assert begin < end < whole.duration / 1e9
    calm = {**base, "duration": f"{whole.duration / 1e9:g}s", "expect": [{"that": asked.worst}]}
    (line,) = dumbbell.verify([_written(tmp_path / "calm.toml", calm)])
    assert line.word == "holds"


def _outage(text: str) -> list[tuple[float, str]]:
    import tomllib

    steps = tomllib.loads(text)["path"]["rate"]["steps"]
    return [(float(time.removesuffix("s")), rate) for time, rate in steps[1:3]]


def _written(path: Path, tables: dict[str, Any]) -> Path:
    from dumbbell.scenario.toml_text import tables_text

    path.write_text(tables_text(tables))
    return path


def test_a_candidate_that_cannot_answer_is_unjudged_and_the_search_goes_on(tmp_path):
    late = {**BASE, "expect": [{"that": "goodput of main >= 8.5Mbps", "measure": {"from": "16s"}}]}
    (one, *_) = searched(late, Asked(None, ("cuts:200ms..400ms:5%..15%",), 24), tmp_path / "out").findings
    assert from_text(one.text).duration > 16e9


def test_a_transfer_that_never_completes_breaks_any_bound(tmp_path):
    short = {**BASE, "flow": [{"name": "main", "cca": "cubic", "size": "100kB", "start": "5s"}]}
    asked = Asked("fct of main <= 30s", ("outages:1s..30s@4s..6s",), 24)
    (one, *_) = searched(short, asked, tmp_path / "out").findings
    assert one.small.trial.measured == "never completed"


def test_a_finding_names_files_from_where_it_is(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "link.trace").write_text("\n".join(str(ms) for ms in range(1, 2000)))
    scenario = {**BASE, "path": {**BASE["path"], "rate": {"trace": "link.trace", "repeat": True}, "buffer": "50kB"}}
    path = _written(folder / "x.toml", scenario)
    search(path, None, within="cuts", budget=16, out=tmp_path / "out", findings=1)
    (line,) = dumbbell.verify([tmp_path / "out" / "finding-1.toml"])
    assert line.word == "fails"
    (folder / "link.trace").write_text("1\n2\n")
    with pytest.raises(OutError, match="of another engine or file"):
        search(path, None, within="cuts", budget=16, out=tmp_path / "out", findings=1)


def test_where_nothing_breaks_it_the_nearest_is_told(tmp_path):
    asked = Asked("goodput of main >= 1Mbps", ("path.buffer=1bdp..4bdp",), 16)
    found = searched(BASE, asked, tmp_path / "out")
    assert found.findings == []
    assert "Mbit/s, wanted >= 1 Mbit/s, with path.buffer" in found.nearest


def test_a_controller_is_held_against_another_in_the_same_environment(tmp_path):
    asked = Asked("goodput of main >= 0.9 x goodput of main with bbr", ("path.loss=0.0001..0.02",), 30)
    (one, *_) = searched(BASE, asked, tmp_path / "out").findings
    assert "goodput of main with bbr" in one.small.trial.wanted


def test_the_command_prints_findings_and_their_files(cli, tmp_path):
    (tmp_path / "x.toml").write_text(
        'duration = "10s"\n[path]\nrate = "10Mbps"\nrtt = "40ms"\nbuffer = "1bdp"\n[[flow]]\ncca = "reno"\n'
        '[[expect]]\nname = "busy"\nthat = "goodput >= 8.5Mbps"\n'
    )
    command = ("search", "x.toml", "--worst", "busy", "--within", "cuts", "--budget", "60", "--out", "out")
    (line, *_) = cli(*command, "--json").stdout.splitlines()
    told = json.loads(line)
    assert told["margin"] < 0
    assert told["wanted"] == ">= 8.5 Mbit/s"
    assert "fails" in cli("test", told["file"], "--json").stdout
    ended = cli(*command, "--exit-status", "--replay", "sim")
    assert ended.returncode == 1
    said = ended.stdout
    assert f"dumbbell test {told['file']}" in said
    assert f"on sim: fails, {told['measured']}" in said


def test_a_replay_says_what_comes_of_each_flow(cli, tmp_path):
    flows = [{"name": "main", "cca": "reno"}, {"name": "other", "cca": "cubic"}]
    _written(
        tmp_path / "x.toml", {**BASE, "duration": "10s", "flow": flows, "expect": [{"that": "goodput >= 4.9Mbps"}]}
    )
    command = ("search", "x.toml", "--within", "cuts", "--budget", "16", "--findings", "1", "--out", "out")
    said = [line.strip() for line in cli(*command, "--replay", "sim").stdout.splitlines() if "on sim: " in line]
    assert [line.rpartition(": ")[0] for line in said] == ["on sim: fails, main", "on sim: fails, other"]


@pytest.mark.parametrize("name", ["faster-link", "longer-path", "slower-link"])
def test_the_worst_cases_of_the_page_are_still_so(name):
    assert {line.word for line in dumbbell.verify([f"gallery:worst/{name}"])} == {"holds"}
