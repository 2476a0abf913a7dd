"""Steps at a change of a controller's state: a first pass finds the instant, and nothing before it differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dumbbell
from conftest import Cli
from dumbbell import ScenarioError
from dumbbell.results.result import Result

SCENARIO = """
name = "stimulus"
duration = "4s"

[path]
rate = { steps = [["0s", "20Mbps"], ["DRAIN of main begins", "18Mbps"], ["PROBE_BW_UP of main begins after 1s + 5ms", "15Mbps"]] }
rtt = "40ms"
buffer = "4bdp"

[[flow]]
name = "main"
cca = "bbr3"
"""


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    """The scenario as a file, with other words."""
    text = SCENARIO
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = folder / "stimulus.toml"
    file.write_text(text)
    return file


def run(file: Path) -> Result:
    """The only run of a file."""
    (result,) = dumbbell.run(file)
    return result


def states(result: Result) -> list[tuple[int, str]]:
    """Changes of state: ns, state."""
    return [(row["t_ns"], row["note"]) for row in result.events.to_pylist() if row["kind"] == "cca_state"]


def test_a_step_at_a_moment_comes_right_after_the_change_of_state(tmp_path: Path) -> None:
    result = run(written(tmp_path))
    (_, (first, _), (second, _)) = result.plan.links[0].steps
    drain = next(at for at, state in states(result) if state == "DRAIN")
    up = next(at for at, state in states(result) if state == "PROBE_BW_UP")
    assert (first, second) == (drain + 1, up + 5_000_001)
    assert not result.manifest.warnings


def test_the_run_before_a_moment_is_the_run_without_it(tmp_path: Path) -> None:
    stepped = run(written(tmp_path))
    plain = run(written(tmp_path, (', ["PROBE_BW_UP of main begins after 1s + 5ms", "15Mbps"]', "")))
    until = stepped.plan.links[0].steps[2][0]
    assert [row for row in states(stepped) if row[0] < until] == [row for row in states(plain) if row[0] < until]


def test_a_moment_that_never_comes_is_a_warning_of_the_result_and_changes_nothing(tmp_path: Path) -> None:
    result = run(written(tmp_path, ("after 1s", "after 3.9s")))
    assert result.manifest.warnings == [
        'path.rate.steps: "PROBE_BW_UP of main begins after 3.9s + 5ms" never comes in this run'
    ]
    assert result.plan.links[0].steps[2][0] > result.plan.duration_s * 1e9


def test_losses_and_the_first_pause_of_an_application_take_moments_too(tmp_path: Path) -> None:
    steps = (
        '[["0s", "0%"], ["PROBE_BW_REFILL of main begins", "100%"], ["PROBE_BW_REFILL of main begins + 10ms", "0%"]]'
    )
    workload = 'workload = { kind = "on_off", on = "PROBE_BW_CRUISE of main begins", off = "1s" }'
    result = run(
        written(
            tmp_path,
            ('buffer = "4bdp"', f'buffer = "4bdp"\nloss = {{ steps = {steps} }}'),
            ('cca = "bbr3"', f'cca = "bbr3"\n{workload}'),
        )
    )
    plan = json.loads((result.folder / "manifest.json").read_text())["plan"]
    cruise, refill = (
        next(at for at, state in states(result) if state == name) for name in ("PROBE_BW_CRUISE", "PROBE_BW_REFILL")
    )
    established = next(row["t_ns"] for row in result.events.to_pylist() if row["kind"] == "established")
    assert plan["flows"][0]["workload"]["on"]["ns"] == cruise + 1 - established
    loss = next(stage for stage in plan["flows"][0]["forward"] if stage["kind"] == "loss")
    assert [at for at, _ in loss["steps"]] == [0, refill + 1, refill + 10_000_001]


def test_a_resumed_sweep_takes_a_run_with_moments_for_its_own(tmp_path: Path, cli: Cli) -> None:
    file = written(tmp_path)
    assert cli("run", file, "--out", "out").returncode == 0
    again = cli("run", file, "--out", "out", "--resume", "--json")
    assert again.returncode == 0, again.stderr
    other = written(tmp_path, ("+ 5ms", "+ 6ms"))
    refused = cli("run", other, "--out", "out", "--resume")
    assert (refused.returncode, "another plan" in refused.stderr) == (1, True)


def test_each_flow_of_a_path_has_the_loss_at_the_moment_of_one(tmp_path: Path) -> None:
    steps = '[["0s", "0%"], ["DRAIN of main begins", "1%"]]'
    result = run(
        written(
            tmp_path,
            ('buffer = "4bdp"', f'buffer = "4bdp"\nloss = {{ steps = {steps} }}'),
            ('cca = "bbr3"', 'cca = "bbr3"\n\n[[flow]]\ncca = "cubic"\ncount = 30'),
        )
    )
    plan = json.loads((result.folder / "manifest.json").read_text())["plan"]
    starts = {stage["steps"][1][0] for flow in plan["flows"] for stage in flow["forward"] if stage["kind"] == "loss"}
    drain = next(row["t_ns"] for row in result.events.to_pylist() if (row["flow"], row["note"]) == (0, "DRAIN"))
    assert starts == {drain + 1}


def test_a_store_knows_runs_by_their_moments_and_finds_them_again(tmp_path: Path) -> None:
    from dumbbell.runs.kept import runs
    from dumbbell.runs.store import Store

    text = '\n[[expect]]\nthat = "state DRAIN of main == 1"\n'
    store = tmp_path / "store"
    for changes in ([], [], [("+ 5ms", "+ 6ms")]):
        file = written(tmp_path, *changes)
        file.write_text(file.read_text() + text)
        (line,) = dumbbell.verify(file, store=store)
        assert line.word == "holds"
    kept = list(runs(Store(store)))
    assert len(kept) == 2
    assert all(run.is_current for run in kept)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("DRAIN of main", "DRAIN of other", 'got "DRAIN of other begins", wanted a flow by its name: main'),
        ("DRAIN of main", "DRAINING of main", "wanted a state of bbr3: STARTUP, DRAIN"),
        ('"bbr3"', '"reno"', "wanted a state of reno: SLOW_START, AVOIDANCE"),
        ("DRAIN of main begins", "DRAIN of main starts", 'or a moment such as "DRAIN of main begins"'),
        ("+ 5ms", "+ 5", "a time with its unit"),
        ("PROBE_BW_UP of main begins after 1s + 5ms", "3s", "no fixed time after a step at a moment"),
        ("]] }", "]], repeat = true }", "no repeat of steps at moments"),
        (
            'cca = "bbr3"',
            'cca = "bbr3"\nworkload = { kind = "on_off", on = "DRAIN of main begins", off = "1s", random = true }',
            "wanted false next to an on time that ends at a moment",
        ),
        ("PROBE_BW_UP of main begins after 1s + 5ms", "DRAIN of main begins", "wanted after the step before it"),
    ],
)
def test_a_moment_that_cannot_be_is_refused_by_its_words(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        run(written(tmp_path, (old, new)))
    assert said in str(raised.value)


def test_other_back_ends_refuse_moments(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="--on sim finds moments"):
        dumbbell.run(written(tmp_path), on="uml")
