"""Controllers as Linux kernel modules: compiled against the headers of a kernel (``/lib/modules/VERSION/build``, or a
kernel's own source tree), and kept by the content of everything that goes into them.

build([Wanted("bbr2"), Wanted("bbr2", "bbr2_lossy"), Wanted("./mine.c")], tree, cache)

A controller of ours, or a file that includes cca.h, is compiled with ``cca/hosts/kmod``; any other C file is a Linux
module already, and is compiled as it is; only the name that it registers may be another one.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from dumbbell.controllers import NAME_MAX, known
from dumbbell.errors import EngineError, ScenarioError, nearest, show
from dumbbell.files import SOURCE_MAX, UnreadableError, read_bytes
from dumbbell.module_text import headers_beside, registered_name

#: The oldest Linux that our controllers are written for: the window has its accessors (tcp_snd_cwnd) since 5.19.
_OLDEST = (6, 1)
#: Headers of the tree that decide what is compiled, and what tells one tree from another.
_TREE_FILES = ("include/config/kernel.release", "include/config/auto.conf", "Module.symvers")


#: Letters of a compiler's error that are shown.
_ERROR_SHOWN = 400


class Wanted(NamedTuple):
    """A controller that is to be a module: the name of a built-in one or the path of a C file (``.c``), and what the
    kernel is to call it.

    Without `kernel_name` that is its own name, with ``d_`` before it where Linux has one of that name (``d_cubic``), or
    the name in the source of a Linux module.
    """

    source: str
    kernel_name: str | None = None


class Module(NamedTuple):
    """A compiled module: `kernel_name` is the name for sockets; the file is called after it, or after the source of a
    Linux module that keeps its name.
    """

    kernel_name: str
    file: Path


class _Unit(NamedTuple):
    """One module to compile: `stem` names its file, `text` is a C file that includes `source`."""

    kernel_name: str
    stem: str
    source: Path
    text: str


def build(wanted: Sequence[Wanted], tree: Path, cache: Path, *, arch: str | None = None) -> list[Module]:
    """Compile what `cache` does not have, all with one call of ``make``; the modules are in the order of `wanted`.

    `tree` is what ``make -C`` takes to build modules for a kernel; `arch` is its ARCH where that is not this machine's
    (``um``). Several processes may use one cache at a time. Raises ScenarioError for an unknown controller, a name that
    cannot be one, or a source that does not compile (its first error, with file and line), and EngineError when the
    tree or a program is not there.
    """
    from dumbbell import _native
    from dumbbell.temporary import Temporary

    _check_tree(tree)
    scratch = Temporary("modules")
    folder = scratch.path
    _native.write_sources(str(folder))
    units = [_unit(item, folder) for item in wanted]
    _check_names(units)
    base = _digest([tree / file for file in _TREE_FILES] + sorted((folder / "cca").rglob("*.[ch]")), str(arch))
    kept = {unit: _kept(unit, cache, base) for unit in units}
    missing = [unit for unit, file in kept.items() if not file.exists()]
    if missing:
        _make(missing, tree, folder, arch)
    for unit in missing:
        _keep(folder / f"{unit.stem}.ko", kept[unit])
    return [Module(unit.kernel_name, kept[unit]) for unit in units]


def headers_of_this_kernel() -> Path:
    """Folder with the headers of the running kernel; raises EngineError, which says what to install, where they are
    missing.
    """
    release = os.uname().release
    tree = Path("/lib/modules") / release / "build"
    if not (tree / "Makefile").exists():
        raise EngineError(
            f"no headers of the running kernel in {tree}: install linux-headers-{release} (Debian, Ubuntu) or"
            " kernel-devel (Fedora), or name those of another kernel (--build DIR)"
        )
    return tree


def _check_tree(tree: Path) -> None:
    """Raise EngineError unless modules can be compiled against it."""
    try:
        release = (tree / _TREE_FILES[0]).read_text().strip()
    except OSError:
        raise EngineError(
            f"{tree}: got no configured kernel tree (no {_TREE_FILES[0]}), wanted a folder as"
            " /lib/modules/VERSION/build: a kernel's headers, or its sources after `make modules`"
        ) from None
    numbers = re.match(r"(\d+)\.(\d+)", release)
    if not numbers or (int(numbers[1]), int(numbers[2])) < _OLDEST:
        raise EngineError(f"{tree}: got Linux {release}, wanted {_OLDEST[0]}.{_OLDEST[1]} or newer")


# ---- What is compiled ----


def _unit(wanted: Wanted, folder: Path) -> _Unit:
    from dumbbell import _native

    source = _source(wanted.source, folder)
    text = _text(source, wanted.source)
    if not re.search(r'^\s*#\s*include\s*"cca\.h"', text, re.MULTILINE):
        return _linux_module(wanted, source, text)
    name = _name(wanted.kernel_name or _native.kernel_name(source.stem), source)
    lines = [f'#define CCA_KERNEL_NAME "{name}"', f'#include "{source}"']
    return _Unit(name, name, source, "\n".join(lines) + "\n")


def _name(name: str, source: Path) -> str:
    if not re.fullmatch(rf"\w{{1,{NAME_MAX}}}", name, re.ASCII):
        problem = f"got the name {show(name)} for the kernel, wanted 1 to {NAME_MAX} letters, digits and _"
        raise ScenarioError("", f"{source.stem}: {problem}")
    return name


def _source(source: str, folder: Path) -> Path:
    if source.endswith(".c"):
        return Path(source).absolute()
    if source not in known():
        names = list(known())
        raise ScenarioError(
            "", f"got {show(source)}, wanted a C file (.c) or one of: {', '.join(names)}{nearest(source, names)}"
        )
    return folder / "cca" / f"{source}.c"


def _text(source: Path, given: str) -> str:
    if not re.fullmatch(r"[^\"\\\n]+", str(source)):
        raise ScenarioError("", f"got {show(str(source))}, wanted a path without quotes and backslashes")
    try:
        return read_bytes(source, SOURCE_MAX).decode("utf-8", "replace")
    except UnreadableError as error:
        raise ScenarioError("", f"got {show(given)} ({error}), wanted a C source") from None


def _linux_module(wanted: Wanted, source: Path, text: str) -> _Unit:
    """A source that has a module_init() of its own; its name is that of the struct that it registers."""
    from dumbbell import _native

    own_name = registered_name(text, source.stem)
    if not own_name or "tcp_register_congestion_control" not in text:
        what = "a BPF program, which --on sim runs;" if _native.is_bpf_program(text) else "it"
        raise ScenarioError(
            "", f'{source}: {what} neither includes "cca.h" nor registers a struct tcp_congestion_ops with a name'
        )
    if not re.fullmatch(r"[\w-]+", source.stem, re.ASCII):
        raise ScenarioError("", f"{source}: got {show(source.stem)}, wanted a file name of letters, digits, _ and -")
    if wanted.kernel_name in (None, own_name):
        return _Unit(own_name, source.stem, source, f'#include "{source}"\n')
    name = _name(wanted.kernel_name, source)
    return _Unit(name, name, source, _RENAMED.format(name=name, source=source))


#: A Linux module with another name. The kernel may have the same module built in, and refuses symbols that it has.
_RENAMED = """\
#define __DISABLE_EXPORTS
#define tcp_register_congestion_control register_renamed
#include "{source}"
#undef tcp_register_congestion_control

