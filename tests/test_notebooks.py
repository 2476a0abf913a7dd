"""The notebooks run as they stand, and print what they hold: texts and tables to the character, pictures by being there."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from browsing import without
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import notebooks

PATHS = sorted(notebooks.FOLDER.glob("*.ipynb"))


@pytest.mark.filterwarnings("default")  # of Jupyter's own programs
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_holds(path: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("nbclient") is None:
        without("there is no nbclient here: make setup")
    import nbformat

    assert notebooks.shown(notebooks.executed(path, tmp_path)) == notebooks.shown(nbformat.read(path, as_version=4))


def test_the_notebooks_are_five_small_and_listed_and_show_a_table_or_a_picture() -> None:
    assert [path.name[0] for path in PATHS] == list("12345")
    listed = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for path in PATHS:
        assert path.stat().st_size < 80_000
        assert f"(../notebooks/{path.name})" in listed
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        kinds = {kind for cell in cells for output in cell.get("outputs", []) for kind in output.get("data", {})}
        assert kinds & {"text/html", "image/png"}, path.name
