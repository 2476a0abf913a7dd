"""`dumbbell test`: what scenario files expect of their runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

import dumbbell
from conftest import Cli
from dumbbell import ScenarioError
from dumbbell.judge import HOLDS
from dumbbell.judge.parse import sentence
from dumbbell.judge.parse_values import EVENTS
from dumbbell.plan import runs as plans

ROOT = Path(__file__).resolve().parent.parent

PAIR = """
name = "pair"
duration = "5s"

[path]
rate = "10Mbps"
rtt = "20ms"
buffer = ["1bdp", "4bdp"]

[host]
start_jitter = "20ms"

[[flow]]
name = "main"
cca = "cubic"

[[flow]]
name = "newcomer"
cca = "bbr3"
"""


def expecting(folder: Path, *tables: str, scenario: str = PAIR, name: str = "pair.toml") -> Path:
    """A scenario file with these [[expect]] tables."""
    file = folder / name
    file.write_text(scenario + "".join(f"\n[[expect]]\n{table}\n" for table in tables), encoding="utf-8")
    return file


def words(folder: Path, *sentences: str, **how: Any) -> list[str]:
    """The word for each sentence, over all its places."""
    file = expecting(folder, *(f"that = {json.dumps(text)}" for text in sentences))
    lines = dumbbell.verify(file, store=folder / "store", **how)
    by_number: dict[int, list[str]] = {}
    for line in lines:
        by_number.setdefault(line.asked.number, []).append(line.word)
    return ["holds" if set(said) == {"holds"} else next(w for w in said if w != "holds") for said in by_number.values()]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("jain>=0.9", "jain >= 0.9"),
        ("share of a <= 1.2 x share of a with cubic", "share of a <= 1.2 x share of a with cubic"),
        ("queue_p95 <= 20ms from 10s to 20s", "queue_p95 from 10s to 20s <= 20.0"),
        ("goodput of a >= 500kbps", "goodput of a >= 0.5"),
        ("retrans_rate <= 2", "retrans_rate <= 0.02"),
        ("state PROBE_RTT of a never", "state PROBE_RTT of a == 0.0"),
        ("cwnd_max of a to 20rtt <= 40", "cwnd_max of a to 20rtt <= 40.0"),
        ("event rto of a from 2rtt to 5s == 0", "event rto of a from 2rtt to 5s == 0.0"),
    ],
)
def test_a_sentence_is_read_with_its_units(text: str, read: str) -> None:
    said: Any = sentence(text)
    assert f"{said.left} {said.sign} {said.right}" == read


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jane >= 0.9", 'did you mean "jain"?'),
        ("jain >= 90", 'wanted "0.9" or "90%"'),
        ("retrans_rate <= 0.02", "percent in tables, a fraction in JSON"),
        ("queue <= 5Mbps", "behind queue"),
        ("goodput >= 0.5 x queue", 'a value in the unit of "goodput"'),
        ("jain >= 0.9 and so", 'nothing more behind "jain >= 0.9"'),
        ("event foo == 0", "an event, one of: start"),
        ("stay in DRAIN <= 3", "a time with its unit"),
        ("queue is flat along path.buffer", "how flat"),
        ("goodput", "a sign (>="),
        ("order a by goodput", "two names or more"),
    ],
)
def test_a_sentence_that_says_nothing_clear_is_refused_by_its_word(text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        sentence(text, "expect[0].that")
    assert str(caught.value).startswith("expect[0].that: ")
    assert said in str(caught.value)


def test_the_events_are_those_of_the_engine() -> None:
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    table = page.partition("| kind | meaning |")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == EVENTS


def test_each_form_holds_where_it_is_true_and_fails_where_it_is_not(tmp_path: Path) -> None:
    pairs = [
        ("utilization >= 80%", "utilization >= 99.99%"),
        ("5% <= share of newcomer <= 95%", "45% <= share of newcomer <= 46%"),
        ("queue rises along path.buffer", "queue falls along path.buffer"),
        ("queue of all is flat along path.buffer +- 1000%", "queue is flat along path.buffer +- 1%"),
        ("order main > newcomer by goodput +- 100Mbps", "order newcomer > main by goodput +- 100Mbps"),
        ("state DRAIN of newcomer after STARTUP ends <= 100ms", "state STARTUP of newcomer after DRAIN ends <= 4s"),
        ("stay in DRAIN of newcomer <= 2s", "stay in STARTUP of newcomer <= 1ms"),
        ("state STARTUP of newcomer == 1", "state STARTUP of newcomer never"),
        ("event established == 2", "event established of main == 2"),
        ("goodput of lowest <= 1 x goodput of highest", "goodput of lowest >= 1.01 x goodput of highest"),
        ("goodput of main >= 0.01 x goodput of main with path.rate=20Mbps", "goodput of main >= 2 x goodput of main"),
    ]
    said = words(tmp_path, *(text for pair in pairs for text in pair))
    # An order within its tolerance is a tie, which fails on both sides.
    expected = ["holds", "fails"] * len(pairs)
    expected[8] = "fails"
    assert said == expected


def test_a_time_in_rtts_is_that_of_the_flows_it_is_of(tmp_path: Path) -> None:
    pairs = [f"cwnd_max of main to {time} <= {most}" for time in ("3rtt", "60ms") for most in (12, 80)]
    tables = [f'that = "{text}"' for text in pairs]
    fine = expecting(tmp_path, *tables, scenario=PAIR + '\n[record]\nevery = "5ms"\n')
    lines = dumbbell.verify(fine, store=tmp_path / "store", overrides=["path.buffer=4bdp", "host.start_jitter=0s"])
    assert [line.word for line in lines] == ["fails", "holds"] * 2
    far = PAIR.replace('cca = "bbr3"', 'cca = "bbr3"\nrtt = "50ms"')
    file = expecting(tmp_path, 'that = "goodput from 0s to 3rtt <= 1"', scenario=far)
    with pytest.raises(ScenarioError, match="its flows have 2 RTTs, wanted `of`"):
        dumbbell.verify(file, store=tmp_path / "store")


def test_the_window_after_a_loss_is_that_of_the_controller(tmp_path: Path) -> None:
    lone = """
        name = "lone"
        duration = "10s"
        path = { rate = "20Mbps", rtt = "20ms", buffer = "4bdp", loss = { packets = [6000] } }
        record = { every = "10ms" }
        flow = [{ name = "main", cca = "reno" }]
    """
    text = "cwnd_min of main from 2s to 5s == {} x cwnd_max of main from 2s to 5s +- 5%"
    tables = [f'that = "{text.format(factor)}"' for factor in (0.5, 0.7)]
    file = expecting(tmp_path, *tables, scenario=textwrap.dedent(lone), name="lone.toml")
    for candidate, said in (("reno", ["holds", "fails"]), ("cubic", ["fails", "holds"])):
        lines = dumbbell.verify(file, store=tmp_path / "store", overrides=[f"flow[0].cca={candidate}"])
        assert [line.word for line in lines] == said, candidate


def test_a_candidate_that_a_table_has_already_keeps_its_parameters(tmp_path: Path) -> None:
    scenario = PAIR.replace(
        'name = "main"\ncca = "cubic"', 'name = "candidate"\ncca = "bbr3"\nparams = { ecn_enable = 1 }'
    )
    file = expecting(tmp_path, 'that = "utilization >= 1%"', scenario=scenario)
    from dumbbell.expect.asked import read

    def parameters(cca: str) -> object:
        return read(file, candidate=cca).jobs[()][0].planned.plan["flows"][0]["params"].get("ecn_enable")

    assert [parameters("bbr3"), parameters("bbr2")] == [1, None]


def test_a_case_runs_the_same_scenario_with_another_controller_and_shares_its_runs(tmp_path: Path) -> None:
    file = expecting(
        tmp_path,
        'that = "goodput of main >= 1 x goodput of main with newcomer=cubic"',
        'that = "goodput of main >= 1 x goodput of main with flow[1].cca=cubic"',
    )
    lines = dumbbell.verify(file, store=tmp_path / "store")
    alone = dumbbell.run({**_tables(PAIR), "flow": [{"cca": "cubic", "name": "main"}, {"cca": "cubic"}]})
    wanted = [run.summary.flows[0].goodput_mbps for run in alone]
    assert [float(re.findall(r"= (\S+) Mbit/s", line.judged.wanted)[0]) for line in lines[:2]] == [
        pytest.approx(value, rel=1e-3) for value in wanted
    ]
    assert len(list((tmp_path / "store").glob("??/*"))) == 4


def _tables(text: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(text)


def test_with_a_controller_alone_asks_whose_where_several_differ(tmp_path: Path) -> None:
    file = expecting(tmp_path, 'that = "utilization >= 0.9 x utilization with reno"')
    with pytest.raises(ScenarioError, match=r"whose controller it replaces.*main=reno"):
        dumbbell.verify(file)


def test_expectations_change_no_plan(tmp_path: Path) -> None:
    bare, at = dumbbell.from_text(PAIR), 'at = { "path.buffer" = ["1bdp", "4bdp"] }'
    file = expecting(tmp_path, 'that = "jain >= 0.5"', f'that = "queue >= 0"\n{at}')
    assert [run.plan for run in plans(bare)] == [run.plan for run in plans(dumbbell.from_file(file).scenario)]


def test_an_expectation_about_values_that_never_come_is_an_error_and_no_pass(tmp_path: Path) -> None:
    for at, said in (
        ('{ "path.buffer" = ["3bdp"] }', r"pair.toml:23: expect\[0\].at.path.buffer: .*one of: 1bdp, 4bdp"),
        ('{ "path.rtt" = "20ms" }', "a key that varies: path.buffer"),
    ):
        with pytest.raises(ScenarioError, match=said):
            dumbbell.verify(expecting(tmp_path, f'that = "jain >= 0.1"\nat = {at}'))
    for sentence_, said in (
        ("share of newcommer >= 0.1", "no flow has the name or controller newcommer, wanted one of: main, newcomer"),
        ("state PROBE_RTTT of newcomer never", "no controller of these flows has a state PROBE_RTTT"),
        ("queue falls along path.rate", "a key that varies: path.buffer"),
    ):
        with pytest.raises(ScenarioError, match=said):
            dumbbell.verify(expecting(tmp_path, f'that = "{sentence_}"'), store=tmp_path / "store")


def test_nothing_to_judge_is_an_error(tmp_path: Path) -> None:
    expecting(tmp_path, 'that = "jain >= 0.5"\non = "uml"')
    (tmp_path / "other.toml").write_text("[tool]\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"--on: no \[\[expect\]\] of these files is judged on sim"):
        dumbbell.verify(tmp_path)
    (tmp_path / "pair.toml").unlink()
    with pytest.raises(ScenarioError, match=r"no \[\[expect\]\] in"):
        dumbbell.verify(tmp_path)


def test_the_repetitions_are_those_of_all_expectations_also_where_one_is_asked_for_alone(tmp_path: Path) -> None:
    file = expecting(tmp_path, 'that = "utilization >= 0.1"\nrepetitions = 3', 'that = "queue >= 0"')
    lines = dumbbell.verify(file, only="queue", store=tmp_path / "store")
    assert {line.judged.verdict.measured.n for line in lines if line.judged.verdict.measured} == {3}


def test_a_window_is_that_of_the_sentence_then_of_the_table(tmp_path: Path) -> None:
    file = expecting(
        tmp_path,
        'that = "goodput of main >= 0"',
        'that = "goodput of main >= 0"\nmeasure = { from = "2s" }',
        'that = "goodput of main from 3s >= 0"\nmeasure = { from = "2s" }',
    )
    lines = [line for line in dumbbell.verify(file, store=tmp_path / "store") if line.vary["path.buffer"] == "1bdp"]
    run = dumbbell.load(lines[0].folder)[0]
    for line, start in zip(lines, (None, 2.0, 3.0), strict=True):
        window = None if start is None else (start, 5.0)
        expected = dumbbell.metrics.goodput_bps(run, 0, window) / 1e6
        assert line.judged.measured == f"{expected:.4g} Mbit/s"


def test_a_baseline_is_kept_beside_the_file_and_a_changed_scenario_leaves_it(cli: Cli, tmp_path: Path) -> None:
    expecting(tmp_path, 'that = "goodput within 2% of baseline"', 'that = "queue within 2% of baseline"')
    before = cli("test", "pair.toml")
    assert before.returncode == 1
    assert "unjudged" in before.stdout
    assert "--save-baseline" in before.stdout
    assert cli("test", "pair.toml", "--save-baseline", "main").returncode == 0
    assert (tmp_path / "baselines/main.json").exists()
    assert cli("test", "pair.toml").returncode == 0
    changed = cli("test", "pair.toml", "--set", "host.start_jitter=200ms")
    assert changed.returncode == 1
    assert "FAILS" in changed.stdout


#: BBRv3 alone at random loss of 2 %, which is its threshold.
LOSSY = """
name = "lossy"
duration = "20s"
repetitions = 6

