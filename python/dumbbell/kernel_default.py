"""Make a controller the default of new TCP sockets, and undo that: for an operator who is logged in over the very
connections that it changes (docs/kernel.md).

What was there before is kept in a file below /run. A timer brings it back unless `confirm` comes in time. Where systemd
runs, the timer is one of its own, and a unit makes the same at each start of the machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from . import kernel
from .kernel import KernelError

SYSCTL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
QDISC = Path("/proc/sys/net/core/default_qdisc")
STATE = Path("/run/dumbbell/default.json")
UNIT = Path("/etc/systemd/system/dumbbell-default.service")
#: Name of the timer where systemd runs it.
TIMER = "dumbbell-undo-default"
UNDO_S = 120


class Enabled(NamedTuple):
    """What `enable` has done, as the state file keeps it."""

    name: str
    kernel_name: str
    before: str
    """The default that was there."""
    has_loaded: bool
    """Whether `enable` loaded the controller, so that `disable` unloads it."""
    is_persistent: bool
    """Whether it is to be the default after the next start, too."""
    undo_at: float | None
    """When the timer undoes it, seconds since 1970; None when it is confirmed."""
    params: dict[str, str]


def current() -> str:
    """The default of this network namespace."""
    return SYSCTL.read_text(encoding="ascii").strip()


def state() -> Enabled | None:
    """What is enabled; None for nothing."""
    try:
        return Enabled(**json.loads(STATE.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def enable(
    name: str,
    params: Mapping[str, str] | None = None,
    *,
    is_persistent: bool = False,
    undo_s: int | None = UNDO_S,
) -> Enabled:
    """Load a controller unless it is loaded, and make it the default of new sockets. What it raises is KernelError, and
    then nothing has changed.

    `undo_s` is after how many seconds that is undone unless it is confirmed; None for never.
    """
    if is_persistent and not has_systemd():
        raise KernelError(
            "--persist: wanted a machine that systemd starts; call this command from its own start instead"
        )
    if known := state():
        raise KernelError(f"{known.kernel_name} is enabled: dumbbell kernel disable first", is_input=True)
    before, held = current(), kernel.loaded()
    kernel_name, has_loaded = held[name][0] if name in held else "", name not in held
    if has_loaded:
        with kernel.load(name, params) as controller:
            controller.keep()
            kernel_name = controller.kernel_name
    elif params:
        raise KernelError(f"{name} is loaded: dumbbell kernel set changes its parameters", is_input=True)
    enabled = Enabled(
        name, kernel_name, before, has_loaded, is_persistent, time.time() + undo_s if undo_s else None,
        dict(params or {}),
    )  # fmt: skip
    try:
        _keep(enabled)
        _set(kernel_name)
        if undo_s:
            _start_timer(undo_s)
        elif is_persistent:
            _write_unit(enabled)
    except (OSError, KernelError, subprocess.CalledProcessError) as error:
        _undo(enabled)
        raise KernelError(f"{name} is not enabled: {error}") from None
    return enabled


def confirm() -> Enabled:
    """Keep what is enabled: the timer ends, and the unit is written where it was asked for. Raises KernelError."""
    known = state()
    if known is None:
        raise KernelError("nothing is enabled: dumbbell kernel enable NAME --default", is_input=True)
    kept = known._replace(undo_at=None)
    _keep(kept)
    _stop_timer()
    if kept.is_persistent:
        _write_unit(kept)
    return kept


class Disabled(NamedTuple):
    """What `disable` has undone."""

    enabled: Enabled
    default: str
    """The default afterwards."""
    is_foreign: bool
    """Whether that is one that somebody has set since, and which therefore stays."""
    unloaded: kernel.Status | None
    """What was unloaded, with the sockets that keep it."""


def disable(*, is_timer: bool = False) -> Disabled | None:
    """Bring back the default that was there before, and unload what `enable` loaded; raises KernelError. `is_timer`:
    only what is not confirmed, None otherwise.
    """
    known = state()
    if known is None:
        if is_timer:
            return None
        raise KernelError("nothing is enabled: dumbbell kernel enable NAME --default", is_input=True)
    if is_timer and known.undo_at is None:
        return None
    if not is_timer:
        _stop_timer()
    is_foreign = current() != known.kernel_name
    unloaded = _undo(known)
    return Disabled(known, current(), is_foreign, unloaded)


def _undo(known: Enabled) -> kernel.Status | None:
    if UNIT.exists():
        _systemctl("disable", UNIT.name)
        UNIT.unlink(missing_ok=True)
    if current() == known.kernel_name != known.before:
        _set(known.before)
    STATE.unlink(missing_ok=True)
    return kernel.unload(known.kernel_name) if known.has_loaded else None


def advice(name: str, kernel_name: str) -> str:
    """What to do about the queue discipline of the interfaces; empty for nothing."""
    from .controllers import facts_of

    qdisc = QDISC.read_text(encoding="ascii").strip() if QDISC.exists() else ""
    if not facts_of(name).family.startswith("BBR") or qdisc == "fq":
        return ""
    return (
        f"{kernel_name} paces, by TCP's own timers where the interface has no fq; with many flows fq costs less: sysctl"
        " net.core.default_qdisc=fq for interfaces that come up later, tc qdisc replace dev DEV root fq for one"
    )


def has_systemd() -> bool:
    """True if systemd runs this machine."""
    return Path("/run/systemd/system").is_dir()


def _set(kernel_name: str) -> None:
    SYSCTL.write_text(kernel_name, encoding="ascii")


def _keep(enabled: Enabled) -> None:
    STATE.parent.mkdir(parents=True, exist_ok=True)
    draft = STATE.with_suffix(".new")
    draft.write_text(json.dumps(enabled._asdict()), encoding="utf-8")
    draft.replace(STATE)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "dumbbell", "kernel", *words]


def _start_timer(seconds: int) -> None:
    undo = _command("disable", "--unconfirmed")
    if has_systemd():
        _run(["systemd-run", "--quiet", f"--unit={TIMER}", f"--on-active={seconds}s", *undo])
        return
    waiting = f"import subprocess, sys, time; time.sleep({seconds}); sys.exit(subprocess.call({undo!r}))"
    quiet = subprocess.DEVNULL
    subprocess.Popen(  # outlives this command, and its terminal
        [sys.executable, "-c", waiting], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, cwd="/"
    )


def _stop_timer() -> None:
    """End systemd's timer; another one finds nothing that is unconfirmed."""
    if has_systemd():
        _systemctl("stop", f"{TIMER}.timer")


