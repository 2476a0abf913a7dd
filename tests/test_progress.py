"""The progress line: what is done, how fast, and how long it still takes."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import ModuleType

import pytest

import dumbbell
from conftest import SMALL
from dumbbell import from_text
from dumbbell.runs import progress
from dumbbell.runs.execute import execute
from dumbbell.runs.job import Job
from dumbbell.runs.jobs import jobs_of
from dumbbell.runs.place import Place
from dumbbell.runs.progress import Log, Progress, Terminal
from dumbbell.scenario.file import Given


@pytest.fixture
def jobs() -> list[Job]:
    return jobs_of([Given(from_text(SMALL), SMALL)], Path())


class Wide(Terminal):
    """A terminal of a given width, which keeps what it shows as a screen would."""

    def __init__(self, columns: int) -> None:
        self.stream = io.StringIO()
        super().__init__(self.stream)
        self.columns = columns

    @property
    def width(self) -> int:
        """As on any terminal."""
        return self.columns - 1


def expecting(jobs: list[Job], screen: progress.Screen) -> Progress:
    """A line that waits for these runs."""
    made = Progress(screen)
    made.expect(jobs)
    return made


def test_it_tells_runs_simulated_time_packets_per_second_and_time_left(jobs: list[Job]) -> None:
    made = expecting(jobs, Log(io.StringIO()))
    assert made.text(0.0) == "0/2 runs  simulated 0.0 of 4 s  ..."
    made.observe(jobs[0], 2 * 10**9, 3_000_000)
    made.observe(jobs[1], 10**9, 1_000_000)
    assert made.text(2.0) == "1/2 runs  simulated 3.0 of 4 s  2.00 M packets/s  1 s left"


def test_time_left_goes_by_what_the_links_carry_and_not_by_simulated_time() -> None:
    text = SMALL.replace('rate = "20Mbps"', 'rate = ["10Mbps", "1Gbps"]').replace('["0.5bdp", "2bdp"]', '"1bdp"')
    slow, fast = jobs_of([Given(from_text(text), text)], Path())
    made = expecting([slow, fast], Log(io.StringIO()))
    made.observe(slow, 2 * 10**9, 1650)
    # Both last 2 s, of 1,651 and 165,125 full frames; the start of a run counts as 30,000.
    assert made.text(1.0).endswith("simulated 2.0 of 4 s  0.00 M packets/s  6 s left")


def test_a_single_run_has_no_count_of_runs(jobs: list[Job]) -> None:
    assert expecting(jobs[:1], Log(io.StringIO())).text(1.0) == "simulated 0.0 of 2 s  ..."


def test_every_run_reports_its_end(tmp_path: Path, jobs: list[Job]) -> None:
    made = expecting(jobs, Log(io.StringIO()))
    assert all(outcome.error is None for outcome in execute(jobs, Place(tmp_path), workers=2, progress=made))
    assert made.text(1.0).startswith("2/2 runs  simulated 4.0 of 4 s")


def test_the_line_is_wiped_before_anything_else_is_printed(jobs: list[Job]) -> None:
    screen = Wide(80)
    made = expecting(jobs, screen)
    made._drawn = 0.0
    made.observe(jobs[0], 10**9, 10)
    drawn = screen.stream.getvalue()
    assert drawn.startswith("\r0/2 runs")
    made.clear()
    made.clear()
    assert screen.stream.getvalue() == drawn + "\r" + " " * (len(drawn) - 1) + "\r"


@pytest.mark.parametrize("columns", range(40, 201, 4))
@pytest.mark.parametrize("count", [1, 2])
def test_no_line_is_as_wide_as_the_terminal(jobs: list[Job], columns: int, count: int) -> None:
    # A line that fills the terminal makes it scroll, once for each drawing.
    screen = Wide(columns)
    made = expecting(jobs[:count], screen)
    made._total_ns = {0: 86_400 * 10**9, **dict.fromkeys(range(1, count), 10**12)}
    for ns in (0, 10**9, 43_200 * 10**9, 86_400 * 10**9):
        made._drawn = 0.0
        made.observe(jobs[0], ns, ns // 1000)
    made.clear()
    lines = screen.stream.getvalue().split("\r")[1:]
    assert all(len(line) < columns for line in lines), max(lines, key=len)
    assert all("left" in line or "..." in line for line in lines[:4])


def test_what_is_no_terminal_gets_a_line_every_half_a_minute(jobs: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    made = expecting(jobs, progress.screen(stream))
    for second in range(100):
        now[0] = float(second)
        made.observe(jobs[0], second * 10**7, second * 1000)
    made.clear()
    assert stream.getvalue().splitlines() == [
        "0/2 runs  simulated 0.3 of 4 s  0.00 M packets/s  370 s left",
        "0/2 runs  simulated 0.6 of 4 s  0.00 M packets/s  340 s left",
        "0/2 runs  simulated 0.9 of 4 s  0.00 M packets/s  310 s left",
    ]


class Cell:
    """What a notebook shows of one display, in the order of its changes."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, made: dict[str, str], **_: object) -> Cell:
        """The first state."""
        self.update(made)
        return self

    def update(self, made: dict[str, str], **_: object) -> None:
        """The next one."""
        self.shown.append(made["text/plain"])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A kernel of Jupyter, as far as it matters here."""
    cell = Cell()
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    shell = type("ZMQInteractiveShell", (), {})
    vars(ipython)["get_ipython"] = shell
    vars(display)["display"] = cell.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(progress.Notebook, "every_s", 0.0)
    return cell


def test_a_notebook_shows_progress_below_its_cell_and_takes_it_away(notebook: Cell) -> None:
    dumbbell.run(from_text(SMALL), jobs=1)
    assert notebook.shown[0].startswith("0/2 runs  simulated 0.")
    assert notebook.shown[-2].startswith("2/2 runs  simulated 4.0 of 4 s")
    assert notebook.shown[-1] == ""


def test_a_notebook_shows_nothing_where_that_is_asked_for(notebook: Cell) -> None:
    dumbbell.run(from_text(SMALL), jobs=1, progress=False)
    assert notebook.shown == []


def test_python_shows_progress_only_when_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Log, "every_s", 0.0)
    dumbbell.run(from_text(SMALL), jobs=1)
    assert capsys.readouterr().err == ""
    dumbbell.run(from_text(SMALL), jobs=1, progress=True)
    assert capsys.readouterr().err.splitlines()[-1].startswith("2/2 runs")
