"""`dumbbell evaluate` and `dumbbell suite`: known answers on controllers, and what is printed beside them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from conftest import ROOT, Cli
from dumbbell import ScenarioError, plan
from dumbbell.expect import evaluated, suites
from dumbbell.scenario import gallery
from dumbbell.scenario.file import from_file

SUITE = suites.find("rfc9743")


def lines(cell: str, candidate: str, store: Path, *overrides: str, **how: Any) -> dict[str, set[str]]:
    """The words of a cell's bounds, by severity."""
    quick = SUITE.head.quick.set
    file = next(file for file in SUITE.files if file.stem == cell)
    words: dict[str, set[str]] = {"fail": set(), "warn": set()}
    for line in dumbbell.verify(file, candidate=candidate, overrides=(*quick, *overrides), store=store, **how):
        words[line.asked.table.severity].add(line.word)
    return words


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that the tests share."""
    return tmp_path_factory.mktemp("store")


FAILS, PASSES, CONCERNS = "fail", "pass", "concern"

#: Measured in several seeds, and on Linux where it matters: cell, controller, keys, word of the worst place.
KNOWN = [
    ("5.1.1-random-loss", "bbr", ('path.loss=["10%", "50%"]',), CONCERNS),
    ("5.1.1-random-loss", "bbr3", ('path.loss=["10%", "50%"]',), PASSES),
    ("5.1.2-standing-queue", "bbr3", ('path.buffer=["4bdp", "64bdp"]',), PASSES),
    ("5.1.2-standing-queue", "cubic", ('path.buffer=["4bdp", "64bdp"]',), FAILS),
    ("5.1.2-standing-queue", "reno", ('path.buffer=["4bdp", "64bdp"]',), FAILS),
    ("5.1.3-shallow-buffers", "bbr", ("flow[0].count=2", "path.buffer=0.5bdp"), FAILS),
    ("5.1.3-shallow-buffers", "bbr", ("flow[0].count=2", "path.buffer=1bdp"), FAILS),
    ("5.1.3-shallow-buffers", "bbr", ("flow[0].count=2", "path.buffer=1.5bdp"), PASSES),
    ("5.1.3-shallow-buffers", "bbr3", ("flow[0].count=2", "path.buffer=0.5bdp"), PASSES),
    ("5.1.4-rtt", "bbr", ("path.buffer=4bdp",), FAILS),
    ("5.1.4-rtt", "cubic", ("path.buffer=4bdp",), PASSES),
    ("5.1.5-short-beside-long", "bbr", ("path.buffer=0.5bdp",), FAILS),
    ("5.1.5-short-beside-long", "bbr", ("path.buffer=1bdp",), FAILS),
    ("5.2.1-newcomer", "bbr", ("path.buffer=0.5bdp", "flow[0].cca=cubic"), FAILS),
    ("5.2.1-newcomer", "bbr", ("path.buffer=1bdp", "flow[0].cca=reno"), FAILS),
    ("5.2.1-newcomer", "cubic", ("path.buffer=1bdp", "flow[0].cca=reno"), PASSES),
    ("7.1-aqm-ecn", "dctcp", ("path.qdisc={ kind = 'codel', ecn = true }",), FAILS),
    ("5.1.4-latecomer", "bbr2", ("path.buffer=0.5bdp",), FAILS),
    ("5.1.4-latecomer", "bbr3", ("path.buffer=1bdp",), PASSES),
    ("7.1-ce-response", "bbr", (), FAILS),
    ("7.1-ce-response", "bbr3", (), FAILS),
    ("7.1-ce-response", "dctcp", (), FAILS),
    ("7.1-ce-response", "reno", (), PASSES),
    ("7.1-ce-response", "cubic", (), PASSES),
    ("7.2-random-loss", "bbr", ("path.loss=10%",), FAILS),
    ("7.2-random-loss", "bbr3", ("path.loss=10%",), PASSES),
    ("7.2-random-loss", "cubic", ("path.loss=10%",), PASSES),
    ("7.3-delay-up", "vegas", (), FAILS),
    ("7.3-delay-up", "cubic", (), PASSES),
    ("7.3-jitter-of-one", "vegas", ("flow[0].jitter.spread=20ms",), FAILS),
    ("7.4-slow-link", "bbr3", ("path.rtt=20ms",), FAILS),
    ("7.4-slow-link", "bbr2", ("path.rtt=20ms",), FAILS),
    ("7.4-slow-link", "cubic", ("path.rtt=20ms",), PASSES),
    ("7.8-outage-10s-5s", "bbr", ("path.buffer=100kB",), FAILS),
    ("7.8-outage-10s-5s", "bbr3", ("path.buffer=100kB",), FAILS),
    ("7.8-outage-10s-5s", "bbr2", ("path.buffer=100kB",), PASSES),
    ("7.8-outage-10s-5s", "cubic", ("path.buffer=100kB",), PASSES),
    ("7.8-faster", "bbr2", (), FAILS),
    ("7.8-faster", "bbr", (), PASSES),
    ("7.11-incast-64", "bbr3", ("path.buffer=200kB",), FAILS),
    ("7.11-incast-8", "reno", ("path.buffer=2MB",), PASSES),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "candidate", "overrides", "word"), KNOWN)
def test_a_known_answer(cell: str, candidate: str, overrides: tuple[str, ...], word: str, store: Path) -> None:
    said = lines(cell, candidate, store, *overrides)
    grade = FAILS if "fails" in said["fail"] else CONCERNS if "fails" in said["warn"] else PASSES
    assert grade == word


def test_a_module_that_ignores_everything_fails_collapse(tmp_path: Path, store: Path) -> None:
    own = tmp_path / "deaf.c"
    own.write_text(deaf(), encoding="utf-8")
    for cell in ("5.1.1-random-loss", "5.1.1-no-feedback"):
        assert "fails" in lines(cell, str(own), store)["fail"], cell


def deaf() -> str:
    """A Linux module that paces at 18 Mbit/s with a window of 2000, whatever comes back."""
    return """#include <linux/module.h>
