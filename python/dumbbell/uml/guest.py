"""Starting a kernel for virtual time on a script, and waiting for its end.

The guest's root is this machine's file system, read-only. The folder of the run is /run/dumbbell-uml there: the script
and the programs that it starts read and write it while the guest runs. The kernel sees that folder as its own current
one, so neither root nor a namespace is needed, and its command line is the same in every run: what happens in the guest
is a function of the kernel, the script, what the script reads, and the seed.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from dumbbell import interrupts
from dumbbell.errors import EngineError

from . import store
from .store import Kernel

#: The folder of the run, as the guest sees it.
FOLDER = "/run/dumbbell-uml"
#: Loads a module in the guest: a file, then its parameters as NAME=VALUE.
INSMOD = f"{FOLDER}/init insmod"
#: What the kernel and the first process print.
CONSOLE = "console.txt"
#: Between two calls of `tick`, s.
TICK_S = 0.1
#: Letters of the console that an error shows.
_TAIL = 1500
#: Lines of the kernel that name functions and words of its stack.
_TRACE = re.compile(r" *(\[<[0-9a-f]+>\]|[0-9a-f]{8} )")
#: Virtual time begins here, 2023-11-14, ns since 1970.
_START_NS = 1_700_000_000_000_000_000
#: Files of a guest that are taken away at its end.
_OURS = ("init", "script", "status", ".uml")


def boot(
    kernel: Kernel, folder: Path, *, init: str, memory_mb: int, seed: int = 0, tick: Callable[[], None] = lambda: None
) -> None:
    """Run the shell script `init` in a guest, and return when it has ended with status 0.

    Several guests may run at once, each in a folder of its own. The guest ends with this call, whatever ends it.

    Parameters
    ----------
    kernel
        What is started.
    folder
        `FOLDER` in the guest and the script's current folder. What the kernel and the script print is in
        `console.txt`.
    init
        For ``/bin/sh``; the guest has this machine's programs, /proc, /sys, and an empty /run.
    memory_mb
        Of the guest, MB; this machine gives what the guest touches.
    seed
        Of the guest's random numbers.
    tick
        Called ten times a second; an exception from it stops the guest and is passed on.

    Raises
    ------
    EngineError
        The guest cannot be started, or it or its script failed; the text ends with the console's last lines.
    """
    _prepare(folder, init)
    failure = ""

    def end(process: subprocess.Popen[bytes]) -> None:
        nonlocal failure
        _end(process)
        failure = _failure(folder, process.returncode)

    try:
        interrupts.ended(lambda: _start(kernel, folder, memory_mb, seed), lambda process: _wait(process, tick), end)
    finally:
        _clean(folder)
    if failure:
        raise EngineError(f"Linux {kernel.name}: {failure}")


def _prepare(folder: Path, init: str) -> None:
    _clean(folder)
    (folder / "init").symlink_to(store.program("init"))
    (folder / "script").write_text(init, encoding="utf-8")


def _start(kernel: Kernel, folder: Path, memory_mb: int, seed: int) -> subprocess.Popen[bytes]:
    with (folder / CONSOLE).open("wb") as console:
        try:
            return subprocess.Popen(
                _command(kernel, memory_mb),
                cwd=folder,
                env=_environment(seed),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise EngineError(f"{error.filename}: {error.strerror}") from None


def _command(kernel: Kernel, memory_mb: int) -> list[str]:
    """Addresses are not drawn at random, because programs of the guest see some of them."""
    return [
        *("setarch", "-R", str(kernel.linux), f"mem={memory_mb}M"),
        *("time-travel=inf-cpu", f"time-travel-start={_START_NS}"),
        *("root=none", "rootfstype=hostfs", "rootflags=/", "ro", "init=/proc/self/cwd/init"),
        *("con=null", "con0=null,fd:1", "loglevel=5", "panic=-1"),
    ]


def _environment(seed: int) -> dict[str, str]:
    """Nothing of the caller's; HOME is where the kernel keeps the number of its process."""
    return {"PATH": "/usr/bin:/bin", "HOME": "/proc/self/cwd", "UML_SEED": str(seed)}


def _wait(process: subprocess.Popen[bytes], tick: Callable[[], None]) -> None:
    ended = os.pidfd_open(process.pid)
    try:
        while not select.select([ended], [], [], TICK_S)[0]:
            tick()
    finally:
        os.close(ended)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Return when neither the guest's kernel nor a process of its programs is left.

    The programs' processes are children of the kernel and die after it: it is stopped while they are listed, because
    the list of a running kernel may lack the newest. A child by which a kernel that has just started tries its host
    does not die by itself, so all are killed.
    """
    programs: list[int] = []
    if process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        state = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if state is not None and state.si_code == os.CLD_STOPPED:
            programs = list(_ends_of_children(process.pid))
        process.send_signal(signal.SIGKILL)
    process.wait()
    for ended in programs:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(ended, signal.SIGKILL)
        select.select([ended], [], [])
        os.close(ended)


def _ends_of_children(parent: int) -> Iterator[int]:
    """A file descriptor for each child of a stopped process, readable when the child has ended."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # Of proc_pid_stat(5), after the name in brackets: state, parent.
            if int(path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]) == parent:
                yield os.pidfd_open(int(path.parent.name))


def _failure(folder: Path, code: int) -> str:
    """Text of the failure; empty for none."""
    try:
        status = (folder / "status").read_text(encoding="ascii").strip()
    except OSError:
        status = ""
    if status == "0":
        return ""
    console = (folder / CONSOLE).read_text(encoding="utf-8", errors="replace")
    lines = [line for line in console.splitlines() if not _TRACE.match(line)]
    panic = re.search(r"Kernel panic - not syncing: (.+)", console)
    if status:
        what = f"the guest's script ended with status {status}"
    else:
        what = f"the guest's kernel stopped: {panic[1]}" if panic else f"the guest ended early ({_how(code)})"
    return "; its console:\n".join(filter(None, [what, "\n".join(lines).strip()[-_TAIL:]]))


def _how(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


def _clean(folder: Path) -> None:
    for name in _OURS:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
