"""Runs the notebooks of notebooks/ and keeps what they print, small: `make notebooks`; with --check it only says what
differs. A name chooses one: `tools/notebooks.py 1-first-comparison`.

Runs are the same everywhere, so texts and tables are compared to the character. Pictures depend on matplotlib, and are
compared by being there.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
#: Dots across a picture, and its colours.
WIDTH, COLOURS = 640, 64


def executed(path: Path, folder: Path) -> Any:
    """The notebook with what its cells give now, run in `folder`; raises CellExecutionError for one that fails."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    for number, cell in enumerate(notebook.cells):
        cell.metadata.clear()
        if cell.cell_type == "code":
            cell.outputs = [small(one) for one in cell.outputs if not is_nothing(one)]
            cell.execution_count = None
        cell["id"] = f"cell-{number + 1}"
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def is_nothing(output: Any) -> bool:
    """The line of progress that a run took away, or the text of axes whose picture follows."""
    data = output.get("data", {})
    return {*data} == {"text/plain"} and (not data["text/plain"] or data["text/plain"].startswith("<Axes"))


def small(output: Any) -> Any:
    """An output without what is shown once already, and with a picture of few dots and colours."""
    if "execution_count" in output:
        output.execution_count = None
    data = output.get("data", {})
    if "text/html" in data or "image/png" in data:
        data.pop("text/plain", None)
    if "image/png" in data:
        data["image/png"] = _shrunk(data["image/png"])
    if "metadata" in output:
        output.metadata = {}
    return output


def _shrunk(picture: str) -> str:
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        whole = image.convert("RGB")
    if whole.width > WIDTH:
        whole = whole.resize((WIDTH, round(whole.height * WIDTH / whole.width)), Image.Resampling.LANCZOS)
    written = io.BytesIO()
    whole.quantize(COLOURS, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return base64.b64encode(written.getvalue()).decode()


def shown(notebook: Any) -> list[Any]:
    """What is compared: the outputs, each picture as a word."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = {kind: "a picture" if kind == "image/png" else text for kind, text in output.get("data", {}).items()}
            found.append((cell["id"], data or output.get("text") or output.get("evalue")))
    return found


def main() -> int:
    """Write, or compare."""
    import nbformat

    asked = [word for word in sys.argv[1:] if not word.startswith("-")]
    status = 0
    for path in sorted(FOLDER.glob("*.ipynb")):
        if asked and path.stem not in asked:
            continue
        with tempfile.TemporaryDirectory() as folder:
            fresh = executed(path, Path(folder))
        if "--check" not in sys.argv:
            nbformat.write(fresh, path)
        elif shown(fresh) != shown(nbformat.read(path, as_version=4)):
            print(f"{path.name} prints something else: make notebooks")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
