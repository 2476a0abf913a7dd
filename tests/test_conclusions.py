"""What the papers conclude, and whether it holds: the words follow from the verdicts on the claims."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Cli
from dumbbell import suites
from dumbbell.errors import ScenarioError
from dumbbell.scenario.declare import build
from dumbbell.suites import conclusions, standing
from dumbbell.suites.conclusions import Conclusion
from dumbbell.suites.folders import shipped

EVERY = [(suite, one) for suite in shipped() for one in conclusions.of_suite(suite)]


def conclusion(**more: Any) -> Conclusion:
    return build(Conclusion, {"id": "1", "text": "x", "ours": "y", "claims": ["a#c1", "a#c2"], **more}, "")


@pytest.mark.parametrize(
    ("verdicts", "word", "held"),
    [
        (("holds", "holds"), "holds", 2),
        (("holds", "fails"), "in part", 1),
        (("fails", "fails"), "fails", 0),
        (("holds", "unclear"), "unclear", 1),
        (("holds", "unjudged"), "holds", 1),
        (("unjudged", "unjudged"), "unclear", 0),
    ],
)
def test_a_conclusion_holds_where_its_claims_hold(verdicts: tuple[str, str], word: str, held: int) -> None:
    known = dict(zip(("s/a#c1", "s/a#c2"), verdicts, strict=True))
    stands = conclusions.stands("s", conclusion(), known)
    assert (stands.word, stands.held) == (word, held)


def test_a_decisive_claim_settles_it() -> None:
    known = {"s/a#c1": "holds", "s/a#c2": "fails"}
    assert conclusions.stands("s", conclusion(decisive=["a#c2"]), known).word == "fails"


def test_every_paper_has_its_conclusions_and_every_claim_a_verdict() -> None:
    assert {suite for suite, _ in EVERY} == set(shipped())
    claims = {
        f"{name}#{claim.id}"
        for suite in shipped()
        for name in suites.ids(suite)
        for claim in suites.text_of(name).claims
    }
    assert set(standing.stored()["claims"]) == claims


@pytest.mark.parametrize(("suite", "one"), EVERY)
def test_our_sentence_says_that_it_holds_exactly_where_it_does(suite: str, one: Conclusion) -> None:
    stands = conclusions.stands(suite, one, standing.stored()["claims"])
    assert one.ours.startswith("It holds") == (stands.word == "holds"), stands


def test_an_unknown_claim_is_refused(tmp_path: Path) -> None:
    for name in ("suite.toml", "entries.toml", "claims.toml"):
        (tmp_path / name).write_text('title = "x"\n' if name == "suite.toml" else "")
    (tmp_path / conclusions.NAME).write_text('[[conclusion]]\nid = "1"\ntext = "x"\nours = "y"\nclaims = ["fig1#c1"]\n')
    suite = suites.open_suite(tmp_path)
    with pytest.raises(ScenarioError, match="fig1#c1"):
        conclusions.of_suite(suite.name)


def test_the_page_says_what_the_data_says() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    import papers_page

    assert papers_page.PAGE.read_text(encoding="utf-8") == papers_page.page()


def test_papers_answers_in_one_screen_whether_the_findings_hold(cli: Cli) -> None:
    done = cli("papers")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) < 60
    assert "kfoury2020 6" in done.stdout
    listed = [json.loads(line) for line in cli("papers", "kfoury2020", "--json").stdout.splitlines()]
    assert {"id", "title", "item", "claims"} == set(listed[0])
