"""Modules of the package import each other in one direction, at the top of a file and within functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import dumbbell

ROOT = Path(dumbbell.__file__).parent


def modules() -> dict[str, Path]:
    """Files of the package by the names under which they are imported; what only hands names on is left out."""
    paths = (path for path in ROOT.rglob("*.py") if path.name != "__init__.py")
    return {".".join(("dumbbell", *path.relative_to(ROOT).with_suffix("").parts)): path for path in paths}


def imported(node: ast.AST, package: str) -> Iterator[str]:
    """Names that code imports, without what is only for types."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            base = resolve_name("." * child.level + (child.module or ""), package)
            yield from (base, *(f"{base}.{alias.name}" for alias in child.names))
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from imported(child, package)


def test_no_module_imports_one_that_imports_it() -> None:
    there = modules()
    graph = {
        name: {one for one in imported(ast.parse(path.read_text()), name.rpartition(".")[0]) if one in there}
        for name, path in there.items()
    }
    assert sum(map(len, graph.values())) > 500, "the imports are found"
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
