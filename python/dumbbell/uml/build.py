"""`dumbbell uml build`: the distribution's kernel source as a program that runs in virtual time.

The source is changed in a few places (edits.toml) and configured small (kernel.config). A kernel is made beside its
place and renamed, so it is there whole or not at all; one build runs at a time.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from dumbbell.errors import EngineError, ScenarioError, wrong
from dumbbell.files import created, linked
from dumbbell.interrupts import Held, Raised, ended

from . import guest, source, store
from .store import Kernel

#: Programs that a build and a guest need, and Debian's packages of them.
PROGRAMS = {
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "bc": "bc",
    "bison": "bison",
    "flex": "flex",
    "xz": "xz-utils",
    "setarch": "util-linux",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
}
#: What a package of the distribution needs as well.
_PROGRAMS_OF_PACKAGES = {"apt-get": "apt", "dpkg-deb": "dpkg"}
#: Where they may be for a user whose PATH lacks them.
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
#: What the source, its objects and the kernel take while one is built, bytes.
SCRATCH_BYTES = 1_300_000_000
#: The tick that may be asked for, as Linux has it.
HZ_MIN, HZ_MAX = 24, 10_000
#: Lines of the compiler that an error shows.
_TAIL = 15
#: Folders of the cache that are there for a moment only: a kernel in the making, one that is taken away.
_LEFT = re.compile(r"\.(build|gone)-\d+(-\d+)?")
_ERROR = re.compile(r"\b(fatal )?error: |^E: |\*\*\* ")
#: The banner is mixed into the guest's random numbers: it is the same in every build by one compiler.
_BANNER = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 2026",
    "KBUILD_BUILD_USER": "dumbbell",
    "KBUILD_BUILD_HOST": "dumbbell",
    "KBUILD_BUILD_VERSION": "1",
}
#: What `make M=...` reads of a source that is built: only these of a folder, or (`_TREE_LESS`) all but these.
_TREE = {
    "": ("arch", "include", "scripts", "Makefile", "Kbuild", "Kconfig", ".config", "Module.symvers"),
    "arch": ("um", "x86"),
    "include": ("drm", "dt-bindings", "media", "sound"),
}
_TREE_LESS = ("include",)
#: The guest's first run: a path through its devices, a second that takes none, and its version.
_TRIAL = """\
set -e
ip netns add a
ip link add left type veth peer name right netns a
ip link set left up
ip -n a link set right up
tc qdisc add dev left root netem delay 20ms
tc -n a qdisc add dev right root handle 1: tbf rate 40mbit burst 3028 limit 100000
tc -n a qdisc add dev right parent 1:1 fq_codel
began=$(date +%s)
sleep 60
test $(($(date +%s) - began)) -ge 60
uname -r > release
"""

_REMOVE = 'for _ in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$1" && exit; sleep 0.2; done; exit 1'

Say = Callable[[str], None]


class Plan(NamedTuple):
    """A build: of a series of the distribution's, or of a given source."""

    series: str | None = None
    hz: int = store.HZ
    source: Path | None = None
    force: bool = False


class Shown(NamedTuple):
    """Who is told: `step` gets a line for every step, `now` how far the compiler is."""

    step: Say = lambda _: None
    now: Say = lambda _: None


_NOBODY = Shown()


def build(plan: Plan, shown: Shown = _NOBODY) -> Kernel:
    """The kernel of this plan: the one that is there, or a new one.

    Raises ScenarioError for a series that there is not, and EngineError for what is missing or failed; it names the
    step and where its log is.
    """
    _check(plan)
    with Raised(), _locked(shown):
        if plan.source is None and not plan.force and (there := _there(plan)):
            return there
        _clear()
        return _Build(plan, shown).run()


def remove(kernels: Iterable[Kernel]) -> None:
    """Take kernels away, with the modules that were compiled for them."""
    with Raised(), _locked(_NOBODY):
        for kernel in kernels:
            kernel.folder.rename(_gone())
        _clear()


def remove_all() -> None:
    """Take away all kernels, and what was loaded and compiled for them; what else is in these folders stays."""
    remove(store.all_kernels())
    with Raised(), _locked(_NOBODY):
        for path in (*source.packages(), *store.programs()):
            path.unlink(missing_ok=True)
        for path in {source.folder(), store.programs_folder()}:
            with suppress(OSError):  # it is not there, or holds something else
                path.rmdir()


def missing(names: Iterable[str]) -> list[str]:
    """Programs of these that this machine lacks."""
    path = os.pathsep.join([os.environ.get("PATH", ""), PATH])
    return [name for name in names if shutil.which(name, path=path) is None]


