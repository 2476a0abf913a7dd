"""The kernels for virtual time that this machine has, and their folder.

$XDG_CACHE_HOME/dumbbell/uml/            ~/.cache/dumbbell/uml unless set
    6.12-hz1000/                         a kernel: a series of the distribution, and its tick
        linux                            the kernel as a program
        tree/                            what is needed to compile modules for it: headers, scripts, Module.symvers
        modules/                         controllers compiled as modules, by the hash of their source
        kernel.json                      what it was made of
        build.log                        what the compiler said
    programs/                            programs of the guest, by the hash of their source
    .lock                                held by one build at a time

A kernel is there whole or not at all: it is built beside its place and renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.errors import EngineError

#: The series that is built and used unless another is named: the one that the simulated TCP follows.
SERIES = "6.12"
#: Ticks per second unless others are asked for.
HZ = 1000
#: Sources of the programs in the guest; part of the package.
SOURCES = Path(__file__).with_name("agent")

_SERIES = re.compile(r"(\d+(?:\.\d+)+)(?:-[a-z0-9]+)?")
_NAME = re.compile(rf"{_SERIES.pattern}-hz\d+")


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel that is built."""

    folder: Path
    series: str
    """As in the name of the distribution's package, 6.12; of a source that was given also with a word, 6.12-mine."""
    hz: int
    release: str
    """What `uname -r` says in the guest: 6.12.117."""
    package: str
    """Package and version of the source, or the file or folder that was given."""
    source_sha256: str
    """Of the package or file; of a folder, of all of its files."""
    recipe: str
    """SHA-256 of what this package adds to the source: configuration, edits and tick."""
    key: str
    """SHA-256 of the program: a run is a function of this, of its folder's content and of its seed."""
    compiler: str
    made: str
    """UTC."""

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.folder.name

    @property
    def record(self) -> dict[str, Any]:
        """Content of `kernel.json`: everything but the folder."""
        return {name: value for name, value in vars(self).items() if name != "folder"}

    @property
    def linux(self) -> Path:
        """The kernel as a program."""
        return self.folder / "linux"

    @property
    def tree(self) -> Path:
        """For ``make -C TREE ARCH=um M=FOLDER modules``."""
        return self.folder / "tree"

    @property
    def modules(self) -> Path:
        """Folder of compiled modules."""
        return self.folder / "modules"


def place() -> Path:
    """The folder of all kernels."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "dumbbell" / "uml"


def folder_name(series: str, hz: int) -> str:
    """Name of a kernel's folder."""
    return f"{series}-hz{hz}"


def all_kernels() -> list[Kernel]:
    """All kernels, oldest series first; other folders are passed over."""
    return sorted(_kernels(), key=lambda kernel: (version(kernel.series), kernel.hz))


def find(series: str | None = None, hz: int = HZ) -> Kernel:
    """The kernel of this series (6.12 unless given, or else the newest that is there) and tick.

    Where there is none with that tick, it is one with another: `Kernel.hz` says which. Raises EngineError.
    """
    there = all_kernels()
    wanted = series or (SERIES if any(kernel.series == SERIES for kernel in there) or not there else there[-1].series)
    fitting = [kernel for kernel in there if kernel.series == wanted]
    if not fitting:
        built = ", ".join(dict.fromkeys(kernel.series for kernel in there))
        more = f" (there is {built})" if built else ""
        option = "" if wanted == SERIES else f" --kernel {wanted}"
        raise EngineError(f"no Linux {wanted} for virtual time is built{more}: `dumbbell uml build{option}` makes it")
    return min(fitting, key=lambda kernel: (kernel.hz != hz, abs(kernel.hz - HZ)))


def kernel_of(on: str, hz: int) -> Kernel:
    """The kernel of the series that ``--on uml:6.1`` names, with this tick; EngineError where there is none."""
    return find(on.partition(":")[2] or None, hz=hz)


def read(folder: Path) -> Kernel | None:
    """The kernel in this folder; None where there is none."""
    try:
        record: dict[str, Any] = json.loads((folder / "kernel.json").read_text(encoding="utf-8"))
        kernel = Kernel(folder=folder, **record)
    except (OSError, ValueError, TypeError):
        return None
    return kernel if kernel.linux.is_file() else None


def write(kernel: Kernel) -> None:
    """Its `kernel.json`, which `read` takes."""
    (kernel.folder / "kernel.json").write_text(json.dumps(kernel.record, indent=2) + "\n", encoding="utf-8")


def named(name: str) -> list[Kernel]:
    """The kernel of this name, or all of this series; empty where there is none."""
    return [kernel for kernel in all_kernels() if name in (kernel.name, kernel.series)]


def size(folder: Path) -> int:
    """Size on the disk, bytes."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def version(series: str) -> tuple[int, ...]:
    """To sort by: 6.12 comes after 6.1."""
    return tuple(map(int, series.partition("-")[0].split(".")))


def is_series_of(series: str, release: str) -> bool:
    """True if a kernel of this release may be kept under this name: 6.12, 6.12.117 or 6.12-mine for 6.12.117."""
    match = _SERIES.fullmatch(series)
    return match is not None and f"{release}.".startswith(f"{match[1]}.")


def programs_folder() -> Path:
    """Folder of the guest's programs."""
    return place() / "programs"


def programs() -> list[Path]:
    """All of them, of whatever source."""
    names = "|".join(re.escape(source.stem) for source in SOURCES.glob("*.c"))
    wanted = re.compile(rf"({names})-[0-9a-f]{{16}}|\.({names})-[0-9a-f]{{16}}\.\d+\.[0-9a-f]{{8}}")
    try:
        return [path for path in programs_folder().iterdir() if wanted.fullmatch(path.name)]
    except OSError:
        return []


def program(name: str) -> Path:
    """The static program of `agent/NAME.c`, compiled where this source has not been yet. Raises EngineError."""
    source = SOURCES / f"{name}.c"
    built = programs_folder() / f"{name}-{program_key(name)[:16]}"
    if not built.is_file():
        built.parent.mkdir(parents=True, exist_ok=True)
        _compile(source, built)
    return built


def program_key(name: str) -> str:
    """SHA-256 of the source file `agent/NAME.c` and of all headers in its folder."""
    sources = [SOURCES / f"{name}.c", *sorted(SOURCES.glob("*.h"))]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def _kernels() -> Iterator[Kernel]:
    try:
        folders = sorted(place().iterdir())
    except OSError:
        return
    for folder in folders:
        if _NAME.fullmatch(folder.name) and (kernel := read(folder)):
            yield kernel


def _compile(source: Path, built: Path) -> None:
    """Beside it and renamed, so that two that do this at once do not meet."""
    part = built.with_name(f".{built.name}.{os.getpid()}.{os.urandom(4).hex()}")
    command = ["gcc", "-O2", "-static", "-Wall", "-Werror", "-o", str(part), str(source)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise EngineError(
            f"{source.name}: gcc: {error.strerror} (Debian and Ubuntu: apt install gcc libc6-dev)"
        ) from None
    if done.returncode:
        part.unlink(missing_ok=True)
        raise EngineError(f"{source.name}: gcc failed: {done.stderr.strip()[-500:]}")
    part.rename(built)
