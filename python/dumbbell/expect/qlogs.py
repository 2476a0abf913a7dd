"""The qlogs of a controller in the places of a suite, in one folder with an index: what those of a QUIC stack are held
against.

DIR/FILE_PLACE_rN.sqlog    senders' view of one run (docs/results.md#qlog)
DIR/index.json             file, place, repetition, seed, command, figures and verdicts of each
DIR/README.md              the same for people
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import backends
from dumbbell.errors import OutError, ScenarioError
from dumbbell.files import written_whole
from dumbbell.results.catalogue import figure
from dumbbell.results.figures import measured, rows
from dumbbell.runs.jobs import folder_name
from dumbbell.units import value_text

from .evaluated import address

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.runs.execute import Execution
    from dumbbell.runs.job import Job

    from .asked import File
    from .judged import Line
    from .suites import Suite

INDEX, README, QLOG = "index.json", "README.md", "trace.sqlog"
#: Figures of each flow, over the part of the run that the file measures.
_FIGURES = ("goodput", "retrans_rate", "srtt", "cwnd")


class Qlogs(NamedTuple):
    """A folder for qlogs."""

    folder: Path
    own: tuple[str, ...]
    """Files with controllers of the user's own."""

    @classmethod
    def of(cls, folder: str | Path, own: Iterable[str | Path], *, on: str, force: bool) -> Qlogs:
        """The folder, which is new, empty or (`force`) of this program. Raises ScenarioError for a back end without
        qlogs, OutError for a folder that holds something else.
        """
        path = Path(folder)
        if "qlog" not in backends.kind(on).extra:
            raise ScenarioError("--qlogs", f"got --on {on}, wanted --on sim, which alone has qlogs")
        if path.exists() and not path.is_dir():
            raise OutError(f"--qlogs: {path} is no folder")
        if path.is_dir() and any(path.iterdir()):
            if not (path / INDEX).is_file():
                raise OutError(f"--qlogs: {path} holds something else, wanted a new folder")
            if not force:
                raise OutError(f"--qlogs: {path} has qlogs already; --force replaces them")
        return cls(path, tuple(map(str, own)))

    @staticmethod
    def recorded(file: File) -> File:
        """The file, whose own runs are recorded; those that it is compared with are not."""
        return file._replace(jobs={**file.jobs, (): list(map(_recorded, file.jobs[()]))})

    def write(
        self, suite: Suite, candidate: str, judged: Sequence[tuple[File, Sequence[Line]]], going: Execution
    ) -> None:
        """Put the qlog of each run of these files into the folder, and write the index. Raises OutError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._remove_former()
            entries = [
                self._placed(str(address(suite, file.path)), job, going.result(going.jobs[job.number]), lines)
                for file, lines in judged
                for job in file.jobs[()]
            ]
            index = {"suite": suite.name, "candidate": candidate, "qlogs": entries}
            for name, text in ((INDEX, json.dumps(index, indent=1) + "\n"), (README, _readme(index))):
                with written_whole(self.folder / name) as draft:
                    draft.write_text(text, encoding="utf-8")
        except OSError as error:
            raise OutError(f"--qlogs: {error.filename}: {error.strerror}") from None

    def _remove_former(self) -> None:
        """Remove the qlogs that a former index lists; nothing else is touched."""
        if not (self.folder / INDEX).is_file():
            return
        try:
            listed = [Path(entry["qlog"]).name for entry in json.loads((self.folder / INDEX).read_text())["qlogs"]]
        except (ValueError, KeyError, TypeError):
            raise OutError(f"--qlogs: {self.folder / INDEX} is not an index of qlogs") from None
        for name in (name for name in listed if name.endswith(".sqlog")):
            (self.folder / name).unlink(missing_ok=True)

    def _placed(self, scenario: str, job: Job, run: Result, lines: Sequence[Line]) -> dict[str, Any]:
        """One qlog, as a hard link to that of the store where the file system has them, and its entry."""
        planned = job.planned
        name = f"{folder_name(planned)}_r{planned.repetition}.sqlog"
        if (self.folder / name).exists():  # values that look alike in a file's name
            name = f"{planned.name}_{job.number:05d}.sqlog"
        try:
            os.link(run.folder / QLOG, self.folder / name)
        except OSError:
            shutil.copyfile(run.folder / QLOG, self.folder / name)
        flows = rows(measured(run), _FIGURES, by="flow")
        here = [line for line in lines if all(planned.vary.get(key) == value for key, value in line.vary.items())]
        words = [word for text in job.request.overrides for word in ("--set", text)]
        words += [word for own in self.own for word in ("--cca", own)]
        return {
            "qlog": name,
            "scenario": scenario,
            "place": dict(planned.vary),
            "repetition": planned.repetition,
            "seed": planned.plan["seed"],
            "command": shlex.join(["dumbbell", "run", scenario, *words]),
            "flows": [
                {"flow": row.flow, "name": row.name, "cca": row.cca}
                | {figure(key).field: row.value(key) for key in _FIGURES}
                for row in flows
            ],
            "verdicts": [
                {"name": line.asked.name, "severity": line.asked.table.severity, "verdict": line.word}
                | {"of": line.judged.label, "measured": line.judged.measured, "wanted": line.judged.wanted}
                for line in here
            ],
        }


def _recorded(job: Job) -> Job:
    plan = job.planned.plan
    recorded = job.planned._replace(plan={**plan, "record": {**plan["record"], "qlog": True}})
    overrides = (*job.request.overrides, "record.qlog=true")
    return job._replace(request=job.request._replace(planned=recorded, overrides=overrides))


def _readme(index: dict[str, Any]) -> str:
    """The index for people."""
    lines = [
        f"# qlogs of {index['candidate']} in the suite {index['suite']}",
        "",
        "One qlog a run, as its senders saw it (JSON text sequences). All flows are in one trace; `group_id` tells",
        "them apart. A TCP flow has recovery events alone, a QUIC flow its packets too. Hold windows, losses and RTTs",
        "against those of your stack on the same path; index.json has the command, figures and verdicts of each.",
        "",
        "| qlog | place | flow | goodput, Mbit/s | retransmitted, % | srtt, ms | window, segments | verdicts |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for entry in index["qlogs"]:
        place = ", ".join(f"{key} {value_text(value)}" for key, value in entry["place"].items())
        bad = [f"{line['name']}: {line['verdict']}" for line in entry["verdicts"] if line["verdict"] != "holds"]
        for i, flow in enumerate(entry["flows"]):
            figures = [_cell(flow[figure(key).field], figure(key).scale) for key in _FIGURES]
            cells = [f"{flow['name']} ({flow['cca']})", *figures, ("; ".join(bad) or "all hold") if i == 0 else ""]
            head = [f"[{entry['qlog']}]({entry['qlog']})", place] if i == 0 else ["", ""]
            lines.append("| " + " | ".join(text.replace("|", "\\|") for text in (*head, *cells)) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: float | None, scale: int) -> str:
    return "-" if value is None else f"{value * scale:.4g}"
