"""Colours that can be told apart by everybody, and pictures that a paper prints as they are."""

from __future__ import annotations

import math
import re
import sys
import zlib
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import pytest

import dumbbell
from conftest import ROOT
from dumbbell import Flow, Results, cli, plot
from dumbbell.cli.options_plot import _LOOKS, KINDS
from dumbbell.plots import look, palette, style
from dumbbell.plots.look import Trait

sys.path.insert(0, str(ROOT / "tools"))

import palette as vision  # tools/palette.py

FAMOUS = {name: look.of(name).colour for name in ("cubic", "bbr", "bbr2", "bbr3", "reno")} | {"own": palette.OWN[0]}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    path = dumbbell.Path(rate="20Mbps", rtt="20ms", buffer=["0.5bdp", "1bdp", "4bdp"])
    scenario = dumbbell.Scenario(
        name="p", duration="1s", path=path, flow=[Flow(cca="bbr3"), Flow(cca="cubic")],
    )  # fmt: skip
    return dumbbell.run(scenario, tmp_path_factory.mktemp("paper") / "out")


def cca(name: str) -> Trait:
    return Trait(name, is_cca=True)


def families(texts: object) -> set[str]:
    return {text.get_fontfamily()[0] for text in texts}  # type: ignore[attr-defined]


def fonts_of(pdf: Path) -> tuple[set[str], set[str]]:
    """Families and types of the fonts that a PDF has."""
    data = pdf.read_bytes()
    data += b"".join(
        zlib.decompress(part)
        for part in re.findall(rb"stream\r?\n(x.*?)endstream", data, re.DOTALL)
        if part[:2] in (b"x\x9c", b"x\xda")
    )
    names = {name.decode().partition("+")[2] for name in re.findall(rb"/BaseFont /([\w+-]+)", data)}
    kinds = {kind.decode() for kind in re.findall(rb"/Subtype /(Type3|Type42|CIDFontType2|TrueType|Type1)\b", data)}
    return {name.partition("-")[0] for name in names}, kinds


def test_every_line_has_a_contrast_of_three_to_white() -> None:
    drawn = [*(colour for colour, _ in palette.CONTROLLERS.values()), *palette.OWN, *palette.CATEGORIES]
    drawn += [look.ramp(nth, count) for count in (2, 3, 6, 12) for nth in range(count)]
    drawn += [
        look.shade(colour, nth, count) for colour in palette.CATEGORIES for count in (2, 4) for nth in range(count)
    ]
    drawn += [look.VERMILION, look.GREEN, look.NEUTRAL, look.QUIET]
    assert {colour: look.contrast(colour) for colour in drawn if look.contrast(colour) < 3} == {}


@pytest.mark.parametrize(("one", "other"), list(combinations(FAMOUS, 2)))
def test_famous_controllers_are_far_apart_for_every_reader_and_in_grey(one: str, other: str) -> None:
    first, second = FAMOUS[one], FAMOUS[other]
    assert vision.distance(vision.seen(first), vision.seen(second)) >= 0.12
    assert abs(vision.lightness(first) - vision.lightness(second)) >= 0.045


def test_no_two_controllers_have_colours_that_cannot_be_told_apart() -> None:
    seen = {name: vision.seen(colour) for name, (colour, _) in palette.CONTROLLERS.items()}
    nearest = min(combinations(seen, 2), key=lambda pair: vision.distance(seen[pair[0]], seen[pair[1]]))
    assert vision.distance(seen[nearest[0]], seen[nearest[1]]) >= 0.025, nearest


def test_states_have_one_colour_each() -> None:
    from dumbbell import controllers

    states = {state for known in controllers.known().values() for state in known.states}
    assert states == set(palette.STATES)
    assert len(set(palette.STATES.values())) == len(states)


LINES = {colour for colour, _ in palette.CONTROLLERS.values()} | set(palette.OWN) | set(palette.CATEGORIES)


def test_no_reader_takes_the_colour_of_a_state_for_that_of_a_flow() -> None:
    lines = {colour: vision.seen(colour) for colour in LINES}
    for name, colour in {**palette.STATES, **dict(enumerate(palette.OTHER_STATES))}.items():
        nearest = min(lines, key=lambda line: vision.distance(vision.seen(colour), lines[line]))
        assert vision.distance(vision.seen(colour), lines[nearest]) >= 0.025, (name, nearest)


def test_queue_drops_and_marks_have_no_colour_of_a_flow() -> None:
    """Drops and marks are strokes and no lines, which tells them from flows where colours do not."""
    lines = {colour: vision.seen(colour)["normal"] for colour in LINES}
    for colour in (look.NEUTRAL, look.VERMILION, look.GREEN):
        seen = vision.seen(colour)["normal"]
        assert min(math.dist(seen, line) for line in lines.values()) >= 0.05, colour


