"""``--on ray://``: the simulator's bytes from a cluster of two nodes, one of which is killed in the middle."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from conftest import ROOT, Cli
from dumbbell import plan
from dumbbell.backends import builds, cluster
from dumbbell.backends.request import Request
from dumbbell.errors import ScenarioError
from dumbbell.scenario.own import Own

HAS_RAY = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed: pip install -r requirements-ray.lock")

#: Twelve runs of a second or so each, with a trace and a controller of one's own.
TEXT = """\
name = "far"
duration = "60s"
repetitions = 6

[path]
rate = "200Mbps"
rtt = "20ms"
buffer = "1bdp"
loss = "0.01%"

[[flow]]
cca = ["cubic", "bbr"]
count = 4
"""
MINE = "class Mine:\n    def on_ack(self, sample):\n        return 20, None\n"
TABLES = ("flows", "samples", "queue", "events")


def tables(folder: Path) -> dict[str, bytes]:
    return {
        f"{run.folder.name}/{name}": (run.folder / f"{name}.parquet").read_bytes()
        for run in dumbbell.load(folder)
        for name in TABLES
    }


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Any]:
    """A cluster of a head and a node with a processor each, and the node."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = made.add_node(num_cpus=1)
    made.wait_for_nodes()
    yield made, node
    made.shutdown()


def environment(made: Any) -> dict[str, str]:
    return {**os.environ, "RAY_ADDRESS": made.address}


@needs_ray
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_simulators_bytes_though_a_node_dies_in_the_middle(two_nodes: Any, tmp_path: Path) -> None:
    made, node = two_nodes
    (tmp_path / "far.toml").write_text(TEXT)
    command = [sys.executable, "-m", "dumbbell", "sweep", "far.toml"]
    here = subprocess.run(
        [*command, "--out", "here", "--store", "a"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    going = subprocess.Popen(
        [*command, "--out", "there", "--store", "b", "--on", "ray://", "--jobs", "4"],
        cwd=tmp_path, env=environment(made), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 90
    while len(list(tmp_path.glob("b/??/[!.]*/manifest.json"))) < 3:
        assert going.poll() is None, going.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    finished = len(list(tmp_path.glob("b/??/[!.]*/manifest.json")))
    made.remove_node(node, allow_graceful=False)
    out, err = going.communicate(timeout=120)
    assert going.returncode == 0, err
    assert finished < 12
    assert out.splitlines()[2:] == here.stdout.splitlines()[2:], out + err
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    assert {run.manifest.backend for run in dumbbell.load(tmp_path / "there")} == {"sim"}
    keys = [{path.parent.name for path in tmp_path.glob(f"{store}/??/[!.]*/manifest.json")} for store in "ab"]
    assert keys[0] == keys[1]


@needs_ray
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_traces_and_controllers_go_along_and_errors_come_back(two_nodes: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "bad.py").write_text(MINE.replace("return 20, None", "raise ValueError('no')").replace("Mine", "Bad"))
    (tmp_path / "t").write_text("".join(f"{ms}\n" for ms in range(1, 200)))
    text = TEXT.replace('"200Mbps"', '{ trace = "t" }').replace('["cubic", "bbr"]', '["mine", "cubic"]')
    text = text.replace("repetitions = 6", "repetitions = 1").replace('"60s"', '"5s"')
    (tmp_path / "far.toml").write_text(text)

    def run(*more: str, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dumbbell", "run", "far.toml", *more]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120, **options
        )

    far = {"env": environment(two_nodes[0])}
    assert run("--cca", "mine.py", "--out", "here").returncode == 0
    done = run("--cca", "mine.py", "--out", "there", "--on", "ray://", **far)
    assert done.returncode == 0, done.stderr
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    failed = run("--cca", "bad.py", "--set", "flow[0].cca=bad", "--out", "bad", "--on", "ray://", **far)
    assert failed.returncode == 1
    assert "ValueError: no" in failed.stderr


@needs_ray
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_search_on_a_cluster_finds_what_one_here_finds(two_nodes: Any, tmp_path: Path) -> None:
    text = TEXT.replace("repetitions = 6", "repetitions = 1").replace('["cubic", "bbr"]', '"reno"')
    text = (
        text.replace('"60s"', '"10s"')
        .replace("200Mbps", "10Mbps")
        .replace("count = 4", "count = 1")
        .replace('loss = "0.01%"\n', "")
    )
    (tmp_path / "far.toml").write_text(text)
    asked = ["far.toml", "--worst", "goodput >= 8Mbps", "--within", "cuts:200ms..2s:1%..15%", "--budget", "48"]
    for out, more in (("here", ()), ("there", ("--on", "ray://", "--jobs", "4"))):
        command = [sys.executable, "-m", "dumbbell", "search", *asked, "--findings", "1", "--out", out, *more]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(two_nodes[0]), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    for name in ("trials.jsonl", "curve.csv", "finding-1.toml"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def request(**more: Any) -> Request:
    scenario = dumbbell.from_text(TEXT.replace("repetitions = 6", "repetitions = 1"))
    return Request(plan.runs(scenario, more["own"].known() if "own" in more else None)[0], **more)


def test_a_run_on_a_cluster_is_that_of_the_simulator() -> None:
    assert builds.key(request(on="ray://")) == builds.key(request(on="ray://10.0.0.1:10001")) == builds.key(request())


def test_a_class_without_a_file_cannot_be_sent() -> None:
    own = Own.load([], {"mine": type("Mine", (), {"on_ack": lambda *_: (4, None)})})
    with pytest.raises(ScenarioError, match="is a class without a file: wanted a file to send"):
        cluster.check(request(on="ray://", own=own))


def test_a_node_with_another_build_refuses() -> None:
    made = cluster.elsewhere("{}", {}, [], {"engine": "another"})
    assert "has another build of dumbbell" in made.failed


def test_a_task_makes_the_files_of_a_run(tmp_path: Path) -> None:
    from dumbbell import _native, backends

    (tmp_path / "mine.py").write_text(MINE)
    own = Own.load([tmp_path / "mine.py"])
    text = TEXT.replace('["cubic", "bbr"]', '"mine"').replace("repetitions = 6", "repetitions = 1").replace("60s", "2s")
    one = Request(plan.runs(dumbbell.from_text(text), own.known())[0], own=own)
    made = cluster.elsewhere(json.dumps(one.planned.plan), {}, cluster._sources(own), _native.digests())
    assert (made.refused, made.failed) == ("", "")
    backends.run(one, tmp_path / "here")
    assert made.files == {
        path.name: path.read_bytes() for path in (tmp_path / "here").iterdir() if path.name != "manifest.json"
    }


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_without_ray_the_error_says_how_to_get_it(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--on", "ray://")
    assert (done.returncode, done.stderr) == (1, "dumbbell: --on ray://: needs Ray: pip install 'dumbbell[ray]'\n")


@needs_ray
def test_without_a_cluster_there_is_one_line(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--on", "ray://", env={**os.environ, "RAY_ADDRESS": "127.0.0.1:9"})
    assert done.returncode == 1
    assert done.stderr.startswith("dumbbell: --on ray://: ")
    assert done.stderr.count("\n") == 1


def test_the_lock_file_has_every_package_with_its_hashes() -> None:
    lines = (ROOT / "requirements-ray.lock").read_text().splitlines()
    names = [line.split("==")[0] for line in lines if "==" in line]
    assert "ray" in names
    assert names == sorted(names)
    assert sum("--hash=sha256:" in line for line in lines) >= len(names)
