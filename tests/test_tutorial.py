"""docs/tutorial.md: its commands run as they stand, and print its tables to the byte; its pictures are written, shown
and small.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import tutorial

TEXT = tutorial.PAGE.read_text(encoding="utf-8")
SECTIONS = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]


def test_there_are_eight_questions() -> None:
    assert [section[0] for section in SECTIONS] == list("12345678")


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.splitlines()[0])
def test_a_question_is_answered_by_its_commands(section: str, tmp_path: Path) -> None:
    ran = tutorial.run(section, tmp_path)
    assert ran.text == section, "make tutorial writes the page again"
    assert len(ran.commands) == 2
    shown = re.findall(r"\(img/tutorial/([\w-]+\.png)\)", section)
    assert [picture.name for picture in ran.pictures] == shown
    assert ran.pictures[0].stat().st_size > 10_000
    table = section.split("```text\n")[1].split("\n\n")[1]
    assert max(map(len, table.splitlines())) <= 80
    kept = tutorial.PICTURES / shown[0]
    assert 5_000 < kept.stat().st_size <= 80_000
