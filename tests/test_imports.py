"""What of the package may import what: every import counts, at the top of a file, within functions, for types alone and
in `__init__`. A module that is loaded by its name (a back end, a command, a paper) is above what loads it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import dumbbell

ROOT = Path(dumbbell.__file__).parent

#: The folders and files of the package from the ground up: each may import what stands before it, and nothing else.
ORDER = (
    "_native",
    "errors",
    "units",
    "files",
    "temporary",
    "interrupts",
    "controllers",
    "module_text",
    "programs",
    "policy",
    "kernel",
    "kernel_default",
    "uml.store",
    "uml.has",
    "scenario",
    "plan",
    "shell",
    "backends",
    "uml",
    "results",
    "judge",
    "plots",
    "runs",
    "training",
    "gym",
    "expect",
    "explain",
    "searching",
    "export",
    "comparison",
    "report",
    "suites",
    "serve",
    "playground",
    "racing",
    "api",
    "__init__",
    "cli",
    "__main__",
)


def modules() -> dict[str, Path]:
    """Files of the package by the names under which they are imported."""
    found = {"dumbbell._native": ROOT / "_native.pyi"}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(("dumbbell", *(parts[:-1] if parts[-1] == "__init__" else parts)))] = path
    return found


def imported(tree: ast.AST, package: str, known: dict[str, Path]) -> Iterator[str]:
    """The modules that code imports: of ``from a import b`` a.b where that is a module, else a."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{base}.{name.name}" if f"{base}.{name.name}" in known else base for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


@cache
def imports() -> dict[str, set[str]]:
    """Of each module those of the package that it imports."""
    known = modules()
    graph = {}
    for name, path in known.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        graph[name] = {one for one in imported(ast.parse(path.read_text()), package, known) if one in known} - {name}
    return graph


def part(module: str) -> str:
    """The folder of a module, or the file where it stands at the top or has a place of its own."""
    name = module.partition(".")[2]
    return name if name in ORDER else name.partition(".")[0] or "__init__"


def test_every_part_has_its_place_in_the_order() -> None:
    assert {part(module) for module in modules()} == set(ORDER)


def test_a_part_imports_only_what_stands_before_it() -> None:
    wrong = [
        f"{module} imports {other}"
        for module, others in imports().items()
        for other in others
        if part(module) != part(other) and ORDER.index(part(other)) > ORDER.index(part(module))
    ]
    assert sum(map(len, imports().values())) > 700, "the imports are found"
    assert not wrong, "\n".join(wrong)


def test_no_file_imports_one_that_imports_it() -> None:
    TopologicalSorter(imports()).prepare()  # raises CycleError, which names the circle
