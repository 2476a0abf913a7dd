"""What the page asks, answered as the server of `dumbbell serve` does (`serve/server.py`), for one reader and without
processes.

Figures that are read from tables need numpy and Arrow, which Pyodide does not bring: what is told of a finished run is
what the engine's summary has.
"""

from __future__ import annotations

import io
import json
import zipfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import _native, backends
from dumbbell.errors import DumbbellError, ResultError, ScenarioError, show
from dumbbell.plan.moments import engine_text
from dumbbell.plan.moments import of as moments_of
from dumbbell.report import document as documents
from dumbbell.report import looks, origin, route, sweeps, words
from dumbbell.report.gathered import Gathered, gather, labels
from dumbbell.report.table import table
from dumbbell.results import figures
from dumbbell.results.catalogue import FIGURES, shown
from dumbbell.scenario import gallery
from dumbbell.serve import page
from dumbbell.serve.check import Desk, listed
from dumbbell.serve.checker import outline
from dumbbell.serve.limits import TOGETHER, Keep, Limits
from dumbbell.serve.live import Live
from dumbbell.serve.shelf import Shelf
from dumbbell.serve.worker import RUNS_DRAWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dumbbell.results.catalogue import Measured
    from dumbbell.runs.job import Job

#: A tab has one processor and some hundred MB.
LIMITS = Limits(runs=40, packets=50_000_000, memory_bytes=256 << 20, has_flags=False)
KEEP = Keep(folders=200, disk_bytes=512 << 20)
#: What is said of what needs a server, or a machine.
_ELSEWHERE = "the playground does not have this, `dumbbell serve` does"
_NO_TABLES = (
    "What is read from tables (completion times, RTTs, windows, why) is told by `dumbbell serve` and `dumbbell show`."
)
#: Of runs with a `[measure]` part, or with several flows of one `[[flow]]` table.
_UNTOLD = (
    "The run has ended. Its verdict is read from tables, which `dumbbell serve` can read and the playground cannot."
)


class Started(NamedTuple):
    """A job: its runs, how their points are drawn, and how far it is."""

    name: str
    jobs: list[Job]
    live: dict[int, Live]
    whole: dict[str, list[Any]]
    """The values of each key that the runs vary."""