int tcp_register_congestion_control(struct tcp_congestion_ops *ops);

int register_renamed(struct tcp_congestion_ops *ops)
{{
	strscpy(ops->name, "{name}", sizeof(ops->name));
	return tcp_register_congestion_control(ops);
}}
"""


def _check_names(units: list[_Unit]) -> None:
    """Two different modules of one call cannot have one file."""
    seen: dict[str, _Unit] = {}
    for unit in units:
        other = seen.setdefault(unit.stem, unit)
        if other != unit:
            raise ScenarioError("", f"{other.source} and {unit.source} would both become {unit.stem}.ko")


# ---- Where it is kept ----


def _kept(unit: _Unit, cache: Path, base: str) -> Path:
    """The place of a module in the cache, by the content of its source and of the headers beside that."""
    beside = headers_beside(unit.source, _text(unit.source, str(unit.source)))
    # The path below a temporary folder differs from call to call, and says nothing.
    name = "\n".join(line for line in unit.text.splitlines() if not line.startswith("#include"))
    return cache / _digest([unit.source, *beside], base, unit.stem, name) / f"{unit.stem}.ko"


def _keep(built: Path, place: Path) -> None:
    """Whole or not at all, also where another process does the same."""
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name}.{os.getpid()}.{os.urandom(4).hex()}")
    shutil.copyfile(built, part)
    part.replace(place)


def _digest(files: Sequence[Path], *texts: str) -> str:
    digest = sha256()
    for part in (*(file.read_bytes() for file in files if file.exists()), *(text.encode() for text in texts)):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:32]


# ---- make ----


def _make(units: list[_Unit], tree: Path, folder: Path, arch: str | None) -> None:
    objects = " ".join(f"{unit.stem}.o" for unit in units)
    # The paths of the folder are not to be in the modules: the same text makes the same bytes.
    flags = f"-iquote {folder}/cca/include -iquote {folder}/cca -ffile-prefix-map={folder}/="
    (folder / "Kbuild").write_text(f"obj-m := {objects}\nccflags-y := {flags}{_features(tree)}\n")
    for unit in units:
        (folder / f"{unit.stem}.c").write_text(unit.text)
    jobs = len(os.sched_getaffinity(0))
    command = ["make", "-C", str(tree), f"M={folder}", f"-j{jobs}", *_made_by(tree), "modules"]
    if arch:
        command.append(f"ARCH={arch}")
    # What a make above this one would pass on is none of this one's.
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    for program in ("make", "clang" if "LLVM=1" in command else "gcc"):
        if not shutil.which(program):
            raise EngineError(f"no program `{program}`, which modules are compiled with (Debian: build-essential)")
    code, said = _run(command, {**env, "LC_ALL": "C"})
    if code:
        raise _refused(said, units, folder)


def _run(command: Sequence[str], env: Mapping[str, str]) -> tuple[int, str]:
    """Status and output of a program, which does not outlive this, nor do those that it starts."""
    with subprocess.Popen(
        command,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as running:
        try:
            said, _ = running.communicate()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            raise
    return running.returncode, said


def _features(tree: Path) -> str:
    """Flags for what the tree's headers have, and the compiler cannot find out itself."""
    # Since Linux 7.1 the restart from idle is a hook of its own, and no event of cwnd_event().
    return " -DCCA_HAS_TX_START" if any("cwnd_event_tx_start" in text for text in _tcp_headers(tree)) else ""


