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


def test_the_last_answer_names_the_winners_whose_intervals_are_apart() -> None:
    winners: dict[str, list[str]] = {"cubic": [], "bbr": []}
    unclear: list[str] = []
    unclear = []
    for buffer, *flows in re.findall(
        r"^(\S+bdp) +(cubic) +([\d.]+) ± ([\d.]+).*\n +(bbr) +([\d.]+) ± ([\d.]+)", SECTIONS[7], re.MULTILINE
    ):
        (_, low, below), (winner, high, above) = sorted((flows[:3], flows[3:]), key=lambda flow: float(flow[1]))
        is_clear = float(low) + float(below) < float(high) - float(above)
        (winners[winner] if is_clear else unclear).append(buffer.removesuffix("bdp"))
    answer = SECTIONS[7].split("ten.png)\n\n")[1].replace("\n", " ")
    said = re.match(
        r"At ([\d.]+) BDP BBR wins and at ([\d.]+) BDP CUBIC: .*? At ([\d.]+) BDP they overlap, so ten repetitions do"
        r" not tell who wins, although BBR's mean is higher\.",
        answer,
    )
    assert said is not None, answer
    assert [*winners["bbr"], *winners["cubic"], *unclear] == list(said.groups())


def test_a_full_buffer_of_the_lte_link_lasts_as_long_as_its_answer_says() -> None:
    said = re.search(
        r"A buffer of (\d+) kB at the trace's mean of (\d+) Mbit/s\s+is a queue of some (\d+) ms", SECTIONS[3]
    )
    assert said is not None
    kilobytes, rate_mbps, queue_ms = map(int, said.groups())
    assert queue_ms == kilobytes * 8 / rate_mbps


def test_the_page_of_orca_shows_what_its_commands_draw_and_is_left_where_orca_is_not_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, folder = tutorial.PAGES["orca"]
    text = page.read_text(encoding="utf-8")
    drawn = re.findall(r"-o ([\w-]+\.png)", text)
    assert re.findall(r"\(img/orca/([\w-]+\.png)\)", text) == drawn
    assert {picture.name for picture in folder.iterdir()} == set(drawn)
    monkeypatch.delenv(tutorial.NEEDED["orca"], raising=False)
    monkeypatch.setattr(sys, "argv", ["tutorial.py", "orca", "--check"])
    assert tutorial.main() == 0
    assert capsys.readouterr().err == "orca.md: not run, since $DUMBBELL_ORCA is not set\n"
