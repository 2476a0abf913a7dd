"""What papers say of how algorithms work and tests are set up: every such sentence is a claim that reads the product and can
fail, most without a run, and `dumbbell cca show` says how they came out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from math import isnan
from pathlib import Path

import pytest

import dumbbell
from conftest import Cli
from dumbbell import suites
from dumbbell.runs.store import Store
from dumbbell.suites import phases, specification, standing
from dumbbell.suites.book import Book
from dumbbell.suites.table import FULL

ROOT = Path(__file__).parents[1]

#: The figures, tables and algorithms that describe, with the number of claims that the papers' catalogue has of each.
DESCRIBED = {
    "kfoury2020/fig1": 2,
    "kfoury2020/fig2": 8,
    "kfoury2020/fig3": 0,
    "yang2021/fig1": 10,
    "yang2021/fig2": 12,
    "yang2021/fig3": 0,
    "yang2021/table1": 1,
    "yang2021/fig13": 16,
    "yang2021/fig13-printed": 0,
    "yang2021/fig14": 0,
    "zhang2019/fig1": 0,
    "zhang2019/fig2": 10,
    "zhang2019/alg1": 5,
    "zhang2019/fig3": 8,
    "zhang2019/fig4": 0,
    "zhang2019/table1": 1,
    "zhang2019/table2": 1,
    "zhang2019/table6": 1,
}
ENTRIES = [
    name for suite in suites.known() for name in suites.ids(suite) if suites.text_of(name).category == "specification"
]
WITHOUT_RUNS = [name for name in ENTRIES if not list(suites.entry_of(name).cases(FULL, ()))]


def test_every_description_of_the_papers_is_an_entry_with_all_its_claims() -> None:
    assert sum(DESCRIBED.values()) == 75
    assert list(DESCRIBED) == ENTRIES
    for name, count in DESCRIBED.items():
        ids = [claim.id for claim in suites.text_of(name).claims]
        assert ids == [f"c{number}" for number in range(1, len(ids) + 1)]
        assert len(ids) >= max(count, 1), name


@pytest.mark.parametrize("name", ENTRIES)
def test_a_claim_is_about_the_controllers_of_its_lines(name: str, tmp_path: Path) -> None:
    cases = list(Book(Store(tmp_path), FULL).settings(name))
    for claim in suites.text_of(name).claims:
        about = set(claim.about or suites.text_of(name).about)
        flows = [flow for case in cases if case.series in claim.series for flow in case.scenario["flow"]]
        own = [flow for flow in flows if flow["name"] in claim.series] or flows
        assert not about or {flow["cca"] for flow in own} <= about, claim.id


def test_tables_of_settings_are_judged_without_a_run(tmp_path: Path) -> None:
    assert {"zhang2019/table1", "zhang2019/table2", "zhang2019/table6", "kfoury2020/fig3"} <= set(WITHOUT_RUNS)
    book = Book(Store(tmp_path), FULL)
    assert book.jobs(book.needed(WITHOUT_RUNS)) == []
    for name in WITHOUT_RUNS:
        assert {verdict.verdict for verdict in book.judged(name).verdicts} <= {"holds", "unjudged"}, name


@pytest.mark.parametrize("name", ENTRIES)
def test_what_no_run_shows_names_the_test_that_holds_it(name: str) -> None:
    for claim, reason in suites.entry_of(name).unjudged.items():
        files = re.findall(r"(?:cca|crates)/[\w/]+\.(?:toml|rs)", reason)
        assert files or claim == "c16", "the number of lines of another's file"
        assert all((ROOT / file).is_file() for file in files)
        for test in re.findall(r"claims\.rs, (\w+)", reason):
            assert f"fn {test}()" in (ROOT / "crates/cca/tests/claims.rs").read_text(encoding="utf-8")


def _fails(cli: Cli, tmp_path: Path, *words: str) -> list[str]:
    """The claims of an entry that fail."""
    done = cli("reproduce", *words, "--json", "--out", tmp_path / "out", "--store", tmp_path / "store", "-q")
    assert done.returncode == 0, done.stderr
    return [claim["id"] for claim in json.loads(done.stdout)["claims"] if claim["verdict"] == "fails"]


def test_a_claim_fails_where_the_product_is_changed(cli: Cli, tmp_path: Path) -> None:
    assert _fails(cli, tmp_path, "yang2021/fig1") == []
    changed = "flow[0].params={bw_window=9, probe_rtt_ms=100}"
    # c8 is read from the runs, c9 from the parameters
    assert _fails(cli, tmp_path, "yang2021/fig1", "--set", changed) == ["c8", "c9"]


def test_a_table_prints_its_claims_as_figures_do(cli: Cli, tmp_path: Path) -> None:
    words = ("reproduce", "zhang2019/table1", "--out", tmp_path / "out", "--store", tmp_path / "store")
    done = cli(*words)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("zhang2019/table1: The link l2")
    assert re.search(r"c4 Queue as printed.* holds .*11 points", done.stdout)
    assert not (tmp_path / "out/zhang2019-table1.png").exists()
    told = cli("reproduce", "yang2021/fig13", "--out", tmp_path / "out", "--store", tmp_path / "store")
    assert (
        "\n  c6: fails in the paper's own program too: The module and the paper have different values.\n" in told.stdout
    )
    refused = cli(*words, "--at", "case=3")
    assert refused.returncode == 2
    assert "--at: got case=3, wanted an entry with runs: zhang2019/table1 has none" in refused.stderr.replace('"', "")


def test_phases_are_those_that_the_controller_enters(tmp_path: Path) -> None:
    (run,) = dumbbell.run(
        dumbbell.from_text(
            'duration = "4s"\npath = { rate = "20Mbps", rtt = "20ms", buffer = "2bdp" }\n'
            'record = { every = "1ms" }\nflow = [{ cca = "cubic" }, { cca = "bbr2", start = "1s" }]'
        ),
        tmp_path / "run",
    )
    course = phases.Course(run, "bbr2")
    entered = [
        (event["t_ns"] / 1e9, event["note"].removeprefix("PROBE_BW_"))
        for event in run.events.to_pylist()
        if event["kind"] == "cca_state" and event["flow"] == 1
    ]
    begun = [(float(course.time_s[phase.begin]), phase.name) for phase in course.phases() if phase.name != "STARTUP"]
    assert len(begun) > 3
    for begin, name in begun:
        assert any(name == other and 0 <= begin - at <= 0.0011 for at, other in entered), name
    assert all(map(isnan, phases.METRICS["cycle_rtts"].read(run, "cubic"))), "a controller without states has no phases"


# --- in a suite of one's own ---------------------------------------------------------------------------------------------

SUITE = {
    "suite": 'title = "Set-ups"',
    "entries": """
