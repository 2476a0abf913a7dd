"""Where people meet what `dumbbell explain` says: in a comparison, after an expectation that fails, in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import backends, cli
from dumbbell.backends import sim
from dumbbell.explain import told
from dumbbell.explain.explained import Cause, Explained, explain
from dumbbell.explain.sides import apart
from dumbbell.explain.told import Teller, Told, sentences
from test_compare import register

PATH = {"rate": "100Mbps", "rtt": "40ms", "buffer": "1bdp"}
SCENARIO = {"name": "case", "duration": "3s", "path": PATH, "flow": [{"name": "main", "cca": "cubic"}]}
HELD = {**SCENARIO, "host": {"rcvbuf": "64kB"}}
TEXT = """
name = "case"
duration = "8s"
path = { rate = "100Mbps", rtt = "40ms", buffer = "1bdp" }
flow = [{ name = "main", cca = "cubic" }]
"""


def of(flow: str, *causes: tuple[str, str]) -> Explained:
    return Explained(flow, [Cause(rule, text) for rule, text in causes])


def test_flows_of_which_the_same_is_said_share_a_sentence():
    full = ("bottleneck", "had what the bottleneck gives")
    said = [of("a", ("starved", "had 0.1 of the goodput"), full), of("b", full), of("c"), of("d")]
    assert sentences(said) == [
        "a had 0.1 of the goodput.",
        "Each of a and b had what the bottleneck gives.",
        "c and d: no rule explains what they got.",
    ]
    many = [of(str(i), full) for i in range(9)]
    assert sentences(many) == ["Each of 0, 1, 2 and 6 more had what the bottleneck gives."]
    lost = [of(str(i), ("policer", f"lost {i + 1} packets")) for i in range(11)]
    assert sentences(lost)[7:] == ["7 lost 8 packets.", "And 3 more, which `dumbbell explain` says."]


def test_what_costs_too_much_is_left_out_and_says_so(monkeypatch: pytest.MonkeyPatch):
    runs = dumbbell.run({**SCENARIO, "duration": "1s", "path": {**PATH, "buffer": ["1bdp", "2bdp", "4bdp"]}})
    monkeypatch.setattr(told, "AGAIN_S", runs[0].manifest.wall_s)
    monkeypatch.setattr(told, "RUNS", 2)
    teller = Teller()
    first, second, third = map(teller.tell, runs)
    assert first.sentences
    assert not first.note
    assert not second.flows
    assert "it would be made again for its tables" in second.note
    assert f"at most 2 runs are explained here. `dumbbell explain {runs[2].folder}` does." in third.note
    assert teller.tell(runs[0]) is first


def test_a_run_of_many_flows_is_left_out(monkeypatch: pytest.MonkeyPatch):
    (run,) = dumbbell.run({**SCENARIO, "duration": "1s", "flow": [{"cca": "cubic", "count": 3}, {"cca": "bbr"}]})
    monkeypatch.setattr(told, "FLOWS", 7)
    assert Teller().tell(run).note.startswith("Not explained: 4 flows of 2 [[flow]] tables take too long here.")
    monkeypatch.setattr(told, "FLOWS", 8)
    assert Teller().tell(run).flows


def test_sides_are_told_where_their_causes_differ():
    full, held = ("bottleneck", "had what the bottleneck gives"), ("receive-window", "was held by its window")
    sides = {"sim": Told([of("a", held, full), of("b", full)]), "uml": Told([of("a", full), of("b", full)])}
    assert apart(sides, ["a", "b"]) == [
        "a: on sim it was held by its window; on uml it had what the bottleneck gives.",
        "b: the same is told on sim and uml, so no rule explains why they differ.",
    ]
    nothing = {"sim": Told([of("a", held)]), "uml": Told([of("a")], "It has no limits.")}
    assert apart(nothing, ["a"]) == [
        "a: on sim it was held by its window; on uml no rule explains what it got.",
        "uml: It has no limits.",
    ]
    assert apart({"sim": Told([], "Not explained."), "uml": Told([of("a", full)])}, ["a"]) == ["sim: Not explained."]


def clamped(request: Any, *given: Any) -> Any:
    """The simulator as another back end, whose hosts have a small receive buffer."""
    plan = request.planned.plan
    host = {**plan["host"], "rcvbuf_bytes": 64_000}
    return sim.run(request._replace(planned=request.planned._replace(plan={**plan, "host": host})), *given)


def compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, *options: str
) -> str:
    register(monkeypatch, clamped=clamped)
    monkeypatch.setitem(
        backends.KINDS, "clamped", backends.Kind("backends.clamped", is_real_time=True, extra=("limits",))
    )
    (tmp_path / "x.toml").write_text(text)
    cli.main(
        [
            "compare",
            str(tmp_path / "x.toml"),
            "--on",
            "sim,clamped",
            "--out",
            str(tmp_path / "out"),
            "--force",
            *options,
        ]
    )
    return capsys.readouterr().out


def test_a_comparison_says_why_the_back_ends_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    text = f"{TEXT}record = {{ limits = true }}\n"
    (line,) = [one for one in compared(tmp_path, monkeypatch, capsys, text).splitlines() if "why:" in one]
    on_sim, on_clamped = line.split("; on clamped ")
    assert on_sim.startswith("  why: main: on sim it ")
    assert "what the bottleneck gives" in on_sim
    assert on_clamped.startswith("it was held by the receive window")
    row = json.loads(compared(tmp_path, monkeypatch, capsys, text, "--json"))
    assert [f"  why: {one}" for one in row["why"]] == [line]


def test_a_run_that_is_not_made_again_says_what_it_cannot_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The run of the simulator is made again as it was: with the traffic of a back end in real time."""
    lines = [one for one in compared(tmp_path, monkeypatch, capsys, TEXT).splitlines() if "why:" in one]
    assert lines[0].startswith("  why: main: on sim it ")
    assert "what the bottleneck gives" in lines[0]
    assert lines[0].endswith("; on clamped no rule explains what it got.")
    (line,) = lines[1:]
    assert line.startswith("  why: clamped: It has no limits, so what only they show is not told: only runs of the sim")


