"""All errors of a scenario file come at once, each with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dumbbell import ScenarioError, from_file, from_text, plan
from dumbbell.scenario.keylines import lines
from dumbbell.scenario.source import as_written

FILE = """\
# four errors
duration = 10

[path]
rate = "40Mbps"   # fine
rtt = "fast"
buffer = "1bdp"
[path.qdisc]
kind = "codel"
target = "5"

[[flow]]
cca = "cubic"

[[flow]]
cca = "bbr"
colour = "red"
"""

PLANNING = """\
duration = "10s"
path = { rate = "10Mbps", rtt = "20ms" }
flow = [
  { cca = "cubic" },
  { cca = "cubik" },
  { cca = "cubic", stop = "11s" },
]
"""

ANY_WAY = '''\
a = 1
"b c" = { d = [1, 2], e.f = 'x # no comment' } # c
g = """
[not.a.table]
h = 1
"""
[i . "j"]
k = [ # here
  1, { l = 2, m = "}" },
 2, # ]
 { l = 3 } ]
[[n]]
[[n.o]]
p = 1
[[n.o]]
p = 2020-01-01T00:00:00Z
[[n]]
[n.q]
r = \'\'\'
x\'\'\'
s = 0
'''


def test_all_errors_of_a_file_come_at_once_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(FILE)
    with pytest.raises(ScenarioError) as caught:
        from_file(file)
    assert [(error.line, error.key) for error in caught.value.errors] == [
        (2, "duration"), (6, "path.rtt"), (10, "path.qdisc.target"), (17, "flow[1].colour"),
    ]  # fmt: skip
    assert str(caught.value).splitlines()[1].startswith(f'{file}:6: path.rtt: got "fast", wanted a time')


def test_errors_of_planning_have_lines_too(tmp_path: Path, cli: Any) -> None:
    file = tmp_path / "x.toml"
    file.write_text(PLANNING)
    for command in (("check", file), ("run", file, "--out", "out")):
        done = cli(*command)
        assert done.returncode == 2
        problems = [line.split(": ")[1:3] for line in done.stderr.splitlines()]
        assert problems == [
            [f"{file}:2", "path.buffer"],
            [f"{file}:5", "flow[1].cca"],
            [f"{file}:6", "flow[2].stop"],
        ], done.stderr
    assert not (tmp_path / "out").exists()


def test_a_key_that_an_override_set_is_on_no_line(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(FILE)
    with pytest.raises(ScenarioError) as caught:
        from_file(file, overrides=("path.rate=fast",))
    first = caught.value.errors[0]
    assert (first.line, str(first).split(": ")[:2]) == (None, [str(file), "path.rate"])


def test_lines_are_found_in_any_way_of_writing() -> None:
    found = lines(ANY_WAY)
    wanted = {"a": 1, "b c": 2, "b c.d": 2, "b c.d[1]": 2, "b c.e.f": 2, "g": 3, "i.j": 7, "i.j.k": 8, "i.j.k[0]": 9,
        "i.j.k[1].l": 9, "i.j.k[3].l": 11,
              "n[0]": 12, "n[0].o[0].p": 14, "n[0].o[1].p": 16, "n[1]": 17, "n[1].q.r": 19, "n[1].q.s": 21}  # fmt: skip
    assert {key: found.get(key) for key in wanted} == wanted
    assert "h" not in found
    assert "not" not in found


def test_more_errors_than_one_reads_are_counted() -> None:
    flows = ", ".join('{ cca = "cubic", count = -1 }' for _ in range(50))
    with pytest.raises(ScenarioError) as caught:
        from_text(f'duration = "1s"\npath = {{ rate = "1Mbps", rtt = "1ms", buffer = "1MB" }}\nflow = [{flows}]')
    assert len(caught.value.errors) == 50
    assert str(caught.value).splitlines()[20:] == ["... and 30 more"]


def test_an_error_of_the_path_that_every_flow_meets_is_told_once() -> None:
    text = (
        'duration = "1s"\npath = { rate = "1Mbps", buffer = "9kB" }\n'
        + '[[flow]]\ncca = "cubic"\nrtt = "1ms"\nloss = 0.1\n' * 3
    )
    with pytest.raises(ScenarioError) as caught:
        plan.runs(from_text(text.replace("buffer", 'impair = [{ kind = "delay" }], loss = 0.1, buffer')))
    assert [error.key for error in caught.value.errors] == ["path.loss"]


@pytest.mark.parametrize(
    ("tables", "overrides", "named"),
    [
        ("[path]\nloss = { packets = [3] }\n[[flow]]\n", (), "path.loss.packets"),
        ("[path.up]\nloss = { packets = [3] }\n[[flow]]\n", (), "path.up.loss.packets"),
        ("[path]\nloss = { packets = [3] }\n[[flow]]\nloss.packets = [4]\n", (), "flow[0].loss.packets"),
        ("[[flow]]\n", ("path.loss={packets=[3]}",), "path.loss.packets"),
        ("[[flow]]\n", (), "flow[0].loss.packets"),
    ],
)
def test_an_error_of_a_flow_names_the_key_that_gave_it_its_value(
    tables: str, overrides: tuple[str, ...], named: str
) -> None:
    assert as_written(ScenarioError("flow[0].loss.packets", "wrong"), tables, overrides).key == named
