"""`dumbbell gallery`, `dumbbell new` and ``gallery:NAME``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dumbbell
from conftest import ROOT, Cli
from dumbbell import plan
from dumbbell.scenario import gallery

ALL = sorted(
    path.relative_to(ROOT / "scenarios").with_suffix("").as_posix()
    for path in (ROOT / "scenarios").rglob("*.toml")
    if "suites" not in path.parts
)


def test_every_scenario_is_listed_with_a_sentence(cli: Cli) -> None:
    assert sorted(entry.name for entry in gallery.entries()) == ALL
    for entry in gallery.entries():
        assert 20 < len(entry.summary) < 250, entry
        assert not entry.summary.endswith((".", " Fig", " al")), entry
        assert not entry.summary.startswith(("Fig", "The same")), f"{entry.name}: says nothing without its neighbours"
    done = cli("gallery")
    assert done.returncode == 0
    assert "pair-cubic-bbr" in done.stdout
    assert "One CUBIC and one BBR flow share a bottleneck" in " ".join(done.stdout.split())


def test_words_choose_and_a_name_prints_the_file(cli: Cli) -> None:
    chosen = cli("gallery", "lte", "Mahimahi").stdout
    assert "yang-fig23" in chosen
    assert "pair-cubic-bbr" not in chosen
    assert cli("gallery", "pair-cubic-bbr").stdout == (ROOT / "scenarios" / "pair-cubic-bbr.toml").read_text()
    of_suite = "suites/nsperf/1-coexist"
    assert cli("gallery", of_suite).stdout == (ROOT / "scenarios" / f"{of_suite}.toml").read_text()
    wrong = cli("gallery", of_suite[:-1])
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert f"wanted a scenario of a suite: `dumbbell suite NAME` lists them; did you mean {of_suite}" in wrong.stderr
    none = cli("gallery", "token-ring")
    assert (none.returncode, none.stdout) == (2, "")
    assert "mentions token-ring" in none.stderr
    assert "its topics: Who gets how much; " in none.stderr


def test_every_scenario_stands_below_one_topic(cli: Cli) -> None:
    named = [name for names in gallery.TOPICS.values() for name in names.split()]
    assert sorted(named) == ALL
    lines = cli("gallery").stdout.splitlines()
    below: dict[str, str] = {}
    topic = ""
    for line in lines:
        if line and not line.startswith(" "):
            topic = line
        elif line[2:3].strip():
            below[line.split()[0]] = topic
    assert below == gallery.TOPIC_OF
    assert list(dict.fromkeys(below.values())) == list(gallery.TOPICS)


def test_words_are_looked_for_in_name_topic_comment_and_values(cli: Cli) -> None:
    def found(*words: str) -> list[str]:
        return [json.loads(line)["name"] for line in cli("gallery", *words, "--json").stdout.splitlines()]

    bulk = found("bulk")
    assert "pair-cubic-bbr" in bulk
    assert "short-transfer" not in bulk, "its flows have a size"
    assert "rtt-fairness-aqm" in found("fq_codel", "round-trip")
    assert found("SATELLITE") == ["leo-reconfiguration"]
    assert "l4s-dualpi2" in found("bulk", "dualpi2")
    assert set(found("bulk", "dualpi2")) == set(bulk) & set(found("dualpi2"))
    near = cli("gallery", "pair-cubic-bbx").stderr
    assert "did you mean pair-cubic-bbr" in near


@pytest.mark.parametrize("name", ALL)
def test_a_copy_plans_what_the_original_does(name: str, tmp_path: Path) -> None:
    written = gallery.copy(name, tmp_path / "mine.toml")
    own = name.startswith("examples/")
    suffixes = {path.suffix for path in written[1:]}
    assert suffixes <= ({{"own-module": ".c", "own-python": ".py"}[Path(name).name]} if own else {".trace", ".csv"})
    assert "#:schema" not in written[0].read_text()
    if not own:
        original, copied = (dumbbell.from_file(path).scenario for path in (gallery.find(name), written[0]))
        assert len(plan.cases(original)) == len(plan.cases(copied))


def test_new_takes_traces_along_and_overwrites_nothing(cli: Cli, tmp_path: Path) -> None:
    done = cli("new", "yang-fig23")
    assert (done.returncode, done.stdout) == (0, "dumbbell run yang-fig23.toml\n")
    assert sorted(path.name for path in (tmp_path / "traces").iterdir()) == ["lte-mobile.trace", "lte-stationary.trace"]
    assert cli("check", "yang-fig23.toml").returncode == 0
    file = tmp_path / "yang-fig23.toml"
    file.write_text("mine")
    refused = cli("new", "yang-fig23")
    assert (refused.returncode, file.read_text()) == (2, "mine")
    assert "yang-fig23.toml: is there already" in refused.stderr
    assert cli("new", "yang-fig23", "--force").returncode == 0
    assert file.read_text() != "mine"


@pytest.mark.parametrize(("name", "own"), [("own-module", "tcp_steady.c"), ("own-python", "delay_target.py")])
def test_the_command_that_new_prints_runs_what_it_wrote(name: str, own: str, cli: Cli) -> None:
    done = cli("new", f"examples/{name}")
    assert done.stdout == f"dumbbell run {name}.toml --cca {own}\n"
    assert cli(*done.stdout.split()[1:], "--set", "duration=1s", "-q").returncode == 0


def test_a_trace_of_ones_own_is_not_overwritten_either(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "lte-mobile.trace").write_text("1\n")
    refused = cli("new", "yang-fig23", "mine.toml")
    assert refused.returncode == 2
    assert "lte-mobile.trace: is there already" in refused.stderr
    assert not (tmp_path / "mine.toml").exists()


def test_a_name_of_the_gallery_stands_where_a_file_may(cli: Cli) -> None:
    done = cli("check", "gallery:pair-cubic-bbr")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pair-cubic-bbr: 1 run")
    wrong = cli("run", "gallery:pair-cubic")
    assert wrong.returncode == 2
    assert "did you mean pair-cubic-bbr" in wrong.stderr
    assert cli("new", "nothing-like-it").returncode == 2
