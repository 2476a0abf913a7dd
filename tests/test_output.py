"""What reaches a terminal is letters, in lines of a length that a person reads; and streams that the caller has closed."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SMALL, Cli
from dumbbell.cli.table import Column, csv_cell, fit, markdown, text
from dumbbell.errors import ScenarioError, printable, show, unknown_key
from dumbbell.scenario.file import from_text

#: What a terminal obeys: escape sequences of two kinds, a bell, a deletion, a change of direction.
HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\x7f\x08\u202eX"


def harmless(said: str) -> bool:
    return all(letter.isprintable() or letter in "\n\t" for letter in said)


# --- printable ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain \u00e4\u00b1\u4e2d", "plain \u00e4\u00b1\u4e2d"),
        ("a\u00a0b\u202fc", "a\u00a0b\u202fc"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x9b31m", "\\x9b31m"),
        ("a\r\nb\tc\x00", "a\\r\\nb\\tc\\x00"),
        ("\u202e\u2066\u200b\u2028", "\\u202e\\u2066\\u200b\\u2028"),
        ("\udcff", "\\udcff"),
    ],
)
def test_what_is_no_letter_is_escaped(given: str, shown: str) -> None:
    assert printable(given) == shown


def test_what_is_long_is_cut_in_its_middle() -> None:
    assert printable("a" * 50 + "b" * 50, 20) == "a" * 13 + "..." + "b" * 4
    assert printable("abc", 3) == "abc"


def test_values_and_keys_in_errors_are_escaped() -> None:
    assert harmless(show(HOSTILE))
    assert harmless(str(unknown_key("path", HOSTILE, ["rate"])))
    with pytest.raises(ScenarioError) as caught:
        from_text(f'"{json.dumps(HOSTILE)[1:-1]}" = 1\n{SMALL}')
    assert harmless(str(caught.value))


# --- commands -------------------------------------------------------------------------------------


def test_keys_values_and_arguments_reach_the_terminal_escaped(tmp_path: Path, cli: Cli) -> None:
    escaped = json.dumps(HOSTILE)[1:-1]
    (tmp_path / "key.toml").write_text(f'"{escaped}" = 1\n{SMALL}')
    (tmp_path / "value.toml").write_text(SMALL.replace('"cubic"', f'"{escaped}"'))
    (tmp_path / "deep.toml").write_text(SMALL.replace("[path]", f'[path]\n"{escaped}" = 1'))
    for command in (
        ["check", tmp_path / "key.toml"],
        ["check", tmp_path / "value.toml"],
        ["run", tmp_path / "deep.toml", "--out", tmp_path / "o"],
        ["check", tmp_path / HOSTILE.replace("/", "")],
        ["show", tmp_path / HOSTILE],
        ["check", tmp_path / "key.toml", "--set", f"path.{HOSTILE}=1"],
        ["show", tmp_path, f"--{HOSTILE}"],
        [HOSTILE],
    ):
        done = cli(*command)
        assert done.returncode in (1, 2), command
        assert harmless(done.stderr), (command, done.stderr)
        assert harmless(done.stdout)
        assert "\\x1b" in done.stderr or "\\u001b" in done.stderr


def test_headings_of_a_recording_reach_the_terminal_escaped(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "r.csv").write_text("time_s,\x1b[31mX,\x9b,rate_mbps\n0,1,1,1\n1,1,2,2\n")
    done = cli("trace", "info", tmp_path / "r.csv")
    assert harmless(done.stdout + done.stderr)


@pytest.mark.parametrize("form", [[], ["--csv"], ["--markdown"], ["--json"]])
def test_names_in_a_manifest_reach_the_terminal_escaped(tmp_path: Path, cli: Cli, form: list[str]) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    assert cli("run", tmp_path / "small.toml", "--out", tmp_path / "o", "-q").returncode == 0
    for manifest in tmp_path.glob("o/*/manifest.json"):
        made = json.loads(manifest.read_text())
        made["name"], made["warnings"] = HOSTILE, [HOSTILE]
        made["plan"]["flows"][0]["name"] = f"{HOSTILE}\nfake row"
        manifest.write_text(json.dumps(made))
    done = cli("show", tmp_path / "o", *form)
    assert done.returncode == 0
    assert harmless(done.stdout + done.stderr)
    assert "\nfake row" not in done.stdout


def test_an_exception_of_a_controller_reaches_the_terminal_escaped(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "mine.py").write_text(f"class Mine:\n    def on_ack(self, s):\n        raise ValueError({HOSTILE!a})\n")
    (tmp_path / "small.toml").write_text(SMALL.replace('"cubic"', '"mine"'))
    done = cli("run", tmp_path / "small.toml", "--out", tmp_path / "o", "--cca", tmp_path / "mine.py")
    assert done.returncode == 1
    assert "ValueError" in done.stderr
    assert harmless(done.stderr)


def test_no_line_of_a_message_has_thousands_of_letters(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "big.csv").write_text(",".join(f"column{i}" for i in range(5000)) + "\n0,1\n")
    for command in (
        ["sweep", tmp_path / "small.toml", "--vary", "path.rtt=1ms..2ms", "--until", "x" * 50_000],
        ["check", tmp_path / "small.toml", "--set", f"path.{'y' * 50_000}=1"],
        ["trace", "info", tmp_path / "big.csv"],
        ["z" * 50_000],
    ):
        done = cli(*command)
        assert max(map(len, done.stderr.splitlines()), default=0) < 1600, command


# --- tables ---------------------------------------------------------------------------------------


def test_a_cell_is_one_line_of_text_in_a_table_and_in_markdown() -> None:
    columns = [Column("name", ("name",), ["a\nb", "<script>x</script>", "[x](javascript:1)", "a|b", "R&D"])]
    assert text(columns).splitlines()[2] == "              a\\nb"
    assert markdown(columns).splitlines()[2:] == [
        "| a\\nb |", "| &lt;script>x&lt;/script> |", "| [x]\\(javascript:1) |", "| a\\|b |", "| R&amp;D |",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["=1+1", "=HYPERLINK(1)", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "-x"])
def test_a_text_that_a_spreadsheet_would_compute_has_an_apostrophe(name: str) -> None:
    out = io.StringIO()
    csv.writer(out).writerow([csv_cell(name)])
    assert next(csv.reader(io.StringIO(out.getvalue()))) == [f"'{name}"]


@pytest.mark.parametrize("value", [-5, 1.5, "-5ms", "+3 %", "-1e-3", "cubic", "", "2-1"])
def test_numbers_and_other_texts_are_cells_as_they_are(value: object) -> None:
    assert csv_cell(value) == value


# --- closed streams -------------------------------------------------------------------------------


def closing(*closed: int, command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    shell = " ".join(f"{fd}>&-" for fd in closed)
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-m", "dumbbell", *command],
        cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_where_stdout_is_closed_all_runs_and_one_line_says_so(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    done = closing(1, command=["run", "small.toml", "--out", "o"], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "dumbbell: output: stdout is closed\n")
    assert len(list(tmp_path.glob("o/*/manifest.json"))) == 2


@pytest.mark.parametrize("closed", [(2,), (0, 2), (0,)])
def test_where_stderr_or_stdin_is_closed_all_runs(tmp_path: Path, closed: tuple[int, ...]) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    done = closing(*closed, command=["run", "small.toml", "--out", "o"], cwd=tmp_path)
    assert done.returncode == 0
    assert "cubic" in done.stdout
    assert len(list(tmp_path.glob("o/*/manifest.json"))) == 2


def test_with_all_streams_closed_nothing_is_written_into_results(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    for out, closed in (("here", ()), ("there", (0, 1, 2))):
        closing(*closed, command=["run", "small.toml", "--out", out, "-q", "--jobs", "1"], cwd=tmp_path)
    here, there = (
        {path.relative_to(out): path.read_bytes() for path in out.rglob("*.parquet")}
        for out in (tmp_path / "here", tmp_path / "there")
    )
    assert here
    assert here == there


def test_an_error_with_closed_streams_keeps_its_status(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL.replace("[path]", "[path]\nnonsense = 1"))
    assert closing(1, 2, command=["check", "small.toml"], cwd=tmp_path).returncode == 2


def test_a_long_name_goes_on_in_another_line_before_a_figure_is_left_out() -> None:
    name = Column("qdisc", ("qdisc",), ["fq_codel ce_threshold=1ms ce_threshold_mask=3", "fifo"], right=False)
    share = Column("share", ("share",), ["0.498", "0.502"], rank=1)
    assert fit([name, share], 60) == ([name, share], [])
    kept, gone = fit([name, share], 40)
    assert gone == []
    assert text(kept) == (
        "qdisc                share\n"
        "--------------------------\n"
        "fq_codel             0.498\n"
        "ce_threshold=1ms\n"
        "ce_threshold_mask=3\n"
        "fifo                 0.502\n"
    )