def test_what_differs_has_the_colour() -> None:
    ccas = look.dress([[cca("bbr3"), Trait(0)], [cca("cubic"), Trait(1)]])
    assert [own.colour for own in ccas] == [look.of("bbr3").colour, look.of("cubic").colour]
    assert {own.linestyle for own in ccas} == {"-"}, "the controller alone tells them apart"
    flows = look.dress([[cca("bbr"), Trait(0), Trait(flow)] for flow in range(5)])
    assert [own.colour for own in flows] == list(palette.CATEGORIES[:5])
    buffers = look.dress([[cca("cubic"), Trait(0), Trait(i, float(i))] for i in range(4)])
    lights = [vision.lightness(own.colour) for own in buffers]
    assert lights == sorted(lights), "numbers are a ramp"
    against = look.dress([[cca("cubic"), Trait(0), cca(other)] for other in ("bbr", "bbr3")])
    assert [own.colour for own in against] == [look.of("bbr").colour, look.of("bbr3").colour]


def test_what_differs_second_has_the_same_dashes_under_every_controller() -> None:
    lines = [[cca(name), Trait(buffer, float(buffer))] for name in ("cubic", "bbr") for buffer in (1, 4)]
    a, b, c, d = look.dress(lines)
    assert (a.colour, c.colour) == (look.of("cubic").colour, look.of("bbr").colour)
    assert (a.linestyle, b.linestyle) == (c.linestyle, d.linestyle)
    assert a.linestyle != b.linestyle
    assert (a.is_hollow, b.is_hollow) == (False, True)


def test_ones_own_controller_stands_out_and_two_have_two_colours() -> None:
    cubic, mine, other = look.dress([[cca("cubic")], [cca("mine")], [cca("yours")]])
    assert mine.line["linewidth"] > mpl.rcParams["lines.linewidth"]
    assert mine.line["zorder"] > 2
    assert "linewidth" not in cubic.line
    assert mine.colour in palette.OWN
    assert mine.colour != other.colour


def test_shares_of_two_that_sum_to_one_are_one_line_with_the_fair_share(results: Results) -> None:
    ax = plot.vary(results, metric="share")
    assert {text.get_text() for text in ax.figure.legends[0].get_texts()} == {"BBRv3", "fair share"}
    assert plot.caption_of(ax.figure).endswith("the rest is that of CUBIC")
    assert [made.get_label() for made in plot.vary(results, metric="share", flows="cubic").containers] == ["CUBIC"]


@pytest.mark.parametrize("paper", ["column", "wide"])
def test_a_picture_for_a_paper_has_its_width_its_caption_beside_it_and_one_embedded_font(
    results: Results, tmp_path: Path, paper: str
) -> None:
    figure = plot.draw("vary", results, paper=paper)
    assert figure.get_figwidth() == style.PAPER[paper]
    assert figure.legends[0].get_title().get_text() == ""
    plot.save(figure, tmp_path / "p.pdf")
    assert (tmp_path / "p.txt").read_text() == plot.caption_of(figure) + ".\n"
    names, kinds = fonts_of(tmp_path / "p.pdf")
    assert names == {"STIXGeneral"}
    assert kinds == {"CIDFontType2"}, "TrueType, not Type 3"


def test_a_caption_that_is_drawn_has_no_file(results: Results, tmp_path: Path) -> None:
    plot.save(plot.draw("cwnd", results[:1]), tmp_path / "a.png")
    plot.save(plot.draw("cwnd", results[:1], caption=False), tmp_path / "b.png")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.png", "b.png", "b.txt"]


def test_settings_of_the_caller_go_before_ours(results: Results, tmp_path: Path) -> None:
    from matplotlib.text import Text

    own = {"font.family": "DejaVu Serif", "lines.linewidth": 3.0, "axes.grid": False, "font.size": 11}
    with mpl.rc_context(own):
        figure = plot.draw("cwnd", results[:1], paper="column")
        ax = figure.axes[0]
        assert ax.get_lines()[0].get_linewidth() == 3
        assert families(text for text in figure.findobj(Text) if text.get_text()) == {"DejaVu Serif"}
        assert ax.xaxis.label.get_fontsize() == 11
    plot.save(figure, tmp_path / "own.pdf")
    assert fonts_of(tmp_path / "own.pdf")[0] == {"DejaVuSerif"}


def test_axes_that_are_given_lend_their_font_to_legend_and_caption(results: Results) -> None:
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.family": "DejaVu Serif"}):
        ax = Figure().subplots()
    plot.goodput(results[0], ax=ax, bin_s=0.2)
    legend = ax.get_legend()
    assert families([*legend.get_texts(), legend.get_title(), ax.xaxis.label]) == {"DejaVu Serif"}


