"""Two back ends side by side: what counts as agreement, and how the command says so."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import dumbbell
from dumbbell import backends, cli, comparison
from dumbbell.backends import sim
from dumbbell.errors import ScenarioError
from dumbbell.judge import versus
from dumbbell.judge.versus import Side
from dumbbell.results.manifest import Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

SCENARIO = """
duration = "2s"
path = { rate = "5Mbps", rtt = "20ms", buffer = ["1bdp", "2bdp"] }
flow = [{ cca = "cubic" }]
"""


def summary(**changes: Any) -> Summary:
    link = {"utilization": changes.pop("utilization", 0.95), "drops": 0, "drop_rate": 0.0}
    jain, flows = changes.pop("jain", 1.0), changes.pop("flows", None)
    blank = {"name": "cubic", "transport": "tcp", "table": 0, "cca": "cubic", "goodput_bytes": 1,
             "share": 1.0, "retrans_rate": 0.01, "srtt_mean_ms": 40.0, "srtt_p95_ms": None, "fct_s": None,
             "rtt_ms": 20.0,
             "goodput_mbps": 1.0, "packets_sent": 1}  # fmt: skip
    return msgspec.convert(
        {"link": link, "jain": jain, "jain_flows": 2, "flows": [{**blank, **flow} for flow in flows or [changes]]},
        Summary,
    )


def held(
    reference: Sequence[Summary], other: Sequence[Summary], *, strict: bool = False
) -> dict[str, tuple[float, float, str]]:
    """Reference, other and verdict of each figure."""
    sides = [Side([versus.measured(one) for one in runs], range(len(runs))) for runs in (reference, other)]
    return {one.name: (one.reference, one.other, one.word) for one in versus.versus(*sides, strict=strict)}


def differing(reference: Sequence[Summary], other: Sequence[Summary], *, strict: bool = False) -> dict[str, str]:
    """The verdicts on figures that do not agree."""
    figures = held(reference, other, strict=strict)
    return {name: word for name, (_, _, word) in figures.items() if word != "holds"}


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({}, {}),
        ({"utilization": 0.925}, {}),
        ({"utilization": 0.91}, {"utilization": "unclear"}),
        ({"utilization": 0.88}, {"utilization": "fails"}),
        ({"share": 0.92}, {"cubic[0] share": "unclear"}),
        ({"retrans_rate": 0.015}, {}),
        ({"retrans_rate": 0.021}, {"cubic[0] retrans_rate": "fails"}),
        ({"srtt_mean_ms": 44.7}, {}),
        ({"srtt_mean_ms": 50.0}, {"cubic[0] srtt_mean_ms": "fails"}),
    ],
)
def test_a_figure_agrees_within_its_tolerance_and_one_run_differs_from_twice_that_on(
    changes: dict[str, float], differs: dict[str, str]
) -> None:
    assert differing([summary()], [summary(**changes)]) == differs


def test_a_small_rate_or_delay_has_an_absolute_tolerance() -> None:
    small, other = summary(retrans_rate=0.0, srtt_mean_ms=2.0), summary(retrans_rate=0.001, srtt_mean_ms=3.0)
    assert differing([small], [other]) == {}


@pytest.mark.parametrize(("sim", "linux", "word"), [(0.0174, 0.0031, "fails"), (0.043, 0.0362, "unclear")])
def test_flows_that_use_little_of_a_link_do_not_agree_by_default(sim: float, linux: float, word: str) -> None:
    assert differing([summary(utilization=linux)], [summary(utilization=sim)]) == {"utilization": word}
    runs = [[summary(utilization=value * scale) for scale in (0.99, 1.0, 1.01)] for value in (linux, sim)]
    assert differing(*runs) == {"utilization": "fails"}
    starved, shown = summary(share=0.003), summary(share=0.017)
    assert differing([starved] * 3, [shown] * 3) == {"cubic[0] share": "fails"}


def test_means_are_compared_and_what_chance_explains_is_unclear() -> None:
    other = [summary(utilization=value) for value in (0.1, 0.94, 0.96)]
    assert held([summary()] * 3, other)["utilization"] == pytest.approx((0.95, 2.0 / 3, "unclear"))
    assert differing([summary()] * 3, [summary(utilization=0.9 + i / 1000) for i in range(3)]) == {
        "utilization": "fails"
    }


def test_repetitions_with_one_seed_are_pairs() -> None:
    # Each is 0.1 below its own, and they spread by more.
    before = [summary(utilization=value) for value in (0.5, 0.7, 0.9)]
    after = [summary(utilization=value - 0.1) for value in (0.5, 0.7001, 0.9)]
    assert differing(before, after) == {"utilization": "fails"}
    assert differing(before, after[::-1]) == {"utilization": "unclear"}


def test_many_flows_are_compared_by_table_and_by_jains_index() -> None:
    many = summary(jain=0.8, flows=[{"name": name, "share": 0.1} for name in ["cubic 20ms", "cubic 50ms"] * 5])
    names = list(held([many], [many]))
    assert names[:3] == ["utilization", "jain", "cubic 20ms[0] share"]
    assert len(names) == 2 + 2 * 3


def test_two_real_kernels_over_the_same_path_are_strict() -> None:
    assert versus.is_strict(["linux", "bpf"])
    assert versus.is_strict(["uml:6.1", "uml:6.12"])
    assert not versus.is_strict(["sim", "uml"])
    assert not versus.is_strict(["linux", "uml"])


def test_a_kernel_follows_only_back_ends_that_have_some() -> None:
    assert comparison.named(["uml:6.1", "uml:6.12"]) == ["uml:6.1", "uml:6.12"]
    for wrong in ("sim:6.1,uml", "uml:6.1,uml:6.1", "uml"):
        with pytest.raises(ScenarioError, match="--on"):
            comparison.named(wrong.split(","))


def register(monkeypatch: pytest.MonkeyPatch, **runs: Callable[..., dict[str, Any]]) -> None:
    """Back ends of these names, each of which runs a plan by its function."""
    for name, run in runs.items():
        module = ModuleType(f"dumbbell.backends.{name}")
        vars(module).update(run=run, check=sim.check)
        monkeypatch.setitem(sys.modules, f"dumbbell.backends.{name}", module)
        monkeypatch.setitem(backends.KINDS, name, backends.Kind(f"backends.{name}"))


def test_the_command_prints_a_row_per_combination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The simulator stands in for the other back end, so the two agree to the digit.
    register(monkeypatch, twin=sim.run)
    (tmp_path / "x.toml").write_text(SCENARIO)
    out = tmp_path / "out"
    assert cli.main(["compare", str(tmp_path / "x.toml"), "--on", "sim,twin", "--out", str(out), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["vary"] for row in rows] == [{"path.buffer": "1bdp"}, {"path.buffer": "2bdp"}]
    assert all(figure["sim"] == figure["twin"] and figure["agrees"] for row in rows for figure in row["figures"])


@pytest.mark.parametrize(("is_real_time", "traffic"), [(True, "iperf3"), (False, "auto")])
def test_flows_are_made_as_by_run_unless_a_back_end_takes_iperf3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traffic: str, *, is_real_time: bool
) -> None:
    register(monkeypatch, twin=sim.run)
    monkeypatch.setitem(backends.KINDS, "twin", backends.Kind("backends.twin", is_real_time=is_real_time))
    (tmp_path / "x.toml").write_text(SCENARIO)
    out = tmp_path / "out"
    assert cli.main(["compare", str(tmp_path / "x.toml"), "--on", "sim,twin", "--out", str(out)]) == 0
    for name in ("sim", "twin"):
        assert {result.plan.host.traffic for result in dumbbell.load(out / name)} == {traffic}


def test_three_back_ends_are_held_against_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def halved(*given: Any, **more: Any) -> dict[str, Any]:
        made = sim.run(*given, **more)
        made["summary"]["link"]["utilization"] /= 2
        (given[1] / "manifest.json").write_text(json.dumps(made))
        return made

    register(monkeypatch, twin=sim.run, half=halved)
    (tmp_path / "x.toml").write_text(SCENARIO.replace(', "2bdp"', ""))
    assert cli.main(["compare", str(tmp_path / "x.toml"), "--on", "sim,twin,half", "--out", str(tmp_path / "out")]) == 1
    [utilization] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  utilization")]
    reference, twin, half = (float(word) for word in utilization.split()[1:4])
    assert (twin, half) == (reference, pytest.approx(reference / 2, rel=0.01))
    assert utilization.endswith("* half")


def test_a_transfer_that_ends_on_one_side_only_does_not_agree() -> None:
    ended, other = summary(fct_s=2.5), summary(utilization=0.3)
    assert differing([ended], [other]) == {"cubic[0] completed": "fails"}
    assert not {"utilization", "cubic[0] fct_s"} & held([ended], [other]).keys(), "each has one only"
    assert held([ended, other], [ended, ended])["cubic[0] completed"] == (0.5, 1.0, "fails")


def test_three_back_ends_that_have_different_figures_are_printed_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unended(*given: Any, **more: Any) -> dict[str, Any]:
        made = sim.run(*given, **more)
        made["summary"]["flows"][0]["fct_s"] = None
        (given[1] / "manifest.json").write_text(json.dumps(made))
        return made

    register(monkeypatch, twin=sim.run, unended=unended)
    file = tmp_path / "x.toml"
    file.write_text(SCENARIO.replace(', "2bdp"', "").replace('"cubic" }', '"cubic", size = "100kB" }'))
    for more in ([], ["--json"]):
        on = ["--on", "sim,unended,twin", "--out", str(tmp_path / f"out{len(more)}")]
        assert cli.main(["compare", str(file), *on, *more]) == 1
    *text, line = capsys.readouterr().out.splitlines()
    (fct,) = (words for row in text if (words := row.split())[1:2] == ["fct_s"])
    assert (fct[3], fct[2]) == ("-", fct[4])
    (completed,) = (row for row in text if row.startswith("  ") and "completed" in row)
    assert completed.split()[2:5] == ["1", "0", "1"]
    assert completed.endswith("* unended")
    found = {figure["name"]: figure for figure in json.loads(line)["figures"]}
    assert found["cubic[0] fct_s"]["unended"] is None
    assert (found["cubic[0] completed"]["unended"], found["cubic[0] completed"]["agrees"]) == (0.0, False)


def test_two_kernels_are_held_to_less() -> None:
    assert differing([summary()], [summary(share=0.94)], strict=True) == {"cubic[0] share": "unclear"}
    assert differing([summary()], [summary(share=0.94)]) == {}


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("sim", 'dumbbell: --on: got "sim", wanted two or three different back ends, such as sim,linux'),
        ("sim,sim", 'dumbbell: --on: got "sim,sim", wanted two or three different back ends, such as sim,linux'),
        (
            "sim,linx",
            (
                'dumbbell: --on: got "linx", wanted two or three of: sim, linux, bpf, uml, uml-ours, netem, with commas'
                ' between; did you mean "linux"?'
            ),
        ),
    ],
)
def test_two_different_back_ends_are_wanted(
    on: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.toml").write_text(SCENARIO)
    assert cli.main(["compare", str(tmp_path / "x.toml"), "--on", on]) == 2
    assert capsys.readouterr().err.strip() == message


@pytest.mark.parametrize("need", ["2", "-1", "150%", "nan", "half"])
def test_the_share_of_runs_that_must_agree_is_one_from_0_to_1(
    need: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.toml").write_text(SCENARIO)
    with pytest.raises(SystemExit) as ended:
        cli.main(["compare", str(tmp_path / "x.toml"), f"--need={need}"])
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err
        == f'dumbbell compare: argument --need: got {need}, wanted a share from 0 to 1, such as "90%" or 0.9\n'
    )


@pytest.mark.parametrize(("need", "status"), [("50%", 0), ("0.5", 0), ("51%", 1), ("0", 0)])
def test_enough_runs_agree_where_their_share_is_the_one_asked_for(
    need: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_differs(*given: Any, **more: Any) -> dict[str, Any]:
        made = sim.run(*given, **more)
        if made["vary"] == {"path.buffer": "2bdp"}:
            made["summary"]["link"]["utilization"] /= 2
            (given[1] / "manifest.json").write_text(json.dumps(made))
        return made

    register(monkeypatch, twin=one_differs)
    (tmp_path / "x.toml").write_text(SCENARIO)
    given = ["compare", str(tmp_path / "x.toml"), "--on", "sim,twin", "--out", str(tmp_path / "out"), "--need", need]
    assert cli.main(given) == status


def test_what_cannot_be_drawn_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.toml").write_text(SCENARIO)
    assert cli.main(["compare", str(tmp_path / "x.toml"), "--plot", "cwind", "--out", str(tmp_path / "out")]) == 2
    assert (
        'got "cwind", wanted one of: goodput, throughput, rtt, cwnd, inflight, queue, states, events; did you mean "cwnd"?'
        in capsys.readouterr().err
    )
    assert not (tmp_path / "out").exists()


def test_what_one_back_end_cannot_do_is_refused_before_the_other_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch, twin=sim.run)

    def check(_: object) -> None:
        raise ScenarioError("path.rate", "got a trace, wanted a rate")

    monkeypatch.setattr(sys.modules["dumbbell.backends.twin"], "check", check)
    (tmp_path / "x.toml").write_text(SCENARIO)
    given = ["compare", str(tmp_path / "x.toml"), "--on", "sim,twin", "--out", str(tmp_path / "out")]
    assert cli.main(given) == 2
    assert "path.rate: got a trace, wanted a rate" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("on", "more", "said"),
    [
        ("sim,linux", [], "with --on linux controllers are the kernel's own, which do not tell their states"),
        ("sim,uml:6.12", [], "with --on uml:6.12 controllers are the kernel's own"),
        ("sim,uml-ours", ["--set", "record.events=false"], "or record.events = true in"),
    ],
)
def test_states_that_no_run_will_have_are_refused_before_anything_runs(
    on: str, more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.toml").write_text(SCENARIO)
    given = ["compare", str(tmp_path / "x.toml"), "--on", on, "--plot", "states", "--out", str(tmp_path / "out"), *more]
    assert cli.main(given) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_runs_that_agree_without_a_picture_have_status_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch, twin=sim.run)
    monkeypatch.setitem(backends.KINDS, "twin", backends.KINDS["twin"]._replace(has_states=True))
    (tmp_path / "mine.py").write_text("class Mine:\n    def on_ack(self, sample):\n        return 10, None\n")
    (tmp_path / "x.toml").write_text(SCENARIO.replace("cubic", "mine"))
    given = ["compare", str(tmp_path / "x.toml"), "--on", "sim,twin", "--plot", "states"]
    assert cli.main([*given, "--cca", str(tmp_path / "mine.py"), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    assert "0 pictures in" in printed.out
    assert printed.out.splitlines()[-1] == (
        "sim against twin: 2 of 2 combinations agree (one seed, so chance is not told apart)"
    )
    assert "x_buffer=1bdp: no picture: no flow has states of its controller" in printed.err


def test_a_difference_that_repetitions_explain_is_unclear() -> None:
    def over(*values: float) -> list[Any]:
        return [summary(utilization=value) for value in values]

    assert held(over(0.80, 0.95, 0.90), over(0.95, 0.70, 0.75))["utilization"][2] == "unclear"
    assert held(over(0.90, 0.91, 0.92), over(0.80, 0.81, 0.82))["utilization"][2] == "fails"
    assert held(over(0.90), over(0.80))["utilization"][2] == "fails"
    assert held(over(0.90), over(0.86))["utilization"][2] == "unclear"


@pytest.fixture
def compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a comparison with a back end that goes by another link and warns of it."""

    def warned(*given: Any, **more: Any) -> dict[str, Any]:
        made = sim.run(*given, **more)
        made["summary"]["link"]["utilization"] = 0.2
        made["warnings"] = ["host.hz: this kernel's tick is 250, not 1000"]
        (given[1] / "manifest.json").write_text(json.dumps(made))
        return made

    register(monkeypatch, twin=sim.run, late=warned)
    (tmp_path / "x.toml").write_text(SCENARIO)
    return tmp_path


