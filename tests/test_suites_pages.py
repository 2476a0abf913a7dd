"""docs/papers/scoreboard.md is one run of `dumbbell reproduce all --fast`; docs/reproduce.md and the findings are of that
run, too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from dumbbell import judge as judging
from dumbbell import suites
from dumbbell.suites import claims, findings, judge

DOCS = Path(__file__).parents[1] / "docs"


class Row(NamedTuple):
    """A claim as the scoreboard has it."""

    verdict: str
    why: str


def rows_of(path: Path) -> list[list[str]]:
    """The cells of every row of every table, without the lines between head and body."""
    found = [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    return [row for row in found if set(row[0]) != {"-"}]


def claims_on_the_page() -> dict[str, Row]:
    """Every claim of the scoreboard by its id with the paper and figure."""
    made, name = {}, ""
    for line in (DOCS / "papers/scoreboard.md").read_text(encoding="utf-8").splitlines():
        command = re.match(r"`dumbbell reproduce (\S+) --fast`", line)
        name = command[1] if command else name
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 6 and re.match(r"c\d+ ", cells[0]):
            made[f"{name}#{cells[0].partition(' ')[0]}"] = Row(cells[1], cells[5])
    return made


CLAIMS = claims_on_the_page()


def bin_of(name: str) -> str:
    """The bin of a claim of the page that fails."""
    finding = findings.of(name)
    if finding is None:
        return "tie" if CLAIMS[name].why.startswith("a tie: ") else "here"
    return finding.bin


def counted(paper: str) -> dict[str, int]:
    """How many claims of a paper hold on the page, and how many of those that fail are in each bin."""
    own = {name: row for name, row in CLAIMS.items() if paper in ("all", name.partition("/")[0])}
    verdicts = Counter(row.verdict for row in own.values())
    bins = Counter(bin_of(name) for name, row in own.items() if row.verdict == "fails")
    judged = sum(verdicts.values()) - verdicts["unjudged"]
    return {"judged": judged, "hold": verdicts["holds"], **{name: bins[name] for name in findings.BINS}} | {
        "unclear": verdicts["unclear"]
    }


def test_the_scoreboard_has_every_claim_of_every_paper() -> None:
    known = [f"{name}#{claim.id}" for name in suites.chosen(["all"]) for claim in suites.text_of(name).claims]
    assert list(CLAIMS) == known


def test_the_counts_of_the_scoreboard_are_those_of_its_rows() -> None:
    head, *lines = [row for row in rows_of(DOCS / "papers/scoreboard.md") if len(row) > 6]
    for line in lines:
        made = dict(zip(head[1:], line[1:], strict=True))
        wanted = counted(line[0])
        assert {name: int(made[name]) for name in wanted} == wanted, line[0]


def test_docs_reproduce_has_the_counts_of_the_scoreboard() -> None:
    text = (DOCS / "reproduce.md").read_text(encoding="utf-8")
    lines = {row[0]: row[1:] for row in rows_of(DOCS / "reproduce.md") if len(row) == 4 + len(findings.BINS)}
    for paper in suites.known():
        assert [int(cell) for cell in lines[paper]] == list(counted(paper).values()), paper
    every = counted("all")
    assert f"{every['hold']} of {every['judged']} judged claims hold" in text


def test_the_example_for_scripts_has_the_form_and_the_verdict_of_its_claim() -> None:
    text = (DOCS / "reproduce.md").read_text(encoding="utf-8").partition("## For scripts")[2]
    found = re.search(r"^    (\{.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    example = json.loads(found[1])
    [claim] = example["claims"]
    name = f"{example['id']}#{claim['id']}"
    finding = findings.of(name)
    assert finding is not None
    assert claim["finding"] == finding._asdict()
    assert claim["verdict"] == CLAIMS[name].verdict
    assert CLAIMS[name].why.startswith(claim["reason"])
    tolerance = claims.Tolerance(**claim["tolerance"])
    told = next(one for one in suites.text_of(example["id"]).claims if one.id == claim["id"])
    judged = judging.Verdict(claim["verdict"], None, claim["margin"], claim["reason"])
    verdict = judge.Verdict(told, judged, claim["measured"], tolerance)
    assert {**verdict.as_json(), "finding": claim["finding"]} == claim


@pytest.mark.parametrize("paper", suites.known())
def test_findings_are_about_claims_that_fail_and_stand_on_the_scoreboard(paper: str) -> None:
    for name, finding in findings.of_suite(paper).items():
        if CLAIMS[name].verdict in ("holds", "unclear"):
            assert finding.bin == "chance", f"{name} does not fail, and its finding is not that chance decides"
            continue
        said = f"({findings.BINS[finding.bin]}: {finding.mechanism or finding.evidence})"
        assert said.replace("\n", " ") in CLAIMS[name].why, name