[path]
rate = "50Mbps"
rtt = "40ms"
buffer = "1bdp"
loss = "2%"

[host]
start_jitter = "20ms"

[[flow]]
cca = "bbr3"
"""


class Change(NamedTuple):
    """A constant in a source of a controller, and a sentence that it breaks."""

    cca: str
    file: str
    constant: str
    changed: str
    scenario: str
    that: str


BETA = Change(
    "cubic", "cubic/core.h", "P(beta, 717,", "P(beta, 820,",
    PAIR.replace('duration = "5s"', 'duration = "20s"\nrepetitions = 3').replace("bbr3", "reno"),
    "queue within 2% of baseline",
)  # fmt: skip
THRESHOLD = Change(
    "bbr3", "bbr2/params.h", "P(loss_thresh, 5,", "P(loss_thresh, 10,", LOSSY, "goodput within 2% of baseline"
)


@pytest.mark.parametrize("change", [BETA, THRESHOLD], ids=["cubic-beta", "bbr3-loss-threshold"])
def test_one_constant_of_a_controller_turns_it_red_and_a_comment_does_not(
    cli: Cli, tmp_path: Path, change: Change
) -> None:
    shutil.copy(ROOT / f"cca/{change.cca}.c", tmp_path)
    for folder in ("bbr2", "cubic"):
        shutil.copytree(ROOT / "cca" / folder, tmp_path / folder)
    own = tmp_path / change.file
    source = own.read_text(encoding="utf-8")
    assert change.constant in source
    expecting(tmp_path, f'that = "{change.that}"', scenario=change.scenario)
    how = ("test", "pair.toml", "--cca", f"{change.cca}.c")
    assert cli(*how, "--save-baseline", "main").returncode == 0
    own.write_text(source + "/* a comment */\n", encoding="utf-8")
    assert cli(*how).returncode == 0
    own.write_text(source.replace(change.constant, change.changed), encoding="utf-8")
    red = cli(*how)
    assert (red.returncode, red.stderr.count("rror")) == (1, 0)
    assert f"FAILS     {change.that}" in red.stdout


def test_a_failure_says_what_was_measured_wanted_where_and_how_to_repeat_it(cli: Cli, tmp_path: Path) -> None:
    expecting(
        tmp_path,
        'that = "jain >= 0.9999"\nname = "as fair as can be"\nwhy = "RFC 9743, 5.1.4"\nat = { "path.buffer" = "4bdp" }',
        'that = "utilization >= 50%"',
        'that = "queue <= 1ms"\nseverity = "warn"',
    )
    done = cli("test", "--junit", "j.xml", "--summary", "s.md", "--annotate")
    assert done.returncode == 1
    assert re.search(
        r"FAILS +as fair as can be: 0\.\d+, wanted >= 0.9999, buffer 4bdp\n +RFC 9743, 5.1.4\n", done.stdout
    )
    again = re.search(r"again: dumbbell (test .*)", done.stdout)
    assert again is not None
    repeated = cli("test", "pair.toml", "-k", "as fair as can be")
    assert repeated.returncode == 1
    assert again[1] == "test pair.toml -k 'as fair as can be'"
    assert "::error file=pair.toml,line=21,title=as fair as can be%3A fails::" in done.stdout
    assert "::warning file=pair.toml,line=30,title=queue <= 1ms%3A fails::" in done.stdout
    root = ElementTree.fromstring((tmp_path / "j.xml").read_text(encoding="utf-8"))
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("5", "1", "2")
    assert [case.get("line") for case in root.iter("testcase") if case.find("failure") is not None] == ["21"]
    summary = (tmp_path / "s.md").read_text(encoding="utf-8")
    assert summary.startswith("### dumbbell test: 1 holds, 1 fails, 1 warned of\n")
    assert "| fails | as fair as can be |" in summary


def test_unclear_is_said_and_ends_red_where_it_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    # Three repetitions of one bound at their own mean: the interval holds the line.
    expecting(tmp_path, 'that = "goodput of main >= 0"\nrepetitions = 3\nat = { "path.buffer" = "1bdp" }')
    lines = dumbbell.verify(tmp_path / "pair.toml", store=tmp_path / "results/.store")
    mean = lines[0].judged.verdict.measured
    assert mean is not None
    at = 'repetitions = 3\nat = { "path.buffer" = "1bdp" }'
    expecting(tmp_path, f'that = "goodput of main >= {mean.mean + mean.half_width / 2:.6f}"\n{at}')
    said = cli("test", "pair.toml")
    assert said.returncode == 0
    assert "1 unclear" in said.stdout
    assert cli("test", "pair.toml", "--fail-on", "unclear").returncode == 1


def test_json_has_a_line_for_each_place_and_row(cli: Cli, tmp_path: Path) -> None:
    expecting(tmp_path, 'that = "goodput >= 0"')
    lines = [json.loads(text) for text in cli("test", "pair.toml", "--json").stdout.splitlines()]
    assert [(line["vary"]["path.buffer"], line["of"]) for line in lines] == [
        ("1bdp", "main"), ("1bdp", "newcomer"), ("4bdp", "main"), ("4bdp", "newcomer"),
    ]  # fmt: skip
    assert {line["verdict"] for line in lines} == {HOLDS}


def test_the_order_of_files_and_the_number_of_workers_change_no_verdict(tmp_path: Path) -> None:
    one = expecting(tmp_path, 'that = "queue >= 0"', name="one.toml")
    other = expecting(tmp_path, 'that = "jain >= 0.999"', name="other.toml", scenario=PAIR.replace('"pair"', '"other"'))
    first = dumbbell.verify([one, other], jobs=1, store=tmp_path / "a")
    again = dumbbell.verify([other, one], jobs=2, store=tmp_path / "b")
    verdicts = [sorted(f"{line.file} {line.judged}" for line in lines) for lines in (first, again)]
    assert verdicts[0] == verdicts[1]


def test_check_reads_the_sentences_too(cli: Cli, tmp_path: Path) -> None:
    expecting(tmp_path, 'that = "jane >= 0.5"')
    refused = cli("check", "pair.toml")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("dumbbell: pair.toml:22: expect[0].that: ")


def test_the_action_of_github_tests_a_scratch_repository(tmp_path: Path) -> None:
    """The last step of action.yml as the runner would start it, with the package of this checkout."""
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    script = textwrap.dedent(action.rpartition("run: |\n")[2])
    program = tmp_path / "bin/dumbbell"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m dumbbell "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    own = tmp_path / "cubic.c"
    own.write_text((ROOT / "cca/cubic.c").read_text(encoding="utf-8"), encoding="utf-8")
    expecting(tmp_path, 'that = "utilization >= 50%"')
    environment = {
        **os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "FILES": ".", "CCA": "cubic.c\n", "OPTIONS": "",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("### dumbbell test: 1 holds\n")
    assert (tmp_path / "dumbbell-junit.xml").exists()


def test_a_candidate_may_be_given_parameters(tmp_path: Path) -> None:
    scenario = PAIR.replace(
        'name = "newcomer"\ncca = "bbr3"', 'name = "candidate"\ncca = "bbr3"\nparams = { beta = 10 }'
    )
    file = expecting(tmp_path, 'that = "goodput of candidate >= 0"', scenario=scenario)
    how: dict[str, Any] = {"candidate": "cubic", "store": tmp_path / "store"}
    plain = dumbbell.verify(file, **how)
    given = dumbbell.verify(file, overrides=["flow[1].params={ beta = 900 }"], **how)
    assert [line.judged.measured for line in plain] != [line.judged.measured for line in given]