def _check(plan: Plan) -> None:
    if os.uname().machine != "x86_64":
        raise EngineError(f"Linux in virtual time needs an x86-64 machine, this is {os.uname().machine}")
    if not HZ_MIN <= plan.hz <= HZ_MAX:
        raise wrong("--hz", plan.hz, f"{HZ_MIN} to {HZ_MAX} ticks per second")
    names = PROGRAMS if plan.source else {**PROGRAMS, **_PROGRAMS_OF_PACKAGES}
    if absent := missing(names):
        packages = " ".join(dict.fromkeys([names[name] for name in absent] + ["libc6-dev"]))
        raise EngineError(f"missing here: {', '.join(absent)} (Debian and Ubuntu: apt install {packages})")
    if plan.source and not plan.source.exists():
        raise ScenarioError("--source", f"{plan.source}: there is no such file or folder")


def _there(plan: Plan) -> Kernel | None:
    kernel = store.read(store.place() / store.folder_name(plan.series or store.SERIES, plan.hz))
    return kernel if kernel and kernel.recipe == source.recipe(plan.hz) else None


def _clear() -> None:
    """Remove what builds that were killed have left, and kernels that are taken away; the lock is ours."""
    for path in store.place().iterdir():
        if _LEFT.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


def _gone() -> Path:
    """A name for a kernel's folder that is about to be removed."""
    return store.place() / f".gone-{os.getpid()}-{time.monotonic_ns()}"