def _tcp_headers(tree: Path) -> Iterator[str]:
    """include/net/tcp.h of the tree, or of the one that its Makefile includes (as Debian splits headers)."""
    roots = [tree, *map(Path, re.findall(r"^include (/\S+)/Makefile$", (tree / "Makefile").read_text(), re.MULTILINE))]
    for root in roots:
        file = root / "include/net/tcp.h"
        if file.exists():
            yield file.read_text()


def _made_by(tree: Path) -> list[str]:
    """A kernel that clang has compiled takes modules of clang."""
    return ["LLVM=1"] if "CONFIG_CC_IS_CLANG=y" in (tree / _TREE_FILES[1]).read_text() else []


def _refused(said: str, units: list[_Unit], folder: Path) -> ScenarioError | EngineError:
    """The first error of the compiler or the linker; a source of the user's is at fault, or else the tree."""
    lines = said.replace(f"{folder}/", "").splitlines()
    error = next((line for line in lines if re.search(r"\berror:|^ERROR: modpost:", line)), None)
    if error is None:
        last = "; ".join(lines[-3:]) or "make failed and did not say why"
        return EngineError(f"modules cannot be compiled: {last}")
    is_own = any(not unit.source.is_relative_to(folder) for unit in units)
    text = error.split(" [-Werror")[0]
    if len(text) > _ERROR_SHOWN:
        text = f"{text[:_ERROR_SHOWN]}..."
    return ScenarioError("", text) if is_own else EngineError(f"modules cannot be compiled: {text}")
