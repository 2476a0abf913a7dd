"""A suite that is data only: a folder of one's own with TOML is run, drawn, judged and scored; what is wrong in it is one
error that names file and key.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dumbbell
from conftest import Cli
from dumbbell import suites
from dumbbell.suites import panels
from dumbbell.suites.table import FAST, FULL

HEAD = 'title = "Two controllers in a queue"\n'
ENTRIES = """
[flows]
CUBIC = { cca = "cubic" }
Reno = { cca = "reno" }

[base]
path = { rate = "10Mbps", rtt = "20ms" }
record = { samples = false, queue = false, events = false }

[full]
duration = "20s"

[fast]
duration = "4s"

[choices]
start = "at once"

[[entry]]
id = "queue"
line = ["CUBIC", "Reno"]
at = { buffer_bdp = "path.buffer" }
path = { buffer = ["1bdp", "4bdp"] }
flow = ["LINE"]
draw = [{ kind = "lines", over = "buffer_bdp", figure = "queue" }]

[[entry]]
id = ["few", "many"]
like = "queue"
each = { "flow[0].count" = [2, 4] }
flow = [{ like = "LINE" }]
draw = [{ kind = "cdf", figure = "each goodput" }]
"""
CLAIMS = """
[[entry]]
id = "queue"
title = "queue against buffer"
claims = [
  { id = "c1", text = "it grows", kind = "trend", metric = "queue", series = "CUBIC,Reno", x_var = "buffer_bdp", direction = "increase", tol = { kind = "rel", sim = 0.1 } },
  { id = "c2", text = "a deep one is twice as full at least", kind = "range", metric = "queue", lower = 2, tol = { kind = "abs", sim = 0 }, read = { over = "ratio", lines = "Reno", by = "half", parts = [{ at = { buffer_bdp = 4 } }, { at = { buffer_bdp = 1 } }] } },
]

[[entry]]
id = "few"
title = "two flows"
claims = [{ id = "c1", text = "they fill the link", kind = "range", metric = "utilization", series = "CUBIC,Reno", at = { buffer_bdp = 4 }, lower = 1.5, tol = { kind = "abs", sim = 0.1 } }]