@contextmanager
def _locked(shown: Shown) -> Iterator[None]:
    """One build at a time: a second one waits, and finds what the first has made."""
    store.place().mkdir(parents=True, exist_ok=True)
    lock = store.place() / ".lock"
    try:
        # Not by `runs.locks`: a second build waits, and the file stays.
        fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        raise EngineError(f"{lock}: {linked(lock).strerror if lock.is_symlink() else error.strerror}") from None
    with os.fdopen(fd, "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            shown.step("another build is running: waiting for its end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def failure(said: Sequence[str]) -> Sequence[str]:
    """The lines of a log that say what failed: around the first error, else the last ones. What a compiler beside did
    may follow for long.

    >>> failure(["  CC a.o", "a.c:1: error: x", "  CC b.o"] + ["  CC c.o"] * 20)[:2]
    ['  CC a.o', 'a.c:1: error: x']
    """
    at = next((i for i, line in enumerate(said) if _ERROR.search(line)), len(said))
    first = max(min(at - 2, len(said) - _TAIL), 0)
    return said[first : first + _TAIL]


class _Build:
    """One build, step by step."""

    def __init__(self, plan: Plan, shown: Shown) -> None:
        self.plan, self.shown = plan, shown
        self.scratch = store.place() / f".build-{os.getpid()}"
        self.tree = self.scratch / "tree"
        self.log = store.place() / "build.log"
        self.recipe = source.recipe(plan.hz)

    def run(self) -> Kernel:
        """All steps; what is half made goes with the scratch folder."""
        try:
            self.scratch.mkdir()
            self._room()
            self.log.unlink(missing_ok=True)
            os.close(created(self.log))
            return self._steps()
        except OSError as error:
            raise EngineError(f"{error.filename or store.place()}: {error.strerror}") from None
        finally:
            _discard(self.scratch)

    def _steps(self) -> Kernel:
        self._step("programs of the guest")
        store.program("init")
        path, name = self._source()
        self._step(f"unpacking {path.name}")
        source.unpack(path, self.tree)
        release = source.release_of(self.tree)
        series = self.plan.series or ".".join(release.split(".")[:2])
        if not store.is_series_of(series, release):
            raise ScenarioError("--kernel", f"got {series}, wanted the series of the source, {release}, as in "
                                            f"{'.'.join(release.split('.')[:2])} or {release}-mine")  # fmt: skip
        digest = source.folder_sha256(self.tree) if path.is_dir() else source.sha256(path)
        self.shown.step(f"  {name}, SHA-256 {digest}")
        self._edit()
        self._configure()
        self._compile()
        self._trim()
        kernel = self._described(series, name, digest)
        self._step("a first run")
        self._try(kernel)
        return self._keep(kernel)

    def _step(self, text: str) -> None:
        self.shown.step(text)
        with self.log.open("a", encoding="utf-8") as log:
            print(f"==== {text}", file=log)

    def _room(self) -> None:
        free = shutil.disk_usage(store.place()).free
        if free < SCRATCH_BYTES:
            raise EngineError(
                f"{store.place()}: {free / 1e9:.1f} GB are free, a build needs {SCRATCH_BYTES / 1e9:.1f} GB"
                " (XDG_CACHE_HOME names another place)"
            )

    def _source(self) -> tuple[Path, str]:
        """The package, archive or folder, and what it is called."""
        if self.plan.source:
            return self.plan.source, str(self.plan.source.absolute())
        wanted = source.package(self.plan.series or store.SERIES)
        path = source.kept(wanted)
        if path is None:
            self._step(f"loading {wanted.name} {wanted.version}, {wanted.size / 1e6:.0f} MB")
            command, folder = source.command_for(wanted)
            self._run("loading the package", command, folder, env=dict(os.environ))
            path = source.kept(wanted)
        if path is None:
            raise EngineError(f"{wanted.name} {wanted.version}: the file that apt loaded has another checksum")
        source.discard_others(path)
        return path, f"{wanted.name} {wanted.version}"

    def _edit(self) -> None:
        edits = source.edits(self.plan.hz)
        self._step(f"{len(edits)} edits: {', '.join(edit.name for edit in edits)}")
        for edit in edits:
            if not source.apply(edit, self.tree):
                self.shown.step(f"  {edit.name}: this series does not need it")

    def _configure(self) -> None:
        self._step("configuring")
        self._make("configuring", f"KCONFIG_ALLCONFIG={source.CONFIG}", "allnoconfig")
        if lacking := source.lacking(self.tree):
            self.shown.step(f"  not in this series: {', '.join(lacking)}")

    def _compile(self) -> None:
        jobs = len(os.sched_getaffinity(0))
        self._step(f"compiling, {jobs} at a time (log: {self.log})")
        self._make("compiling", f"-j{jobs}", "linux", "modules")
        (self.tree / "linux").rename(self.scratch / "linux")

    def _trim(self) -> None:
        """Leave what compiling a module needs."""
        for folder, kept in _TREE.items():
            for path in (self.tree / folder).iterdir():
                if (path.name in kept) == (folder in _TREE_LESS):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for path in (self.tree / "arch").rglob("*"):
            if path.name.endswith((".o", ".a", ".c", ".cmd", ".S")):
                path.unlink()

    def _described(self, series: str, name: str, digest: str) -> Kernel:
        release = (self.tree / "include" / "config" / "kernel.release").read_text(encoding="ascii").strip()
        compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout
        kernel = Kernel(
            folder=self.scratch,
            series=series,
            hz=self.plan.hz,
            release=release,
            package=name,
            source_sha256=digest,
            recipe=self.recipe,
            key=source.sha256(self.scratch / "linux"),
            compiler=compiler.splitlines()[0],
            made=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        )
        kernel.modules.mkdir()
        store.write(kernel)
        return kernel

    def _try(self, kernel: Kernel) -> None:
        folder = self.scratch / "trial"
        folder.mkdir()
        guest.boot(kernel, folder, init=_TRIAL, memory_mb=128)
        told = (folder / "release").read_text(encoding="ascii").strip()
        if told != kernel.release:
            raise EngineError(f"the kernel says that it is {told}, not {kernel.release}")
        shutil.rmtree(folder)

    def _keep(self, kernel: Kernel) -> Kernel:
        self.log.rename(self.scratch / "build.log")
        folder = store.place() / store.folder_name(kernel.series, kernel.hz)
        if folder.exists() and not (folder / "kernel.json").is_file():
            raise EngineError(f"{folder}: it is in the way and no kernel of this program; move it away")
        with Held():  # or the old kernel is gone, and the new one with the scratch folder
            if folder.exists():
                folder.rename(_gone())
            self.scratch.rename(folder)
        _clear()
        kept = store.read(folder)
        assert kept is not None
        return kept

    def _make(self, step: str, *words: str) -> None:
        env = {"PATH": PATH, "HOME": str(self.scratch), "LC_ALL": "C", **_BANNER}
        self._run(step, ["make", "ARCH=um", *words], self.tree, env=env)

    def _run(self, step: str, command: list[str], folder: Path, *, env: dict[str, str]) -> None:
        """Run a program of this step into the log; it and what it has started end with us."""
        with self.log.open("ab") as log:

            def start() -> subprocess.Popen[bytes]:
                return subprocess.Popen(
                    command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    start_new_session=True,
                )  # fmt: skip

            status = ended(start, self._wait, _kill)
        if status:
            said = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
            raise EngineError(f"{step} failed; from {self.log}:\n" + "\n".join(failure(said)))

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        """Show how long a program takes, until it has ended; its status."""
        began = time.monotonic()
        while True:
            try:
                return process.wait(0.5)
            except subprocess.TimeoutExpired:
                self.shown.now(f"  {time.monotonic() - began:.0f} s{self._last()}")

    def _last(self) -> str:
        """The file that is being compiled."""
        with self.log.open("rb") as log:
            log.seek(max(log.seek(0, os.SEEK_END) - 400, 0))
            lines = log.read().decode("utf-8", "replace").splitlines()
        return f"  {lines[-1].split()[-1]}" if lines and lines[-1].startswith("  CC") else ""


def _discard(folder: Path) -> None:
    """Remove the folder of a build by a process of its own, which goes on where this one is killed: a tree of 300 MB
    takes longer than many wait between SIGTERM and SIGKILL. What a compiler that is just ending still writes there is
    removed as well.
    """
    with Held():
        subprocess.Popen(["sh", "-c", _REMOVE, "sh", folder], stderr=subprocess.DEVNULL, start_new_session=True).wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program that has not ended, and what it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