def test_a_style_a_font_and_a_resolution_can_be_asked_for(
    results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from PIL import Image

    (tmp_path / "thick.mplstyle").write_text("font.family: DejaVu Sans Mono\n")
    run = str(results[0].folder)
    asked = ["plot", "cwnd", run, "--style", str(tmp_path / "thick.mplstyle")]
    assert cli.main([*asked, "-o", str(tmp_path / "a.pdf")]) == 0
    assert fonts_of(tmp_path / "a.pdf")[0] == {"DejaVuSansMono"}
    assert cli.main(["plot", "cwnd", run, "--dpi", "50", "-o", str(tmp_path / "b.png")]) == 0
    with Image.open(tmp_path / "b.png") as drawn:
        assert drawn.width == 350
    assert cli.main(["plot", "cwnd", run, "--font", "No Such Font"]) == 2
    assert cli.main(["plot", "cwnd", run, "--style", "nowhere"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith('dumbbell: --font: got "No Such Font", wanted serif, sans-serif, monospace')
    assert second.startswith('dumbbell: --style: got "nowhere", wanted a file of matplotlib')


def test_text_is_escaped_where_latex_draws_it() -> None:
    from dumbbell.plots import lettering

    with mpl.rc_context({"text.usetex": True}):
        assert lettering.plain("loss_rate 5 % & $3 ±1") == r"loss\_rate 5 \% \& \$3 \(\pm\)1"
        assert lettering.plain(lettering.plain("5 %")) == r"5 \%"
    assert lettering.plain("5 %") == "5 %"


def test_help_of_a_kind_has_the_options_that_it_takes_and_two_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(KINDS) == set(plot.KINDS)
    names = {"bin": "bin_s", "from": "window", "to": "window", "linear": "log", "no-caption": "caption"}
    for kind, declared in KINDS.items():
        taken = {names.get(option, option) for option in (*declared.options, *_LOOKS)} - {"font", "style", "tex", "dpi"}
        assert taken == set(plot.options(kind)), kind
        with pytest.raises(SystemExit):
            cli.main(["plot", kind, "--help"])
        told = capsys.readouterr().out
        assert told.count(f"  dumbbell plot {kind}") == 2
        for option in ("metric", "delay", "rows", "bin"):
            assert (f"--{option} " in told) == (option in declared.options or f"--{option} " in declared.example), kind


def test_paper_before_a_folder_means_one_column(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(results[0].folder.parent)
    assert cli.main(["plot", "vary", "--paper", folder]) == 0
    assert capsys.readouterr().out == f"{folder}/vary-paper-column.pdf\n"
    assert cli.main(["plot", "vary", folder, "--paper", "broad"]) == 2
    assert '--paper: got "broad", wanted one of: column, wide' in capsys.readouterr().err


def test_a_timeline_has_a_row_for_each_quantity_on_one_axis_of_time(results: Results) -> None:
    figure = plot.draw("timeline", results[:1])
    titles = [" ".join(ax.get_ylabel().split()) for ax in figure.axes]
    assert titles == ["Goodput (Mbit/s)", "RTT (ms)", "Queue (kB)", "", ""]
    assert {ax.get_xlim() for ax in figure.axes} == {(0.0, 1.0)}
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "", "", "", "Time (s)"]
    asked = plot.draw("timeline", results[:1], rows="rtt,events", flows="1").axes
    assert [label.get_text() for label in asked[1].get_yticklabels()] == ["1: CUBIC"]
    with pytest.raises(dumbbell.ScenarioError, match="--rows"):
        plot.draw("timeline", results[:1], rows="rtt,pie")


def test_events_are_those_of_the_table(results: Results) -> None:
    ax = plot.events(results[0])
    rows = results[0].events.to_pylist()
    for flow in (0, 1):
        wanted = [row["t_ns"] / 1e9 for row in rows if row["flow"] == flow and row["kind"] == "drop_queue"]
        drawn = [line for line in ax.get_lines() if line.get_label() == "drops" and round(line.get_ydata()[0]) == flow]
        assert [at for line in drawn for at in line.get_xdata()] == pytest.approx(wanted)


def test_the_page_of_pictures_shows_every_kind_with_a_command_that_draws_it() -> None:
    page = (ROOT / "docs/plots.md").read_text(encoding="utf-8")
    commands = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    drawn = {words[2]: words[-1] for line in commands if (words := line.split())[1] == "plot"}
    assert set(plot.KINDS) - set(drawn) == {"throughput", "inflight"}, "which look as goodput and cwnd do"
    shown = re.findall(r"\(img/plots/([\w-]+\.png)\)", page)
    assert set(drawn.values()) <= set(shown)
    assert {kind for kind in plot.KINDS if re.search(rf"^## .*\b{kind}\b", page, re.MULTILINE)} == set(plot.KINDS)
    sizes = {name: (ROOT / "docs/img/plots" / name).stat().st_size for name in shown}
    assert {name: size for name, size in sizes.items() if size > 60 * 1024} == {}
    assert sorted(sizes) == sorted(file.name for file in (ROOT / "docs/img/plots").iterdir())
