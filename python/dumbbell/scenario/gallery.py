"""The scenarios that come with the package, and the files that they need: a list, one by its name, a copy to start
from.

Their names are those of their files without the ending; those in a folder have its name before theirs
(``kernel/alone``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dumbbell.errors import ScenarioError
from dumbbell.files import written_whole

#: In the repository this is a link to `scenarios/`; in a wheel it is a copy.
FOLDER = Path(__file__).parent.parent / "scenarios"

#: The end of a sentence, but not of "Fig." and the like.
_SENTENCE_END = re.compile(r"(?<!Fig)(?<!Figs)(?<!al)(?<!sec)\.(?=\s|$)")

_FILE_NAME = re.compile(r"[\w./-]+\.\w+")


#: What the scenarios are about: a heading, and the names below it. Each stands below one.
TOPICS = {
    "Who gets how much": "pair-cubic-bbr cca-standard staggered parking-lot ten-repetitions parameter-sweep "
    "borgli-fig1 borgli-fig4 zhang-table1 zhang-table6",
    "Buffers": "smallest-buffer borgli-fig2 borgli-fig5 borgli-fig8 borgli-htb fabric-10g kfoury-fig11a",
    "Round-trip times": "rtt-unfairness rtt-fairness-aqm kfoury-fig14c zhang-table2",
    "Queue disciplines and ECN": "aqm-tour policer kfoury-fig21a kfoury-fig21a-ecn kfoury-fig22 l4s-dualpi2 l4s-rtt "
    "l4s-steps",
    "Random loss": "lossy-link random-loss fabric-loss",
    "Short flows and latency": "short-flows-p99 short-transfer poisson-short-flows rrul",
    "The way back": "asymmetric-link cable-ack-filter wifi-acks",
    "Rates that change": "5g-mobile leo-reconfiguration outage yang-fig11-down yang-fig11-up "
    "yang-fig17 yang-fig23 yang-jitter yang-steps zhang-table5 worst/faster-link worst/longer-path worst/slower-link",
    "QUIC": "quic-on-lte quinn-cubic-bbr",
    "Simulator against Linux": "sim-vs-linux kernel/against-cubic kernel/alone kernel/fq-codel kernel/loss kernel/rtts "
    "kernel/shallow kernel/slow",
    "A controller that was trained": "held-out orca/against-cubic orca/alone orca/latency orca/loss orca/pairs "
    "orca/steps orca/two",
    "A controller of one's own": "regression-test examples/own-module examples/own-python",
}

#: What the names of scenarios of a suite begin with (`dumbbell suite`), which no list of the gallery has.
SUITES = "suites/"

#: The topic of each scenario.
TOPIC_OF = {name: topic for topic, names in TOPICS.items() for name in names.split()}

#: Keys of a [[flow]] table by which it is no bulk transfer.
_NOT_BULK = {"workload", "size", "arrivals"}


class Entry(NamedTuple):
    """A scenario of the gallery; `summary` is the first sentence of its file."""

    name: str
    path: Path
    summary: str

    @property
    def topic(self) -> str:
        """The heading that it stands below; empty for a file that is put there by somebody else."""
        return TOPIC_OF.get(self.name, "")

    @property
    def searched(self) -> str:
        """Where words are looked for, in small letters: its name, topic and text, with ``bulk`` where a flow has no
        workload, size or arrivals, which no text says.
        """
        text = self.path.read_text(encoding="utf-8")
        bulk = " bulk" if any(not _NOT_BULK & flow.keys() for flow in tomllib.loads(text).get("flow", [])) else ""
        return f"{self.name} {self.topic} {text}{bulk}".lower()


def mentioning(words: Sequence[str]) -> list[Entry]:
    """The scenarios that have all of these words."""
    wanted = [word.lower() for word in words]
    return [entry for entry in entries() if all(map(entry.searched.__contains__, wanted))]


def by_topic(chosen: Sequence[Entry]) -> dict[str, list[Entry]]:
    """These below their topics, in the order of `TOPICS`; those without one last."""
    found = {topic: [entry for entry in chosen if entry.topic == topic] for topic in (*TOPICS, "")}
    return {topic: below for topic, below in found.items() if below}


def near(word: str, of: Sequence[str] = ()) -> list[str]:
    """Names like this one, at most three, of the gallery unless others are given."""
    from difflib import get_close_matches  # only for messages

    known = of or [entry.name for entry in entries()]
    return [name for name in known if word and word in name][:3] or get_close_matches(word, known, n=3, cutoff=0.6)


def entries() -> list[Entry]:
    """All of them, by name; those in folders come last."""
    files = sorted(FOLDER.rglob("*.toml"), key=lambda path: (len(path.relative_to(FOLDER).parts), path))
    return [entry for entry in _entries(files) if not entry.name.startswith(SUITES)]


def _entries(files: Sequence[Path]) -> list[Entry]:
    return [
        Entry(path.relative_to(FOLDER).with_suffix("").as_posix(), path, summary(path.read_text(encoding="utf-8")))
        for path in files
    ]


def summary(text: str) -> str:
    """First sentence of the comment that opens a scenario."""
    prose = []
    for line in text.splitlines():
        if line.startswith("#:"):
            continue
        if not line.startswith("# ") or line.startswith("#  "):
            break
        prose.append(line.removeprefix("# ").strip())
    joined = " ".join(prose)
    end = _SENTENCE_END.search(joined)
    return joined[: end.start()] if end else joined.rstrip(":")


def find(name: str) -> Path:
    """The file of a scenario; raises ScenarioError with the nearest names for an unknown one."""
    known = {entry.name: entry.path for entry in entries()}
    if name in known:
        return known[name]
    of, lists = "the gallery", "dumbbell gallery"
    others: list[str] = []
    if name.startswith(SUITES):
        of, lists = "a suite", "dumbbell suite NAME"
        others = [entry.name for entry in _entries(sorted(FOLDER.glob(f"{SUITES}*/*.toml")))]
        if name in others:
            return FOLDER / f"{name}.toml"
    like = near(name, others)
    hint = f"; did you mean {' or '.join(like)}?" if like else ""
    raise ScenarioError("", f"got {name}, wanted a scenario of {of}: `{lists}` lists them{hint}")


def needed(path: Path) -> list[Path]:
    """Files of the gallery that the text of a scenario names: traces, controllers."""
    text = path.read_text(encoding="utf-8")
    places = (path.parent, FOLDER, FOLDER.parent)
    files: dict[Path, None] = {}
    for word in dict.fromkeys(_FILE_NAME.findall(text)):
        file = next((place / word for place in places if (place / word).is_file()), None)
        if file is not None and file.suffix not in {".toml", ".json"}:
            files[file.resolve()] = None
    return list(files)


def copy(name: str, to: Path, *, force: bool = False) -> list[Path]:
    """Write a scenario to `to`, and the files that it needs next to it; what was written, the scenario first.

    Raises
    ------
    ScenarioError
        The name is unknown, or one of the files is there with another content and `force` is not set: nothing is
        written then.
    """
    source = find(name)
    kept = [line for line in source.read_text(encoding="utf-8").splitlines() if not line.startswith("#:schema")]
    text = "\n".join(kept) + "\n"
    folder, written = source.parent.resolve(), {to: text.encode()}
    for file in needed(source):
        inside = file.relative_to(folder) if file.is_relative_to(folder) else Path(file.name)
        written[to.parent / inside] = file.read_bytes()
    if not force:
        _refuse_to_overwrite(written)
    for path, content in written.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as beside:
                beside.write_bytes(content)
        except OSError as error:
            raise ScenarioError("", error.strerror or str(error), source=str(path)) from None
    return list(written)


def _refuse_to_overwrite(wanted: dict[Path, bytes]) -> None:
    for path, content in wanted.items():
        if path.is_dir() or (path.exists() and path.read_bytes() != content):
            raise ScenarioError(
                "", "is there already; choose another file, or --force to overwrite it", source=str(path)
            )