def _write_unit(enabled: Enabled) -> None:
    params = [word for name, value in enabled.params.items() for word in ("--param", f"{name}={value}")]
    start = _command("enable", enabled.name, "--default", "--undo-after", "0", *params)
    UNIT.write_text(
        "[Unit]\n"
        f"Description=TCP congestion control: {enabled.kernel_name} by default\n"
        "Before=network-pre.target\n"
        "Wants=network-pre.target\n\n"
        "[Service]\n"
        "Type=oneshot\n"
        "RemainAfterExit=yes\n"
        f"ExecStart={_quoted(start)}\n\n"
        "[Install]\n"
        "WantedBy=multi-user.target\n",
        encoding="utf-8",
    )
    _run(["systemctl", "--quiet", "daemon-reload"])
    _run(["systemctl", "--quiet", "enable", UNIT.name])


def _quoted(words: Sequence[str]) -> str:
    """A command as units have it: words with spaces in quotes, and `%` and `$` doubled."""
    doubled = (word.replace("%", "%%").replace("$", "$$") for word in words)
    return " ".join(f'"{word}"' if " " in word else word for word in doubled)


def _systemctl(*words: str) -> None:
    with suppress(KernelError):  # what is not there need not be stopped
        _run(["systemctl", "--quiet", *words])


def _run(command: Sequence[str]) -> None:
    if shutil.which(command[0]) is None:
        raise KernelError(f"{command[0]} is missing")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KernelError(f"{' '.join(command[:3])}: {done.stderr.strip() or f'status {done.returncode}'}")