class Answers:
    """Answers of one page, whose runs are below a folder."""

    def __init__(self, results: Path) -> None:
        self.desk = Desk(results, LIMITS, is_simulated=True)
        self.shelf = Shelf(results)
        self.results = results
        self._started: dict[str, Started] = {}
        self._routes: dict[str, Callable[[Any], Any]] = {
            "/api/known": self._known,
            "/api/gallery": lambda asked: {"toml": gallery.find(asked["name"]).read_text(encoding="utf-8")},
            "/api/papers": lambda _: {"papers": []},
            "/api/recordings": lambda _: {"recordings": []},
            "/api/runs": lambda _: {"runs": self.shelf.names(), "jobs": []},
            "/api/check": self.desk.answer,
            "/api/start": self._start,
            "/api/growing": self._growing,
            "/api/document": lambda asked: self._document(asked["run"]),
        }

    def answer(self, path: str, asked: str) -> str:
        """Answer what the page asks, JSON for JSON: the key `answer`, or an error by `error` or `errors`."""
        try:
            route_ = self._routes.get(path)
            if route_ is None:
                raise ResultError(_ELSEWHERE)
            return json.dumps({"answer": route_(json.loads(asked))})
        except ScenarioError as error:
            return json.dumps({"errors": listed(error)})
        except (DumbbellError, ValueError) as error:
            return json.dumps({"error": str(error)})

    def _known(self, _: object) -> dict[str, Any]:
        whose = {"name": "", "watches": False, "shares": False}
        return {**page.known(_native.version(), self.desk, KEEP, whose), "serverless": True}

    def _start(self, posted: dict[str, Any]) -> dict[str, Any]:
        """Plan a job, for an engine elsewhere to run: its name, what the page is told first, and the plans."""
        checked = self.desk.check(posted)
        plans = [job.planned.plan for job in checked.jobs]
        if any(moments_of(plan) for plan in plans):
            raise ScenarioError("", f"got steps that come when a controller's state changes: {_ELSEWHERE}")
        told = outline(checked)
        name = self._free(told["begin"]["name"])
        out = self.results / name
        out.mkdir()
        jobs = [job._replace(folder=out / job.folder) for job in checked.jobs]
        live = {job.number: Live(dict(job.planned.plan)) for job in jobs if job.number < RUNS_DRAWN}
        self._started[name] = Started(name, jobs, live, told["whole"])
        return {
            "job": name,
            "begin": {"job": name, **told["begin"]},
            "total_ns": told["total_ns"],
            "runs": [{"plan": engine_text(plan), "files": _files(plan)} for plan in plans],
        }

    def _free(self, name: str) -> str:
        return next(free for number in count(1) if not (self.results / (free := f"{name}-{number}")).exists())

    def points(self, name: str, number: int, rows: str) -> str:
        """Points of these rows of a run, as JSON; null where none is to be drawn."""
        live = self._started[name].live.get(number)
        return json.dumps(live and live.points(rows))

    def finish(self, name: str, number: int) -> str:
        """Write the folder of a run whose tables the engine has left (`native.Engine`); the folder's name, or the
        error.
        """
        job = self._started[name].jobs[number]
        try:
            backends.run(job.request, job.folder)
        except DumbbellError as error:
            return json.dumps({"error": str(error)})
        return json.dumps({"done": job.folder.name})

    def folder(self, name: str) -> bytes:
        """The folder of a job as a zip file, for `dumbbell report` and other programs."""
        whole, path = io.BytesIO(), self.shelf.folder(name)
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as made:
            for file in sorted(path.rglob("*")):
                made.write(file, file.relative_to(path.parent))
        return whole.getvalue()

    def _growing(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The figure of a sweep that goes on; none of a metric that is read from tables."""
        try:
            return self.shelf.growing(asked["job"], asked["metric"], self._started[asked["job"]].whole)
        except ImportError:
            return {"figure": None, "runs": 0}

    def _document(self, names: Sequence[object]) -> dict[str, Any]:
        """The data of a report of these jobs without what needs tables: the page has the lines that it has drawn."""
        if not 0 < len(names) <= TOGETHER:
            raise ResultError(f"got {show(names)}, wanted 1 to {TOGETHER} names of folders of results")
        gathered = gather([self.shelf.folder(name) for name in names], start_s=None, end_s=None, title=None)
        told = told_without_tables(gathered)
        for drawn, run in zip(told["series"]["runs"], gathered.runs):
            drawn["number"] = self._number(run.result.folder)
        return told

    def _number(self, folder: Path) -> int:
        """The number of a run in its job."""
        return next(job.number for job in self._started[folder.parent.name].jobs if job.folder == folder)


def told_without_tables(gathered: Gathered) -> dict[str, Any]:
    """What of `report.document` the summaries tell, with its keys; a run of the series has no lines yet."""
    runs = gathered.runs
    names = [name for name in FIGURES if all(_is_in_summary(run, name) for run in runs)]
    varied, notes = sweeps.sweeps(gathered, [name for name in shown("sweep") if name in names])
    series = [
        {"run": i, "label": label, "folder": run.result.folder.parent.name}
        for i, (run, label) in enumerate(zip(runs, labels([run.result for run in runs])))
    ]
    return {
        "version": documents.VERSION,
        "title": gathered.title,
        "made": documents.origin_of_page(),
        "looks": looks.of_page(),
        "folders": [folder.name for folder in gathered.folders],
        "kind": "run",
        "verdict": _verdict(runs),
        "told": [], "comparison": None, "why": None,
        "warnings": documents.warnings(gathered),
        "paths": route.paths([run.result for run in runs]),
        "table": _noted(table(runs, names)) if names else None,
        "changes": None,
        "series": {"runs": series, "notes": []},
        "sweeps": {"figures": varied, "notes": notes}, "cdfs": {"figures": [], "notes": []}, "repeated": [],
        "scoreboards": [],
        "origins": origin.origins(gathered.folders, gathered.folders[0].path.parent / "report.html"),
    }  # fmt: skip


def _noted(made: dict[str, Any]) -> dict[str, Any]:
    return {**made, "notes": [*made["notes"], _NO_TABLES]}


def _is_in_summary(run: Measured, name: str) -> bool:
    """Whether a figure can be read here: one that is read from tables asks for numpy or Arrow."""
    try:
        figures.rows(run, [name], by=figures.default_by([run]))
    except ImportError:
        return False
    return True


def _verdict(runs: Sequence[Measured]) -> list[str]:
    try:
        return words.verdict(runs)
    except ImportError:
        return [_UNTOLD]


def _files(plan: Any) -> list[str]:
    """The files that the engine reads for a plan."""
    links = [*plan["links"], *plan["ack_links"]]
    return [link["trace"]["path"] for link in links if link["trace"]]
