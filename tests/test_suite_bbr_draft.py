"""The suite bbr-draft: each case of the draft's appendix holds for the controller that follows the text, and fails for one
that departs from it in that place. Google's code fails where the texts differ.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

import dumbbell
from dumbbell.expect import suites
from dumbbell.expect.judged import Line

SOURCES = Path(__file__).parents[1] / "cca"
SUITE = suites.find("bbr-draft")
QUICK = list(SUITE.chosen("quick"))


class Mutant(NamedTuple):
    """The case that must notice it, a file of the controller, a text that is there once, and the text instead."""

    case: str
    file: str
    old: str
    new: str


NO_AGGREGATION = ("bbr-draft.c", "return minmax_get(&bbr_draft_view(bbr)->extra_acked);", "(void)bbr;\n\treturn 0;")
NO_UNDO = ("bbr2/params.h", "P(undo, 1,", "P(undo, 0,")
TOO_HIGH = "\tbbr2_handle_inflight_too_high(sk, bbr, crossing, lost->is_app_limited);"
LEARNT = "\tif (!rs->is_app_limited || bw >= bbr2_max_bw(bbr)) {"
DOWN_STEP = "bbr2_is_time_to_cruise(sk, bbr, in_net, max_bw))\n"

MUTANTS = [
    Mutant("1", "bbr2/params.h", "P(full_bw_thresh, 320,", "P(full_bw_thresh, 512,"),
    Mutant("2", "bbr-draft.c", "draft->lossy_acks >= enough", "draft->lossy_acks >= 10 * enough"),
    Mutant("3", "bbr-draft.c", "BBR_DRAFT_DRAIN_GAIN = 128,", "BBR_DRAFT_DRAIN_GAIN = 230,"),
    Mutant("4", "bbr-draft.c", "P(drain_max_rounds, 3,", "P(drain_max_rounds, 0,"),
    Mutant("5", "bbr2/plateau.h", "else if (bbr->full_bw_now)", "else if (false)"),
    Mutant("6", "bbr2/core.h", TOO_HIGH, f"\tif (!lost->is_app_limited)\n\t{TOO_HIGH}"),
    Mutant("7", "bbr-draft.c", "!bbr->round_start || rs->is_app_limited)", "!bbr->round_start)"),
    Mutant("8", "bbr-draft.c", "BBR_DRAFT_PACING_GAIN_DOWN = 230,", "BBR_DRAFT_PACING_GAIN_DOWN = 256,"),
    Mutant("9", "bbr2/probe_bw.h", f"!bbr2_check_time_to_probe(sk, bbr) && {DOWN_STEP}", DOWN_STEP),
    Mutant("10", "bbr-draft.c", "window_ms = param(sk, probe_rtt_win_ms);", "window_ms = 50000;"),
    Mutant("11", "bbr2/core.h", "bbr->idle_restart = true;", "bbr->idle_restart = false;"),
    Mutant("12", *NO_AGGREGATION),
    Mutant("13", *NO_AGGREGATION),
    Mutant("14", "bbr2/params.h", "P(cwnd_min_target, 4,", "P(cwnd_min_target, 1,"),
    Mutant("15", "bbr2/bounds.h", "growth = 1U << bbr->probe_up_rounds;", "growth = 1;"),
    Mutant("16", "bbr-draft.c", "passed == 1 ? bbr->bw_hi[1] : 0;", "bbr2_max_bw(bbr);"),
    Mutant("17", "bbr2/params.h", "P(beta, 76,", "P(beta, 0,"),
    Mutant("18", *NO_UNDO),
    Mutant("19", *NO_UNDO),
    Mutant("20", "bbr2/probe_rtt.h", "\tif (!bbr->full_bw_reached) {", "\tif (false) {"),
    Mutant("21", "bbr2/probe_bw.h", "= max(tx_in_flight, floor);", "= max(min(bbr->inflight_hi, ~1U), tx_in_flight);"),
    Mutant(
        "22", "bbr2/model.h", LEARNT, f"\tif (rs->is_app_limited)\n\t\tbbr->bw_hi[0] = bbr->bw_hi[1] = bw;\n{LEARNT}"
    ),
]

#: Where `bbr3` fails, by file, the expectations; numbers are those of the list of differences in docs/cca/bbr-draft.md.
BBR3_FAILS = {
    "2-startup-loss": {"full_bw_now"},  # loss sets full_bw_reached alone, as the draft's prose says
    "3-drain-inflight": {"gain"},  # 5.3.2: 0.34
    "4-drain-time": {"rounds", "DOWN is next"},  # 5.3.2: no bound in rounds
    "8-down-inflight": {"gain"},  # 5.3.3.1: 0.906
    "18-spurious-recovery": {"back to a probe", "UP"},  # 5.5.11: bounds and window alone are restored
    "19-spurious-rto": {"back to a probe"},  # the same
}

#: Where the text itself does not do what its case says, by file (docs/cca/bbr-draft.md has the mechanisms).
FINDINGS = {
    "1-startup-plateau-grid": {"bandwidth"},
    "1-startup-long": {"in twelve rounds"},
    "8-down-inflight-grid": {"CRUISE is next"},
    "12-startup-aggregation": {"no more"},
    "14-small-bdp": {"no loss"},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that the tests share."""
    return tmp_path_factory.mktemp("store")


def of_case(number: str) -> list[Path]:
    """The files of a case, without its grid."""
    return [file for file in QUICK if SUITE.section_of(file) == number]


def judged(files: list[Path], candidate: str, store: Path) -> list[Line]:
    """The lines of these files."""
    return dumbbell.verify(files, candidate=candidate, store=store)


def failing(lines: list[Line], *, counted: bool) -> dict[str, set[str]]:
    """Names of expectations that do not hold, by file: of those that count, or of warnings."""
    names: dict[str, set[str]] = {}
    for line in lines:
        if line.word != "holds" and line.is_counted == counted:
            names.setdefault(Path(line.file).stem, set()).add(line.asked.name)
    return names


def written(mutant: Mutant, folder: Path) -> Path:
    """The source of the mutant."""
    shutil.copytree(SOURCES / "bbr2", folder / "bbr2")
    shutil.copy(SOURCES / "bbr-draft.c", folder)
    file = folder / mutant.file
    text = file.read_text()
    assert text.count(mutant.old) == 1, f"{mutant.file} has {text.count(mutant.old)} times: {mutant.old}"
    file.write_text(text.replace(mutant.old, mutant.new))
    return folder / "bbr-draft.c"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.case)
def test_a_case_fails_for_a_controller_that_departs_from_the_text_there(
    mutant: Mutant, tmp_path: Path, store: Path
) -> None:
    files = of_case(mutant.case)
    lines = judged(files, str(written(mutant, tmp_path)), store)
    for file in files:
        words = {line.word for line in lines if Path(line.file) == file and line.is_counted}
        assert "fails" in words, file.stem


def test_each_case_of_the_appendix_has_a_mutant() -> None:
    assert [mutant.case for mutant in MUTANTS] == [str(number) for number in range(1, 23)]
    assert {SUITE.section_of(file) for file in SUITE.files} == {section.number for section in SUITE.head.section}


def test_every_case_holds_for_the_text_on_its_grid_except_for_the_findings(store: Path) -> None:
    lines = judged(SUITE.files, "bbr-draft", store)
    assert failing(lines, counted=True) == {}
    assert failing(lines, counted=False) == FINDINGS


def test_bbr3_fails_the_cases_where_the_texts_differ(store: Path) -> None:
    assert failing(judged(QUICK, "bbr3", store), counted=True) == BBR3_FAILS