def test_warnings_that_explain_a_difference_are_printed(compared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", str(compared / "x.toml"), "--on", "sim,late", "--out", str(compared / "out")]) == 1
    output = capsys.readouterr().out
    assert output.count("  late: host.hz: this kernel's tick is 250, not 1000\n") == 2
    assert "DIFFERS (of one repetition; --set repetitions=5 tells whether it is chance)" in output


def test_the_folder_of_a_comparison_is_one_of_results_that_vary_by_back_end(
    compared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = compared / "out"
    cli.main(["compare", str(compared / "x.toml"), "--on", "sim,twin", "--out", str(out)])
    runs = dumbbell.load(out)
    assert [run.vary for run in runs] == [
        {"on": on, "path.buffer": buffer} for buffer in ("1bdp", "2bdp") for on in ("sim", "twin")
    ]
    capsys.readouterr()
    assert cli.main(["show", str(out)]) == 0
    assert "1bdp" in capsys.readouterr().out
    assert cli.main(["plot", "vary", str(out), "-o", str(compared / "x.png")]) == 0
    assert (compared / "x.png").exists()


def test_force_replaces_a_comparison_and_its_pictures(compared: Path) -> None:
    arguments = ["compare", str(compared / "x.toml"), "--on", "sim,twin", "--out", str(compared / "out")]
    assert cli.main(arguments) == 0
    assert cli.main(arguments) == 2
    assert cli.main([*arguments, "--force"]) == 0
