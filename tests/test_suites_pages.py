"""docs/papers/standing.md is one run of `dumbbell reproduce all --fast`; docs/reproduce.md and the findings are of that
run, too.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dumbbell import judge as judging
from dumbbell import suites
from dumbbell.suites import claims, findings, judge, standing
from dumbbell.suites.folders import shipped
from dumbbell.suites.score import COLUMNS

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "papers/standing.md").read_text(encoding="utf-8")

#: Counts by paper and column.
COUNTS = {
    cells[0]: dict(zip(COLUMNS, cells[1:], strict=True))
    for cells in (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| ")
    )
    if cells[0] not in ("paper", "---")
}
#: The claims that fail, by paper and bin.
FAILS = {
    (paper, name): [f"{paper}/{claim}" for claim in listed.split(", ")]
    for paper, words, listed in re.findall(r"^- (\w+), (.*?): (.*)$", PAGE, re.MULTILINE)
    for name, said in findings.BINS.items()
    if said == words
}


@pytest.mark.parametrize("paper", shipped())
def test_the_counts_of_the_page_are_those_of_its_lists_and_of_the_claims(paper: str) -> None:
    count = {name: int(number) for name, number in COUNTS[paper].items() if name != "share"}
    assert count["claims"] == sum(len(suites.text_of(name).claims) for name in suites.ids(paper))
    assert {name: count[name] for name in findings.BINS} == {
        name: len(FAILS.get((paper, name), ())) for name in findings.BINS
    }
    assert count["judged"] == count["hold"] + count["unclear"] + sum(count[name] for name in findings.BINS)
    assert count["claims"] == count["judged"] + count["unjudged"]


@pytest.mark.parametrize("paper", shipped())
def test_findings_are_about_claims_that_fail_and_stand_on_the_page_or_need_what_is_not_here(paper: str) -> None:
    known = {f"{name}#{claim.id}" for name in suites.ids(paper) for claim in suites.text_of(name).claims}
    unjudged = {claim for claim, verdict in standing.stored()["claims"].items() if verdict == "unjudged"}
    for name in findings.BINS:
        listed = set(FAILS.get((paper, name), ()))
        found = {claim for claim, finding in findings.of_suite(paper).items() if finding.bin == name} - unjudged
        assert listed <= known
        if name == "chance":
            assert listed <= found, "they may hold, too"
        else:
            assert listed & set(findings.of_suite(paper)) == found, name
            assert listed == found or name in ("tie", "here"), name


def test_docs_reproduce_has_the_counts_of_the_page() -> None:
    text = (DOCS / "reproduce.md").read_text(encoding="utf-8")
    assert f"{COUNTS['all']['hold']} of {COUNTS['all']['judged']} judged claims hold" in text


def test_the_example_for_scripts_has_the_form_and_the_verdict_of_its_claim() -> None:
    text = (DOCS / "reproduce.md").read_text(encoding="utf-8").partition("## For scripts")[2]
    found = re.search(r"^    (\{.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    example = json.loads(found[1])
    [claim] = example["claims"]
    name = f"{example['id']}#{claim['id']}"
    finding = findings.of(name)
    assert finding is not None
    assert claim["finding"] == finding.as_json()
    assert (claim["verdict"], name in FAILS["kfoury2020", finding.bin]) == ("fails", True)
    tolerance = claims.Tolerance(**claim["tolerance"])
    told = next(one for one in suites.text_of(example["id"]).claims if one.id == claim["id"])
    judged = judging.Verdict(claim["verdict"], None, claim["margin"], claim["reason"])
    verdict = judge.Verdict(told, judged, claim["measured"], tolerance)
    assert {**verdict.as_json(), "finding": claim["finding"]} == claim
