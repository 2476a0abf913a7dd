#!/usr/bin/env python3
"""Writes `docs/papers/against-linux.md`, what each paper concludes and what holds, from the scoreboard that is kept.

``papers_page.py BOARD.json`` keeps the verdicts of a scoreboard of `dumbbell reproduce all` first;
``papers_page.py --check`` fails where the page says something else than the data.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.suites import conclusions, findings, standing, text_of
from dumbbell.suites.folders import shipped

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/papers/against-linux.md"
INTRODUCTION = """# The papers against Linux

Do the findings of the five papers hold? Each row has what a paper concludes, what comes out here and on Linux, and how
many of the claims that the sentence rests on hold. `dumbbell papers` prints the same. Below each paper stand the claims
that fail on real Linux too, with the evidence and the command that measures it again.

"On Linux" is Linux 6.12 itself in virtual time (`--on uml`, [how](../uml.md)); BBRv2 and BBRv2+ are our modules in it,
which [send what their authors' modules send](../fidelity.md). [All verdicts](standing.md),
[how they are judged](../reproduce.md#verdicts).
"""


def main(arguments: list[str]) -> int:
    """Keep a scoreboard, write the page, or check it."""
    if arguments and arguments != ["--check"]:
        keep(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    text = page()
    if arguments == ["--check"]:
        if PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE.relative_to(ROOT)} is stale: run tools/papers_page.py", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


def keep(board: dict[str, Any]) -> None:
    """Keep the verdicts of a scoreboard."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    kept = {
        "profile": board["profile"],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "claims": {
            f"{entry['id']}#{claim['id']}": claim["verdict"] for entry in board["entries"] for claim in entry["claims"]
        },
    }
    standing.PATH.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")
    standing.stored.cache_clear()


def page() -> str:
    """The page."""
    parts = [INTRODUCTION, f"{standing.made()}.\n"]
    for suite in shipped().values():
        listed = conclusions.of_suite(suite.name)
        if listed:
            parts += [f"## {suite.title}\n", _table(suite.name, listed), *_failing(suite.name)]
    return "\n".join(parts).rstrip() + "\n"


def _table(suite: str, listed: Iterable[conclusions.Conclusion]) -> str:
    rows = ["| | the paper says | here and on Linux | | claims |", "| --- | --- | --- | --- | --- |"]
    for one in listed:
        word, held, judged = conclusions.stands(suite, one, standing.stored()["claims"])
        rows.append(f"| {one.id} | {one.text} | {one.ours} | **{word}** | {held} of {judged} |")
    return "\n".join(rows) + "\n"


def _failing(suite: str) -> list[str]:
    """The claims that fail on Linux too, those of one finding together."""
    verdicts = standing.stored()["claims"]
    groups: dict[findings.Finding, list[str]] = {}
    for claim, finding in findings.of_suite(suite).items():
        if finding.bin in findings.ON_LINUX and verdicts.get(claim) == "fails":
            groups.setdefault(finding, []).append(claim)
    if not groups:
        return []
    parts = ["### Fails on Linux too\n"]
    for finding, claims in groups.items():
        first = text_of(claims[0].partition("#")[0])
        said = next(claim.text for claim in first.claims if claim.id == claims[0].partition("#")[2])
        names = ", ".join(f"`{claim.partition('/')[2]}`" for claim in claims)
        scale = f" At {finding.scale}." if finding.scale else ""
        parts += [
            f"**{said}** ({names}).{scale} {_sentence(finding.evidence)} Why: {_sentence(finding.mechanism)}\n",
            *(f"    {command}" for command in finding.run),
            "",
        ]
    return parts


def _sentence(text: str) -> str:
    return text if text.endswith((".", ")")) else f"{text}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
