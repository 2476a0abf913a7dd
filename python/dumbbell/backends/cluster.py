"""The simulator on a cluster of Ray: each run is a task, whose files come back and become a result folder here.

``--on ray://`` joins the cluster that this machine is part of, or that $RAY_ADDRESS names; ``--on ray://HOST:PORT`` one
from outside, by Ray's client. Every node has this package, built from the same sources: where they differ, a run is
refused. The tables are those of the simulator to the byte. A task whose node dies is run again on another.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ControllerError, DumbbellError, EngineError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dumbbell.plan.types import Plan
    from dumbbell.scenario.own import Own

    from .request import Request

#: Between two looks at a task, seconds: what lets Ctrl-C through.
_LOOK_S = 0.1
#: For which a cluster may keep silent, seconds.
_REACH_S = 10.0

_joining = Lock()


def check(request: Request) -> None:
    """Raise ScenarioError for controllers that cannot be sent, EngineError where there is no cluster."""
    _sources(request.own)
    join(request.on)


def workers(on: str) -> int:
    """Number of runs that go at once: one per processor of the cluster."""
    return max(int(join(on).cluster_resources().get("CPU", 1)), 1)


def run(request: Request, folder: Path) -> dict[str, Any]:
    """Run one plan on the cluster into `folder`, as `sim.run` does, and return its manifest."""
    from .folder import ResultFolder

    ray = join(request.on)
    with ResultFolder(request, folder) as results:
        summary, files = _fetched(ray, request, _task(ray, request))
        for name, content in files.items():
            (results.path / name).write_bytes(content)
        return results.finish(summary, controllers=request.own.record())


def join(on: str) -> Any:
    """The module `ray`, connected to the cluster that ``--on`` names; raises EngineError."""
    import logging

    try:
        import ray
        from ray._private import worker
    except ImportError:
        raise EngineError(f"--on {on}: needs Ray: pip install 'dumbbell[ray]'") from None
    address = "auto" if on.removeprefix("ray:").strip("/") == "" else on
    with _joining:
        if not ray.is_initialized():
            try:
                _reach(os.environ.get("RAY_ADDRESS", "") if address == "auto" else address)
                vars(worker)["print_to_stdstream"] = _on_stderr
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, RuntimeError, ValueError, ImportError, OSError) as error:
                raise EngineError(f"--on {on}: {str(error).splitlines()[0]}") from None
    return ray


def _reach(address: str) -> None:
    """Raise OSError where nobody listens at HOST:PORT, which Ray would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_REACH_S).close()


def _on_stderr(data: Mapping[str, Any], **_: object) -> None:
    """Send what Ray prints of nodes and tasks to stderr: stdout is for data."""
    for text in data["lines"]:
        print(f"dumbbell: ray: {text.splitlines()[0][:300]}", file=sys.stderr)


def _sources(own: Own) -> list[list[tuple[str, str]]]:
    """The files of the user's own controllers as (name, text), each followed by the files that it needs; raises
    ScenarioError for a controller without one.
    """
    from pathlib import Path

    by_file: dict[str, list[tuple[str, str]]] = {}
    for record in own.record():
        if own.sources[record["name"]].program or own.sources[record["name"]].made:
            raise ScenarioError(
                "--cca", f"got {record['file']}, wanted a C or Python file to send; --on sim has programs"
            )
        if record["sha256"] is None:
            raise ScenarioError("controllers", f'"{record["name"]}" is a class without a file: wanted a file to send')
        files = [Path(record["file"]), *(Path(needed["file"]) for needed in record.get("with", []))]
        by_file[record["file"]] = [(file.name, file.read_text(encoding="utf-8")) for file in files]
    return list(by_file.values())


def _traces(plan: Plan) -> dict[str, bytes]:
    """The traces that a plan names, by their paths: other nodes need not have them."""
    from pathlib import Path

    traces = [link["trace"] for link in (*plan["links"], *plan["ack_links"]) if link["trace"]]
    return {trace["path"]: Path(trace["path"]).read_bytes() for trace in traces}


def _task(ray: Any, request: Request) -> Any:
    from dumbbell import _native

    remote = ray.remote(num_cpus=1, max_retries=-1)(elsewhere)
    plan = request.planned.plan
    return remote.remote(json.dumps(plan), _traces(plan), _sources(request.own), _native.digests())


def _fetched(ray: Any, request: Request, task: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Result of a task; an exception from `progress` takes it back."""
    try:
        while not ray.wait([task], timeout=_LOOK_S)[0]:
            request.progress(0, 0)
        fetched: Made = ray.get(task)
    except ray.exceptions.RayError as error:
        raise EngineError(f"{request.planned.name}: {str(error).splitlines()[0]}") from None
    except BaseException:
        ray.cancel(task)
        raise
    if fetched.refused:
        raise ScenarioError("", fetched.refused, source=request.planned.name)
    if fetched.failed:
        raise EngineError(f"{request.planned.name}: {fetched.failed}")
    return json.loads(fetched.summary), fetched.files or {}


class Made(NamedTuple):
    """Answer of a task: a summary and files, or why there are none."""

    summary: str = ""
    files: dict[str, bytes] | None = None
    refused: str = ""
    failed: str = ""


def elsewhere(
    plan_json: str, traces: dict[str, bytes], sources: list[list[tuple[str, str]]], digests: dict[str, str]
) -> Made:
    """Run a plan on a node."""
    import tempfile
    from pathlib import Path

    from dumbbell import _native
    from dumbbell.scenario.own import Own

    host = socket.gethostname()
    if _native.digests() != digests:
        return Made(failed=f"{host} has another build of dumbbell than the one that asks")
    with tempfile.TemporaryDirectory(prefix="dumbbell-ray-") as temporary:
        place, out = Path(temporary), Path(temporary) / "out"
        out.mkdir()
        plan = _with_traces(json.loads(plan_json), traces, place)
        try:
            own = Own.load([_written(place / str(i), files) for i, files in enumerate(sources)])
            summary = _native.run(json.dumps(plan), str(out), None, own.native(plan["host"]["hz"], own.sources))
        except _native.PlanError as error:
            return Made(refused=str(error))
        except _native.ControllerError as error:
            return Made(failed=str(ControllerError(host, error.__cause__ or str(error))))
        except (DumbbellError, RuntimeError, OSError) as error:
            return Made(failed=f"{host}: {error}")
        return Made(summary, {path.name: path.read_bytes() for path in out.iterdir()})


def _with_traces(plan: Any, traces: dict[str, bytes], place: Path) -> Any:
    """The plan with its traces at this place."""
    for i, (path, content) in enumerate(traces.items()):
        (place / f"trace{i}").write_bytes(content)
        for link in (*plan["links"], *plan["ack_links"]):
            if link["trace"] and link["trace"]["path"] == path:
                link["trace"]["path"] = str(place / f"trace{i}")
    return plan


def _written(folder: Path, files: list[tuple[str, str]]) -> Path:
    """The first of these files, written with the others into a folder."""
    folder.mkdir()
    for name, text in files:
        (folder / name).write_text(text, encoding="utf-8")
    return folder / files[0][0]
