"""Headers and names that the kernel for virtual time has and the simulator lacks."""

from __future__ import annotations

import re
from pathlib import Path

from dumbbell.errors import EngineError

from . import store

#: Where headers are in a tree that `make M=...` takes.
_FOLDERS = ("include", "include/uapi", "arch/um/include", "arch/x86/include", "arch/x86/um/asm", "include/generated")
#: Names of these are looked for, which congestion controls include.
_LOOKED = ("include/net/*.h", "include/linux/*.h", "include/uapi/linux/*.h")
#: Names that are listed.
_LISTED = 8


def told(headers: list[str], names: list[str]) -> str:
    """A clause that says whether `--on uml` has all of these, and what of them it has not."""
    try:
        tree = store.find().tree
    except EngineError:
        return "; --on uml compiles with all headers of Linux 6.12, once `dumbbell uml build` has made it"
    lacking = [name for name in headers if not _has_header(tree, name)]
    lacking += sorted(set(names) - _present(tree, names))
    if not lacking:
        return "; --on uml has all of it, and compiles with the headers of its Linux"
    more = f" and {len(lacking) - _LISTED} more" if len(lacking) > _LISTED else ""
    return f"; --on uml compiles with the headers of its Linux, which have no {', '.join(lacking[:_LISTED])}{more}"


def _has_header(tree: Path, name: str) -> bool:
    return any((tree / folder / name).is_file() for folder in _FOLDERS)


def _present(tree: Path, names: list[str]) -> set[str]:
    """Names of these that stand in headers of the tree."""
    present: set[str] = set()
    if not names:
        return present
    wanted = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b".encode())
    for pattern in _LOOKED:
        for path in tree.glob(pattern):
            present.update(match.decode() for match in wanted.findall(path.read_bytes()))
            if present.issuperset(names):
                return present
    return present
