"""Every metric, figure of `show`, field of the summary, column of the tables and kind of event has a test that computes
it independently.

A new one fails here until a test of `test_replay.py`, `test_variation.py`, `test_transients.py` or `test_closed_form*.py` says by `checks` that it computes it
in another way.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import dumbbell
import test_closed_form  # noqa: F401 - registers what it checks
import test_closed_form_link  # noqa: F401
import test_replay  # noqa: F401
import test_transients  # noqa: F401
import test_variation  # noqa: F401
from checked import CHECKED
from dumbbell.results import metrics
from dumbbell.results.catalogue import FIGURES
from dumbbell.results.manifest import FlowSummary, LinkSummary, Summary

ROOT = Path(__file__).resolve().parents[1]
TABLES = ("flows", "samples", "queue", "events", "messages")
#: Types and constants that `dumbbell.metrics` offers beside its functions.
NO_FIGURES = {"JAIN_MARGIN", "Distribution", "Interval", "Which", "Window"}


@pytest.fixture(scope="module")
def all_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    text = 'duration = "100ms"\npath = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }\nflow = [{ cca = "reno" }]\n'
    (run,) = dumbbell.run(dumbbell.from_text(text), tmp_path_factory.mktemp("every") / "run")
    names = {
        f"{table}.{column}"
        for table in TABLES
        for column in pq.read_schema(Path(run.folder) / f"{table}.parquet").names
    }
    kinds = (ROOT / "docs" / "results.md").read_text().split("| kind | meaning |")[1].split("###")[0]
    names |= {f"event.{kind}" for kind in re.findall(r"^\| `(\w+)` \|", kinds, re.MULTILINE)}
    names |= {f"metrics.{name}" for name in set(metrics.__all__) - NO_FIGURES}
    names |= {f"figure.{name}" for name in FIGURES}
    for kind, struct in (("summary", Summary), ("summary.flow", FlowSummary), ("summary.link", LinkSummary)):
        names |= {f"{kind}.{name}" for name in struct.__struct_fields__}
    return names


def test_every_figure_has_a_test_that_computes_it_in_another_way(all_names: set[str]) -> None:
    assert sorted(all_names - CHECKED.keys()) == []
    assert sorted(CHECKED.keys() - all_names) == [], "checked, and there is no such figure"


def test_the_names_that_are_held_against_the_list_are_those_of_the_page(all_names: set[str]) -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    functions = set(re.findall(r"^\| `(\w+)` \| [A-Z]", page, re.MULTILINE))
    assert functions <= {name.partition(".")[2] for name in all_names if name.startswith("metrics.")}
    assert len(functions) > 30