[[entry]]
id = "many"
title = "four flows"
"""
FINDINGS = """
[[finding]]
claims = ["few#c1"]
bin = "contradiction"
evidence = "arithmetic"
mechanism = "no link carries more than its rate"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The suite."""
    place = tmp_path / "queues"
    place.mkdir()
    entries_text = ENTRIES.replace(
        'at = { buffer_bdp = "path.buffer" }', 'at = { buffer_bdp = "path.buffer", half = 0 }'
    )
    for name, text in (("suite", HEAD), ("entries", entries_text), ("claims", CLAIMS), ("findings", FINDINGS)):
        (place / f"{name}.toml").write_text(text)
    return place


def test_a_folder_of_toml_is_run_drawn_judged_and_scored(folder: Path, tmp_path: Path) -> None:
    told: list[str] = []
    done = dumbbell.reproduce(
        str(folder), tmp_path / "out", profile="fast", store=tmp_path / "store", each=lambda one: told.append(one.id)
    )
    assert told == [one.id for one in done] == ["queues/queue", "queues/few", "queues/many"]
    queue, few, many = done
    assert [verdict.verdict for verdict in queue.judged.verdicts] == ["holds", "holds"]
    assert [verdict.verdict for verdict in few.judged.verdicts] == ["fails"]
    assert [len(point.runs[0].plan.flows) for point in many.judged.table.points] == [4] * 4
    assert queue.picture == tmp_path / "out" / "queues-queue.png"
    assert queue.picture.stat().st_size > 10_000
    heads, rows = panels.numbers(queue.judged.table.entry.panels, queue.judged.table)
    title = "Queueing delay over time, mean (ms)"
    assert heads == ["Buffer (BDP)", f"CUBIC: {title}", f"Reno: {title}"]
    assert [row[0] for row in rows] == ["1", "4"]
    board = json.loads((tmp_path / "out/scoreboard.json").read_text())
    assert board["papers"][0]["paper"] == "queues"
    assert board["papers"][0]["contradiction"] == "1"
    assert "## Two controllers in a queue" in (tmp_path / "out/scoreboard.md").read_text()
    assert "queues, the paper contradicts itself: few#c1" in (tmp_path / "out/standing.md").read_text()


def test_the_cases_are_the_grid_of_the_scenario_with_lines_that_vary_fastest(folder: Path) -> None:
    assert suites.chosen([f"{folder}/queue"]) == ["queues/queue"]
    cases = list(suites.entry_of("queues/queue").cases(FULL))
    assert [(case.series, case.at["buffer_bdp"]) for case in cases] == [
        ("CUBIC", 1),
        ("Reno", 1),
        ("CUBIC", 4),
        ("Reno", 4),
    ]
    assert {case.scenario["duration"] for case in cases} == {"20s"}
    assert cases[1].scenario["flow"] == [{"name": "Reno", "cca": "reno"}]
    assert {case.scenario["duration"] for case in suites.entry_of("queues/queue").cases(FAST)} == {"4s"}


@pytest.mark.parametrize(
    "case",
    [
        ("entries", 'figure = "queue"', 'figur = "queue"', 'entry[0] (queue).draw[0].figur: unknown key'),
        ("entries", "[choices]", "[choice]", "choice: unknown key, wanted one of: flows, base, full, fast"),
        ("entries", 'kind = "lines"', 'kind = "line"', 'draw[0].kind: got "line", wanted one of: "lines", "cdf"'),
        ("entries", 'flow = ["LINE"]', 'flow = ["Vegas"]', 'flow.like: got "Vegas", wanted a name of [flows]: CUBIC, Reno'),
        ("entries", '"path.buffer"', '"path.bufer"', 'at: got "path.bufer", wanted a key that the runs have'),
        ("entries", 'buffer = ["1bdp", "4bdp"]', 'buffer = ["1bpd", "4bdp"]', 'path.buffer: got "1bpd"'),
        ("entries", 'like = "queue"', 'like = "queu"', 'entry[1].like: got "queu", wanted an entry above: queue'),
        ("entries", "[2, 4] }", "[2] }", 'entry[1].each."flow[0].count": got [2], wanted a list of 2 values'),
        ("entries", '"path.buffer", half = 0', '{ along = "path.bufer", values = [1, 4] }', 'at.along: got "path.bufer"'),
        ("entries", '"path.buffer", half = 0', '{ along = "path.buffer", values = [1] }', "a list of 2 values, as path.buffer"),
        ("entries", 'id = "queue"\n', 'id = ["queue", "queue"]\n', "an id of its own"),
        ("entries", 'flow[0].count"', 'flow[1].count"', "a key of the entry; a list is to be there"),
        ("entries", 'id = "queue"', 'id = "queu"', 'entry.id: got "queu", wanted an id that claims.toml has, too'),
        ("claims", "direction = ", "dirction = ", "entry[0].claims[0].dirction: unknown key"),
        ("claims", 'kind = "trend"', 'kind = "value"', 'kind: missing next to "value": expected'),
        ("findings", 'bin = "contradiction"', 'bin = "wrong"', 'finding[0].bin: got "wrong", wanted one of: "linux"'),
        ("suite", "title", "titel", "titel: unknown key, wanted one of: title, order"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_suite_is_an_error_that_names_file_and_key(
    folder: Path, cli: Cli, case: tuple[str, str, str, str]
) -> None:
    file, old, new, said = case
    path = folder / f"{file}.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    done = cli("reproduce", folder, "--fast", "--out", "out", "--store", "store", "-q")
    assert done.returncode == 2, done.stdout
    assert f"{file}.toml: " in done.stderr
    assert said in done.stderr


def test_a_claim_about_what_is_no_figure_names_it(folder: Path, cli: Cli) -> None:
    path = folder / "claims.toml"
    path.write_text(path.read_text().replace('metric = "utilization"', 'metric = "utilisatoin"'))
    done = cli("reproduce", folder, "--fast", "--out", "out", "--store", "store", "-q")
    assert done.returncode == 2
    assert 'queues/few#c1: metric: got "utilisatoin"' in done.stderr
    assert 'did you mean "utilization"?' in done.stderr


def test_a_claim_about_a_line_that_is_not_there_names_it_and_the_lines(folder: Path, cli: Cli) -> None:
    path = folder / "claims.toml"
    path.write_text(path.read_text().replace('series = "CUBIC,Reno", at', 'series = "Vegas", at'))
    done = cli("reproduce", f"{folder}/few", "--fast", "--out", "out", "--store", "store", "-q")
    assert done.returncode == 2
    assert (
        "queues/few#c1: no run has Vegas at {'buffer_bdp': 4}; the lines of queues/few are: CUBIC, Reno" in done.stderr
    )


def test_a_suite_of_ones_own_may_not_have_the_name_of_another(folder: Path, cli: Cli) -> None:
    other = folder.rename(folder.with_name("borgli"))
    done = cli("reproduce", f"{other}", "--fast")
    assert done.returncode == 2
    assert "a folder with another name: borgli is a suite of Dumbbell" in done.stderr


def test_a_reader_of_ones_own_stands_in_readings_py(folder: Path, tmp_path: Path) -> None:
    (folder / "readings.py").write_text(
        "from dumbbell.suites.table import Reading\n"
        "READERS = {'seven': lambda table, claim, book: [Reading({}, (7.0,))]}\n"
    )
    path = folder / "claims.toml"
    path.write_text(path.read_text().replace("at = { buffer_bdp = 4 }, lower", 'read = { reader = "seven" }, lower'))
    (few,) = dumbbell.reproduce(f"{folder}/few", tmp_path / "out", profile="fast", store=tmp_path / "store")
    assert [(verdict.verdict, verdict.measured) for verdict in few.judged.verdicts] == [("holds", 7)]
