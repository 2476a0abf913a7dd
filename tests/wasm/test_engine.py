"""The engine of WebAssembly, in Node, against the one of `dumbbell._native`: the same plan gives the same files, byte for byte.

`make test-wasm` makes it and runs these tests; without it they are left out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from dumbbell import _native, controllers
from dumbbell.errors import ScenarioError
from dumbbell.plan import estimate
from dumbbell.plan.moments import engine_text
from dumbbell.plan.moments import of as moments_of
from dumbbell.playground import native
from dumbbell.runs.jobs import given, jobs_of
from dumbbell.scenario import gallery
from dumbbell.scenario.qdiscs import Qdisc

BUILT = ROOT / "build/playground"
#: Packets of the largest run of the gallery that is compared: two seconds of the engine.
PACKETS_MAX = 3_000_000

pytestmark = pytest.mark.skipif(not (BUILT / "engine.wasm").is_file(), reason="no engine of WebAssembly: make wasm")


class Node:
    """The engine in a process of Node."""

    def __init__(self) -> None:
        command = ["node", str(ROOT / "tests/wasm/node.mjs"), str(BUILT / "engine.js"), str(BUILT / "engine.wasm")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What it says of a line of node.mjs."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        return told

    def ask(self, text: str) -> str:
        """Its answer, JSON for JSON."""
        return json.dumps(self.tell({"asked": json.loads(text)})["answer"])


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    made = Node()
    yield made
    made.process.communicate()


def same(node: Node, plan: dict[str, Any], folder: Path) -> int:
    """Run a plan by both; the bytes that were compared."""
    text = engine_text(plan)  # type: ignore[arg-type]
    ours, theirs = folder / "native", folder / "wasm"
    for made in (ours, theirs):
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
    files = [link["trace"]["path"] for link in (*plan["links"], *plan["ack_links"]) if link["trace"]]
    told = node.tell({"plan": text, "out": str(theirs), "given": files})
    summary = _native.run(text, str(ours))
    assert told["answer"] == {"given": summary}
    names = sorted(file.name for file in ours.iterdir())
    assert sorted(file.name for file in theirs.iterdir()) == names
    for name in names:
        assert (theirs / name).read_bytes() == (ours / name).read_bytes(), name
    return sum((ours / name).stat().st_size for name in names)


def plans(scenario: Any) -> list[dict[str, Any]]:
    return [dict(job.planned.plan) for job in jobs_of([given(scenario)], Path())]


@pytest.mark.parametrize("name", [entry.name for entry in gallery.entries()])
def test_every_scenario_of_the_gallery_gives_the_same_bytes(node: Node, name: str, tmp_path: Path) -> None:
    try:
        all_plans = plans(gallery.find(name))
    except ScenarioError as error:  # controllers of one's own that it names
        pytest.skip(f"not planned: {error}")
    plan = all_plans[len(all_plans) // 2]
    if moments_of(plan):  # type: ignore[arg-type]
        pytest.skip("its moments are looked for in a run")
    if estimate.packets(plan) > PACKETS_MAX:  # type: ignore[arg-type]
        pytest.skip(f"more than {PACKETS_MAX:,} packets")
    assert same(node, plan, tmp_path) > 1000


def scenario(cca: str, path: dict[str, Any], **more: Any) -> dict[str, Any]:
    flow = [{"cca": cca}, {"cca": "cubic", "start": "137ms"}, {"cca": cca, "start": "1s", "rtt": "55ms"}]
    base = {"rate": "30Mbps", "rtt": "40ms", "buffer": "1bdp"}
    return {"name": "mixed", "duration": "8s", "path": {**base, **path}, "flow": flow, **more}


PATHS: dict[str, dict[str, Any]] = {
    "shallow": {"buffer": "0.2bdp"},
    "lossy": {"loss": "1%"},
    "jitter": {"jitter": {"kind": "normal", "spread": "4ms"}},
    "fast": {"rate": "1Gbps", "rtt": "5ms"},
    "slow": {"rate": "600kbps", "rtt": "200ms", "buffer": "4bdp"},
}


@pytest.mark.parametrize("cca", sorted(controllers.known()))
def test_every_controller_gives_the_same_bytes_on_every_path(node: Node, cca: str, tmp_path: Path) -> None:
    compared = 0
    for name, path in PATHS.items():
        length = "1200ms" if name == "fast" else "8s"
        (plan,) = plans({**scenario(cca, path), "duration": length, "record": {"variables": True, "limits": True}})
        compared += same(node, plan, tmp_path)
    assert compared > 50_000


@pytest.mark.parametrize("qdisc", Qdisc.FORMS)
def test_every_queue_discipline_gives_the_same_bytes(node: Node, qdisc: str, tmp_path: Path) -> None:
    for cca in ("cubic", "bbr", "dctcp", "prague"):
        (plan,) = plans(scenario(cca, {"qdisc": qdisc}, host={"ecn": True}))
        same(node, plan, tmp_path)


def test_captures_logs_and_other_transports_give_the_same_bytes(node: Node, tmp_path: Path) -> None:
    for transport in ("tcp", "quic", "quinn"):
        tables = scenario("bbr", {}, record={"pcap": True, "qlog": True})
        for flow in tables["flow"]:
            flow["transport"] = transport
        (plan,) = plans({**tables, "duration": "2s"})
        assert same(node, plan, tmp_path) > 10**6


def test_rows_are_told_while_a_run_goes_on(node: Node, tmp_path: Path) -> None:
    (plan,) = plans(scenario("bbr", {}))
    told = node.tell({"plan": engine_text(plan), "out": str(tmp_path), "given": []})  # type: ignore[arg-type]
    seen: list[str] = []
    (tmp_path / "native").mkdir()
    _native.run(engine_text(plan), str(tmp_path / "native"), None, None, seen.append)  # type: ignore[arg-type]
    for table in ("samples", "queue"):
        rows = [row for text in told["rows"] for row in json.loads(text)[table]]
        assert rows == [row for text in seen for row in json.loads(text)[table]]
        assert len(rows) > 50


def test_it_tells_of_itself_what_the_native_one_tells(node: Node) -> None:
    module = native.module(native.Engine(node.ask))
    for name in ("version", "digests", "parts", "facts", "agent"):
        assert getattr(module, name)() == getattr(_native, name)(), name
    assert json.loads(module.controllers()) == json.loads(_native.controllers())
    assert (module.MANIFEST_VERSION, module.SCHEMA_VERSION) == (_native.MANIFEST_VERSION, _native.SCHEMA_VERSION)
    assert module.kernel_name("bbr-hsr") == _native.kernel_name("bbr-hsr")
    assert module.indented('{"a":[1,"x:{"]}') == _native.indented('{"a":[1,"x:{"]}')
    for call in ("radio_course", "radio_trace"):
        asked = ("lte", "mobile", 10**7, 2000, 3)
        assert getattr(module, call)(*asked) == getattr(_native, call)(*asked)
    assert module.path_course("leo", "stationary", 10**7, 2000, 3) == _native.path_course(
        "leo", "stationary", 10**7, 2000, 3
    )
    with pytest.raises(native.PlanError, match="missing field `name`"):
        module.check("{}")
    with pytest.raises(ValueError, match="radio must be lte or wifi, got 6g"):
        module.radio_course("6g", "mobile", 10**7, 2000, 3)


def test_an_error_of_the_engine_ends_its_run_and_no_other(node: Node, tmp_path: Path) -> None:
    (plan,) = plans(scenario("bbr", {}))
    small = {**plan, "limits": {**plan["limits"], "memory_bytes": 1}}
    told = node.tell({"plan": engine_text(small), "out": str(tmp_path), "given": []})  # type: ignore[arg-type]
    with pytest.raises(RuntimeError) as error:
        _native.run(engine_text(small), str(tmp_path))  # type: ignore[arg-type]
    assert told["answer"] == {"runtime_error": str(error.value)}
    assert same(node, plan, tmp_path) > 0