def test_back_ends_that_agree_are_not_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    text = TEXT.replace("100Mbps", "5Mbps")
    assert "why:" not in compared(tmp_path, monkeypatch, capsys, text)


EXPECT = """
[[expect]]
that = "goodput of main >= 20Mbps"

[[expect]]
that = "share of flow[1] >= 90%"

[[expect]]
that = "utilization >= 90%"

[[expect]]
that = "jain >= 0.1"
"""
TESTED = f"""
name = "tested"
duration = "3s"
path = {{ rate = "100Mbps", rtt = "40ms", buffer = ["1bdp", "2bdp"] }}
host = {{ rcvbuf = "64kB" }}
flow = [{{ name = "main", cca = "cubic" }}, {{ name = "other", cca = "reno" }}]
{EXPECT}"""


def judged(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    (folder / "x.toml").write_text(TESTED)
    assert cli.main(["test", str(folder / "x.toml"), "--store", str(folder / "store"), *options]) == 1
    return capsys.readouterr().out


def test_an_expectation_that_fails_says_why_of_its_flow_at_its_first_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    lines = [json.loads(line) for line in judged(tmp_path, capsys, "--json").splitlines()]
    by_name = {
        name: [one["explained"] for one in lines if one["name"] == name] for name in {one["name"] for one in lines}
    }
    main, other = (f"{name} was held by the receive window" for name in ("main", "other"))
    for name, starts in {
        "goodput of main >= 20Mbps": [main], "share of flow[1] >= 90%": [other], "utilization >= 90%": [main, other],
        "jain >= 0.1": [],
    }.items():  # fmt: skip
        first, *rest = by_name[name]
        assert [text[: len(start)] for text, start in zip(first, starts, strict=True)] == starts
        assert rest == [[]]


def test_every_form_of_the_verdicts_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    options = ["--junit", str(tmp_path / "j.xml"), "--summary", str(tmp_path / "s.md"), "--annotate"]
    text = judged(tmp_path, capsys, *options)
    why = "main was held by the receive window"
    assert text.count(f"            why: {why}") == 2  # of its own expectation, and of that of the link
    assert f"%0A{why}" in text  # the annotation
    assert (tmp_path / "j.xml").read_text().count(why) == 2
    assert f"\n  - {why}" in (tmp_path / "s.md").read_text()


def test_expectations_whose_runs_would_take_long_again_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(told, "AGAIN_S", 0.0)
    text = judged(tmp_path, capsys)
    assert "why: Not explained: it would be made again for its tables" in text
    assert "held by" not in text


def test_why_is_a_function_whose_answer_prints_as_sentences():
    (run,) = dumbbell.run(HELD)
    said = dumbbell.why(run)
    assert str(said).startswith("main was held by the receive window")
    assert said._repr_html_() == f"<p>{said}</p>"
    assert dumbbell.why(run, "main", at=2.0, proves=True).flows[0].causes[0].proof is not None
    with pytest.raises(dumbbell.ResultError, match="wanted a time from 0 to 3 s"):
        dumbbell.why(run, at=4.0)


def of_uml(result: dumbbell.Result) -> dumbbell.Result:
    """The same run as one that is not made again: its manifest names another back end."""
    file = result.folder / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "backend": "uml"}))
    return dumbbell.Result(result.folder)


def test_a_proof_that_cannot_be_made_is_named_with_its_reason(tmp_path: Path):
    result = of_uml(dumbbell.run({**HELD, "record": {"limits": True}}, tmp_path / "out")[0])
    (said,) = explain(result, proves=True)
    assert said.untold == ""
    assert said.causes[0].proof is None
    reason = "only runs of the simulator are made again, and this is one of uml"
    assert said.causes[0].sentence.endswith(f"; not proved: {reason}.")


def test_what_a_run_without_tables_does_not_show_is_said_once(tmp_path: Path):
    result = of_uml(dumbbell.run(HELD, tmp_path / "out")[0])
    (said,) = explain(result)
    assert "receive-window" not in [cause.rule for cause in said.causes]
    assert said.untold.startswith("It has no limits, so what only they show is not told: only runs of the simulator")


def test_a_run_that_is_another_one_when_made_again_is_not_explained_by_it(tmp_path: Path):
    result = dumbbell.run(HELD, tmp_path / "out")[0]
    file = result.folder / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["summary"]["flows"][0]["packets_sent"] += 1
    file.write_text(json.dumps(manifest))
    (said,) = explain(dumbbell.Result(result.folder))
    assert "made again here it is another run" in said.untold


def test_a_difference_of_folders_says_why_if_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    before, after = tmp_path / "before", tmp_path / "after"
    dumbbell.run(HELD, before)
    dumbbell.run({**SCENARIO, "duration": "3s"}, after)
    assert cli.main(["show", "--diff", str(before), str(after)]) == 0
    assert "why:" not in capsys.readouterr().out
    assert cli.main(["show", "--diff", str(before), str(after), "--why"]) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("why:")]
    assert line.startswith(f"why: main: in {before} it was held by the receive window")
    assert f"; in {after} " in line
    for wrong in (["show", str(before), "--why"], ["show", "--diff", str(before), str(after), "--why", "--json"]):
        assert cli.main(wrong) == 2
        assert "--why: says in sentences why figures changed" in capsys.readouterr().err