[flows]
BBR = { cca = "bbr", params = { probe_up_gain = 320 } }

[[entry]]
id = "runs"
at = { case = { along = "path.rate", values = [1, 2] } }
together = [["path.rate", "path.buffer"]]
path = { rate = ["5Mbps", "6Mbps"], buffer = ["100ms", "0.15s"], rtt = "100ms" }
duration = "1s"
flow = ["BBR"]

[[entry]]
id = "said"
""",
    "claims": '[[entry]]\nid = "runs"\ntitle = "runs"\n',
    "specification": """
[[entry]]
id = "said"
title = "what is said"
claims = [
  { id = "c1", text = "gain", kind = "value", metric = "probe_up_gain", series = "BBR", read = { source = "parameters" }, expected = 1.25, tol = { kind = "abs", sim = 0 } },
  { id = "c2", text = "queue", kind = "value", metric = "path.buffer / path.rtt", read = { source = "settings", entry = "runs", by = "case", over = "difference", parts = [{}, { numbers = [1, 1.5] }] }, expected = 0, tol = { kind = "abs", sim = 0 } },
  { id = "c3", text = "sum", kind = "value", metric = "path.rtt + 2 * path.rtt", read = { source = "settings", entry = "runs" }, expected = 300, tol = { kind = "abs", sim = 0 } },
]
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The suite."""
    place = tmp_path / "setups"
    place.mkdir()
    for name, text in SUITE.items():
        (place / f"{name}.toml").write_text(text)
    return place


def _edit(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / f"{file}.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def _verdicts(folder: Path) -> list[str]:
    (said,) = dumbbell.reproduce(f"{folder}/said", folder / "out", profile="fast", store=folder / "store")
    assert said.picture is None
    return [verdict.verdict for verdict in said.judged.verdicts]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("", "", ["holds", "holds", "holds"]),
        ("probe_up_gain = 320", "probe_up_gain = 321", ["fails", "holds", "holds"]),
        ('"0.15s"', '"0.16s"', ["holds", "fails", "holds"]),
        ('rtt = "100ms"', 'rtt = "0.11s"', ["holds", "fails", "fails"]),
    ],
)
def test_parameters_and_settings_are_those_that_the_suite_has(
    folder: Path, old: str, new: str, wanted: list[str]
) -> None:
    _edit(folder, "entries", old, new)
    assert _verdicts(folder) == wanted


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('metric = "probe_up_gain"', 'metric = "gain"', "setups/said#c1: bbr has no parameter gain: startup_gain, "),
        ('series = "BBR"', 'series = "CUBIC"', "setups/said#c1: CUBIC: neither a line nor a name of [flows]: BBR"),
        ("path.rtt + 2", "path.rt + 2", "setups/said#c3: path.rt: None is no number or quantity"),
        ("[1, 1.5]", "[1, 1.5, 2]", "setups/said#c2: 2 places against 3"),
        ("[1, 1.5]", '["1"]', "numbers: got [\"1\"], wanted a number"),
        ('"settings", entry = "runs", by = "case"', '"settings", entry = "runs"', 'read.by: missing: the axis of `numbers`'),
        ('source = "parameters"', 'source = "params"', 'read.source: got "params", wanted one of: "runs", "parameters", '),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_error_that_names_the_claim(
    folder: Path, cli: Cli, old: str, new: str, said: str
) -> None:
    _edit(folder, "specification", old, new)
    done = cli("reproduce", f"{folder}/said", "--out", "out", "--store", "store", "-q")
    assert done.returncode == 2, done.stdout
    assert said in done.stderr


def test_a_figure_of_every_flow_needs_to_know_which_of_them(folder: Path, cli: Cli) -> None:
    (folder / "claims.toml").write_text(
        '[[entry]]\nid = "runs"\ntitle = "runs"\nclaims = [{ id = "c1", text = "each", kind = "value", metric ='
        ' "each goodput", expected = 5, tol = { kind = "abs", sim = 1 } }]\n'
    )
    done = cli("reproduce", f"{folder}/runs", "--out", "out", "--store", "store", "-q")
    assert done.returncode == 2
    assert "setups/runs#c1: each goodput has several numbers for each run: read = { ends = true }" in done.stderr


# --- dumbbell cca show ---------------------------------------------------------------------------------------------------


def test_cca_show_counts_the_statements_that_hold_and_names_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = {"claims": {"zhang2019/alg1#c4": "holds", "zhang2019/alg1#c6": "fails", "zhang2019/alg1#c1": "holds"}}
    monkeypatch.setattr(specification, "stored", lambda: kept)
    said = "Papers: 3 statements about it, 2 checked, 1 hold:\n  dumbbell reproduce zhang2019/alg1"
    assert specification.summary("bbr-hsr") == said
    assert dumbbell.cli.main(["cca", "show", "bbr-hsr"]) == 0
    assert f"\n\n{said}\n\n" in capsys.readouterr().out
    assert specification.summary("cubic") == ""


def test_cca_show_has_the_verdicts_as_json(cli: Cli) -> None:
    shown = json.loads(cli("cca", "show", "bbr2plus", "--json").stdout)
    assert shown["parameters"]["loss_thresh"]["default"] == 5
    assert shown["presets"]["paper"]["loss_thresh"] == 51
    statements = [(statement["entry"], statement["id"]) for statement in shown["papers"]]
    assert ("yang2021/table1", "c1") in statements
    assert statements.count(("yang2021/fig13-printed", "c6")) == 1
    kept = standing.stored()["claims"]
    assert all(
        statement["verdict"] == kept.get(f"{statement['entry']}#{statement['id']}", "unjudged")
        for statement in shown["papers"]
    )


def test_cca_show_says_nothing_of_a_controller_of_ones_own(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import dumbbell\n\n\nclass Mine(dumbbell.Controller):\n    name = 'bbr2'\n\n    def on_ack(self, ack):\n        pass\n"
    )
    done = cli("cca", "show", tmp_path / "mine.py")
    assert "Papers:" not in done.stdout


def test_cca_show_reads_no_more_of_the_suites_than_it_needs() -> None:
    program = (
        "import sys; from dumbbell.suites import specification; assert specification.summary('bbr2'); "
        "sys.exit(bool({'numpy', 'pyarrow', 'dumbbell.suites.claims'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
