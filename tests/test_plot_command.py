"""`dumbbell plot`: which runs, which options, and what the files are called."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell import Flow, Scenario, cli


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenario = Scenario(
        name="s",
        duration="1s",
        path=dumbbell.Path(rate="20Mbps", rtt="20ms", buffer=["1bdp", "2bdp"]),
        flow=[Flow(cca=["cubic", "bbr"])],
    )
    out = tmp_path_factory.mktemp("plot") / "out"
    dumbbell.run(scenario, out)
    return out


def pictures(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert cli.main(["plot", *words]) == 0
    return capsys.readouterr().out.split()


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["plot", *words]) != 0
    taken = capsys.readouterr()
    assert taken.out == ""
    [line] = taken.err.splitlines()
    return line


def test_pictures_have_names_of_their_own(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = [
        *pictures(capsys, "vary", str(sweep)),
        *pictures(capsys, "vary", str(sweep), "--metric", "srtt"),
        *pictures(capsys, "vary", str(sweep), "--metric", "srtt", "--log"),
        *pictures(capsys, "vary", str(sweep), "--metric", "srtt", "--run", "*cca=bbr", "--from", "500ms"),
        *pictures(capsys, "queue", str(sweep), "--run", "0", "--unit", "ms"),
    ]
    run = "s_buffer=1bdp_flow0.cca=cubic"
    names = [
        "vary.png",
        "vary-srtt.png",
        "vary-srtt-log.png",
        "vary-srtt-run--cca=bbr-from-500ms.png",
        f"{run}/queue-unit-ms.png",
    ]
    assert made == [str(sweep / name) for name in names]
    assert all(Path(file).stat().st_size > 5000 for file in made)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("0", ["s_buffer=1bdp_flow0.cca=cubic"]),
        ("s_buffer=2bdp_flow0.cca=b", ["s_buffer=2bdp_flow0.cca=bbr"]),
        ("s_buffer=2bdp_flow0.cca=bbr", ["s_buffer=2bdp_flow0.cca=bbr"]),
        ("*cca=bbr", ["s_buffer=1bdp_flow0.cca=bbr", "s_buffer=2bdp_flow0.cca=bbr"]),
        ("all", [f"s_buffer={buffer}_flow0.cca={cca}" for buffer in ("1bdp", "2bdp") for cca in ("cubic", "bbr")]),
    ],
)
def test_runs_are_chosen_by_number_beginning_name_and_pattern(
    sweep: Path, capsys: pytest.CaptureFixture[str], asked: str, found: list[str]
) -> None:
    assert pictures(capsys, "cwnd", str(sweep), "--run", asked) == [str(sweep / name / "cwnd.png") for name in found]


def test_several_runs_go_into_a_folder_but_not_into_one_file(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = pictures(capsys, "cwnd", str(sweep), "--run", "*bbr", "-o", str(tmp_path))
    assert made == [str(tmp_path / f"s_buffer={buffer}_flow0.cca=bbr-cwnd.png") for buffer in ("1bdp", "2bdp")]
    line = refused(capsys, "cwnd", str(sweep), "--run", "all", "-o", str(tmp_path / "x.png"))
    assert line.startswith("dumbbell: --output: got ")
    assert "several runs make a picture each" in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cwnd"], "4 runs, and cwnd shows one: choose with --run"),
        (
            ["cwnd", "--run", "x"],
            (
                '--run: got "x", wanted a name, its beginning, a pattern, a number from 0 to 3, or all, of:'
                " s_buffer=1bdp_flow0.cca=cubic"
            ),
        ),
        (["cwnd", "--run", "s_"], "wanted the beginning of one run; 4 begin so"),
        (["cwnd", "--run", "9"], '--run: got "9"'),
        (["queue", "--run", "0", "--metric", "srtt"], "--metric: not for queue, which takes --link, --unit, --log,"),
        (["vary", "--link", "0"], "--link: not for vary, which takes --metric"),
        (["fct", "--jain"], "--jain: not for fct"),
        (["queue", "--run", "0", "--link", "1"], "--link: got 1, wanted the number of a link, 0 to 0"),
        (
            ["queue", "--run", "0", "--unit", "byte"],
            '--unit: got "byte", wanted one of: bytes, packets, ms; did you mean "bytes"?',
        ),
        (["goodput", "--run", "0", "--bin", "1"], '--bin: got "1", wanted a time with its unit'),
        (["goodput", "--run", "0", "--bin", "1ms"], '--bin: got "0.001s", wanted at least the sample interval, 0.1s'),
        (["goodput", "--run", "0", "--bin", "5s"], "bins of 5 s do not fit into 1 s"),
        (["goodput", "--run", "0", "--from", "2s"], "no part of its 1 s is in the window from 2 s on"),
        (
            ["goodput", "--run", "0", "--from", "0.5s", "--to", "0.2s"],
            '--to: got "0.2s", wanted a time after --from (0.5s)',
        ),
        (["goodput", "--run", "0", "--flows", "1"], '--flows: got "1", wanted flows of this run: 0 to 0'),
        (["goodput", "--run", "0", "--flows", "cubik"], 'did you mean "cubic"?'),
        (["vary", "--width", "1"], "--width: got 1.0, wanted inches, from 2 to 60"),
        (
            ["vary", "--jain", "--width", "2", "--height", "2"],
            "the figure does not fit into 2 x 2 inches: give more with --width and --height",
        ),
        (["vary", "--form", "pie"], '--form: got "pie", wanted one of: lines, bars, heat'),
        (
            ["vary", "--panels", "path.buffer"],
            '--panels: got "path.buffer", wanted a varied key that is not along x: flow[0].cca',
        ),
        (
            ["vary", "-o", "nowhere/x.png"],
            '--output: got "nowhere/x.png", wanted a file in a folder that exists; there is no nowhere',
        ),
        (
            ["vary", "-o", "x.jpg"],
            '--output: got "x.jpg", wanted a name that ends in .png, .pdf or .svg, or a folder that exists',
        ),
        (["tradeoff", "--delay", "ping"], '--delay: got "ping", wanted one of: owd, queue, rtt'),
        (["pie"], 'KIND: got "pie", wanted one of: goodput'),
    ],
)
def test_what_cannot_be_drawn_is_one_line(
    sweep: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert said in refused(capsys, words[0], str(sweep), *words[1:])