#include <net/tcp.h>
static void deaf_init(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	sk->sk_pacing_rate = 18000000 / 8;
}
static void deaf_control(struct sock *sk, const struct rate_sample *rs)
{
	tcp_sk(sk)->snd_cwnd = 2000;
	sk->sk_pacing_rate = 18000000 / 8;
}
static u32 deaf_ssthresh(struct sock *sk) { return 2000; }
static u32 deaf_undo(struct sock *sk) { return 2000; }
static struct tcp_congestion_ops deaf = {
	.init = deaf_init, .cong_control = deaf_control, .ssthresh = deaf_ssthresh, .undo_cwnd = deaf_undo,
	.name = "deaf", .owner = THIS_MODULE,
};
static int __init deaf_register(void) { return tcp_register_congestion_control(&deaf); }
static void __exit deaf_unregister(void) { tcp_unregister_congestion_control(&deaf); }
module_init(deaf_register);
module_exit(deaf_unregister);
MODULE_LICENSE("GPL");
"""


@pytest.mark.parametrize("name", suites.names())
def test_every_file_of_a_suite_says_what_it_shows_plans_and_stands_in_a_section(name: str) -> None:
    suite = suites.find(name)
    sections = {section.number for section in suite.head.section}
    for file in suite.files:
        assert 20 < len(gallery.summary(file.read_text(encoding="utf-8"))) < 250, file
        scenario = from_file(f"gallery:suites/{name}/{file.stem}").scenario
        assert scenario.expect, file
        assert plan.runs(scenario), file
        assert suite.section_of(file) in sections, file
    answered = {suite.section_of(file) for file in suite.files}
    for section in suite.head.section:
        assert (section.number in answered) != (section.question is not None), section.number


@pytest.fixture(scope="module")
def evaluation(store: Path, tmp_path_factory: pytest.TempPathFactory) -> evaluated.Evaluation:
    """DCTCP by a suite of six files."""
    own = tmp_path_factory.mktemp("own")
    files = "5.1.2-standing-queue 5.1.4-rtt 7.2-random-loss 7.3-delay-up 7.4-slow-link 7.8-outage-10s-5s"
    for name in files.split():
        text = (suites.FOLDER / f"rfc9743/{name}.toml").read_text(encoding="utf-8")
        (own / f"{name}.toml").write_text(text, encoding="utf-8")
    sections = "".join(
        f'\n[[section]]\nnumber = "{number}"\ntitle = "Section {number}"\n'
        for number in ("5.1.2", "5.1.4", "7.2", "7.3", "7.4", "7.8")
    )
    (own / "suite.toml").write_text(
        'title = "Six files"\nreferences = ["reno", "cubic"]\nstandards = ["reno", "cubic"]\n'
        '[quick]\nset = ["repetitions=1"]\nfiles."5.1.2-standing-queue" = [\'path.buffer=["4bdp", "64bdp"]\']\n'
        f'{sections}\n[[section]]\nnumber = "9"\ntitle = "Prose"\nquestion = "Why?"\n',
        encoding="utf-8",
    )
    return dumbbell.evaluate("dctcp", suite=str(own), store=store)


def test_a_section_has_its_worst_word_and_how_often(evaluation: evaluated.Evaluation) -> None:
    said = {chapter.section.number: chapter.text for chapter in evaluation.chapters}
    assert said["9"] == "for its authors"
    assert said["5.1.2"].startswith("concern (")


def test_where_the_standards_fail_too_the_word_is_concern_and_says_so(evaluation: evaluated.Evaluation) -> None:
    cells = [
        cell for chapter in evaluation.chapters for cell in chapter.cells if cell.vary.get("path.buffer") == "64bdp"
    ]
    assert {(cell.said.grade, cell.note) for cell in cells} == {("concern", "as reno and cubic do")}
    assert {said.grade for cell in cells for said in cell.references.values()} == {"fail"}


def test_every_verdict_is_repeated_by_the_command_beside_it(
    evaluation: evaluated.Evaluation, cli: Cli, store: Path
) -> None:
    cells = [cell for chapter in evaluation.chapters for cell in chapter.cells]
    assert len(cells) >= 20
    for cell in cells:
        done = cli(*shlex.split(cell.command)[1:], "--json", "--store", store)
        words = {"fail": "holds", "warn": "holds"}
        for line in map(json.loads, done.stdout.splitlines()):
            if line["name"] == cell.name and line["vary"] == dict(cell.vary) and line["of"] == cell.row:
                words[line["severity"]] = line["verdict"]
        grade = FAILS if words["fail"] == "fails" else CONCERNS if words["warn"] == "fails" else PASSES
        assert grade == (FAILS if cell.note else cell.said.grade), cell.command


def test_the_page_has_every_cell_and_loads_nothing(evaluation: evaluated.Evaluation) -> None:
    from dumbbell.report.evaluation import page

    text = page(evaluation)
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "")
    for chapter in evaluation.chapters:
        assert chapter.section.title in text
        for cell in chapter.cells:
            assert cell.command.partition(" -k")[0] in text


def test_an_unknown_suite_names_those_that_there_are() -> None:
    with pytest.raises(ScenarioError, match=r"one of: .*rfc9743"):
        suites.find("rfc9734")


def test_a_candidate_that_a_file_has_no_flow_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no flow is called candidate, there are: mine, rival"):
        dumbbell.verify("gallery:regression-test", candidate="bbr")


def test_a_file_that_would_replace_a_reference_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "cubic.c"
    own.write_text((ROOT / "cca/cubic.c").read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ScenarioError, match="holds cubic, which is a reference of rfc9743: wanted another name"):
        dumbbell.evaluate(str(own))
