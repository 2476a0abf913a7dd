"""`dumbbell race`: a question in one line. Each figure of the answer is computed again from the tables of the runs."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

import dumbbell
from dumbbell import racing
from dumbbell.cli import main
from dumbbell.cli.chart import Axis, Line, chart

SHORT = ["--rate", "20Mbps", "--rtt", "20ms", "--duration", "8s", "--max", "3", "--quiet"]


@pytest.fixture(scope="module")
def raced() -> racing.Race:
    return dumbbell.race("cubic", "2xbbr", rate="20Mbps", rtt="20ms", buffer="0.5bdp", duration="8s", most=4)


def mean_text(values: list[float]) -> str:
    """The mean as the answer has it, without knowing how many digits."""
    return f"{fmean(values):.1f}"[:3]


def test_the_ratio_is_that_of_a_flow_of_each_in_each_repetition(raced: racing.Race) -> None:
    got = [np.asarray(run.flows["goodput_bytes"], dtype=float) for run in raced.results]
    assert f"a flow of BBR got {mean_text([flows[1:].mean() / flows[0] for flows in got])}" in raced.sentences[0]


def test_queue_and_losses_are_those_of_the_tables(raced: racing.Race) -> None:
    again = [run.flows["retrans_segs"][0].as_py() / run.flows["segs_sent"][0].as_py() for run in raced.results]
    assert f"{100 * fmean(again):.2f} % (CUBIC)" in raced.sentences[0]
    delays = [dumbbell.metrics.queueing_delay_ms(run).mean for run in raced.results]
    assert f"queue {fmean(delays):.3g} ms" in raced.sentences[0]


def test_the_saved_scenario_gives_the_same_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.toml"
    assert main(["race", "cubic", "bbr", *SHORT, "--json", "--save", str(file)]) == 0
    *rows, answer = map(json.loads, capsys.readouterr().out.splitlines())
    assert "BBR got" in answer["answer"][0] or "CUBIC got" in answer["answer"][0]
    again = racing.rows(dumbbell.run(file))
    assert [row["figures"]["share"]["mean"] for row in rows] == [row.value("share") for row in again]


def test_a_sweep_says_how_the_share_goes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["race", "cubic", "bbr", *SHORT, "--sweep", "buffer=0.25bdp,8bdp"]) == 0
    assert "From buffer 0.25 BDP to 8 BDP BBR's share of all goodput falls from" in capsys.readouterr().out


def test_what_few_short_runs_cannot_tell_is_not_called_equal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["race", "cubic", "bbr", "--duration", "5s", "--rate", "20Mbps", "--max", "4", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("it is not clear who gets more")
    assert "Not sure yet" in said


def test_one_controller_is_told_by_its_goodput(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["race", "2xcubic", *SHORT]) == 0
    assert "2 flows of CUBIC got" in capsys.readouterr().out


def test_a_file_races_by_its_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "steady.py"
    own.write_text("class Steady:\n    def on_ack(self, sample):\n        return 10, None\n")
    name = racing.racer(str(own)).cca
    assert main(["race", "cubic", str(own), *SHORT]) == 0
    assert name in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cubik"], "cubic"),
        (["0xbbr"], 'CCA: got "0xbbr", wanted a controller such as bbr'),
        (["bbr", "--sweep", "bufer"], "buffer, rate, rtt, loss"),
        (["bbr", "--trace", "6g"], "wanted a file, or a recording of the gallery: 5g, leo,"),
        (["bbr", "--rate", "1Mbps", "--trace", "5g"], "wanted one of --rate and --trace"),
        (["bbr", "--rate", "fast"], "path.rate"),
    ],
)
def test_what_cannot_race_is_refused_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["race", *arguments, "--quiet"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_picture_draws_each_line_from_end_to_end() -> None:
    text = chart(
        [Line("up", [0, 1], [0, 1]), Line("down", [0, 1], [1, 0])], Axis("x", "0", "1"), Axis("y", "0", "1"),
        top=1.0, width=20, height=5, colour=False, plain=True,
    ).splitlines()  # fmt: skip
    assert text[1].split("|")[1][0] == "b"
    assert text[1].split("|")[1][-1] == "a"
    assert text[5].split("|")[1].startswith("a")
    assert text[-1].split() == ["a", "up", "b", "down"]
