"""Which link figures are of: the bottleneck's where that is the link that matters, else the one that is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dumbbell
from conftest import Cli
from dumbbell.judge.versus import Side, measured, versus
from dumbbell.report import words
from dumbbell.results import figures, metrics
from dumbbell.results.catalogue import Measured, canonical, figure

#: The second link is the slow one.
TWO = """\
duration = "10s"

[path]
rate = "100Mbps"
rtt = "25ms"
buffer = "1bdp"

[[link]]
name = "access"
rate = "20Mbps"
buffer = "1bdp"

[[flow]]
cca = "cubic"
via = ["bottleneck", "access"]
"""

#: All data go up.
UP = """\
duration = "10s"

[path]
rate = "50Mbps"
rtt = "25ms"
buffer = "1bdp"

[path.up]
rate = "10Mbps"
buffer = "1bdp"

[[flow]]
cca = "cubic"
direction = "up"
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("links")
    (folder / "two.toml").write_text(TWO)
    dumbbell.run(folder / "two.toml", folder / "two")
    return folder


def test_a_figure_of_a_link_by_its_name_is_that_of_its_rows(two: Path) -> None:
    run = dumbbell.load(two / "two")[0]
    access = run.summary.data_links[1]
    whole = Measured(run, None)
    assert figure("utilization@access").read(whole, []) == access.utilization > 0.9
    assert figure("queue_p95@access").read(whole, []) == access.queue_p95_ms
    assert figure("drops@access").read(whole, []) == metrics.counted(run, "dropped_packets", link=1)
    part = Measured(run, (5.0, 10.0))
    assert figure("utilization@access").read(part, []) == metrics.utilization(run, (5.0, 10.0), link=1)
    assert figure("utilization@bottleneck").read(whole, []) == figure("utilization").read(whole, [])
    with pytest.raises(dumbbell.ResultError, match='no link is called "acces", wanted one of: bottleneck, access'):
        figure("queue@acces").read(whole, [])


def test_only_figures_of_links_have_a_link() -> None:
    assert canonical("utilisation@up") == "utilization@up"
    for wrong in ("goodput@up", "queue@", "jain@up"):
        with pytest.raises(dumbbell.ScenarioError, match="wanted a figure of a link before the @"):
            canonical(wrong)
    with pytest.raises(dumbbell.ScenarioError, match='did you mean "queue"'):
        canonical("queu@up")


@pytest.mark.parametrize(
    ("text", "why"), [(TWO, "bottleneck is faster than access"), (UP, "not all data cross bottleneck")]
)
def test_a_condition_on_a_link_that_may_not_matter_is_refused_until_the_link_is_named(
    tmp_path: Path, cli: Cli, text: str, why: str
) -> None:
    file = tmp_path / "s.toml"
    file.write_text(text)
    other = "access" if text is TWO else "up"
    refused = f"wanted the link, because {why}: one of queue@bottleneck, queue@{other}"
    size = "link[0].buffer" if text is TWO else "path.up.buffer"
    axis = ("--vary", f"{size}=0.2bdp..2bdp/5/log", "--store", tmp_path / "store", "--json")
    find = ("sweep", file, *axis, "--find", "max", size, "--where")
    for command in (
        (*find, "queue <= 20"),
        ("run", file, "--out", tmp_path / "r", "--where", "queue <= 20"),
        ("sweep", file, "--until", "queue ci 1", "--store", tmp_path / "store"),
    ):
        said = cli(*command)
        assert said.returncode == 2
        assert refused in said.stderr
    assert not (tmp_path / "r").exists()
    (answer,) = map(json.loads, cli(*find, f"queue@{other} <= 10").stdout.splitlines())
    (best,) = [one for one in answer["looked"] if one["value"] == answer["value"]]
    assert 0 < best["figures"][f"queue@{other}"]["mean"] <= 10
    assert not answer["end"]


def test_show_says_whose_figures_it_has(two: Path, cli: Cli) -> None:
    shown = cli("show", two / "two", "--wide").stdout
    assert "of bottleneck, and bottleneck is faster than access; of another link: --columns utilization@NAME" in shown
    named = cli("show", two / "two", "--columns", "goodput,utilization@access", "--where", "utilization@access >= 90%")
    assert "of another link" not in named.stdout
    assert "access" in named.stdout.splitlines()[3]
    refused = cli("show", two / "two", "--where", "utilization >= 90%")
    assert "wanted the link, because bottleneck is faster than access" in refused.stderr


def test_the_verdict_tells_of_each_link_that_data_cross_where_the_first_may_not_matter(two: Path) -> None:
    run = dumbbell.load(two / "two")[0]
    (said,) = words.verdict([figures.measured(run)])
    assert "The link bottleneck of 100 Mbit/s was 2" in said
    full = run.summary.data_links[1].utilization * 100
    assert f"The link access of 20 Mbit/s was {full:.1f} % full; its queue was" in said


def test_back_ends_are_compared_on_every_link(two: Path) -> None:
    summary = dumbbell.load(two / "two")[0].summary
    found = {one.name: one.reference for one in versus(*[Side([measured(summary)])] * 2)}
    assert found["utilization"] == summary.link.utilization
    assert found["link[1] utilization"] == summary.data_links[1].utilization
