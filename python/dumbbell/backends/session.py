"""A detached session on a host: its script runs on without us, and is asked how far it is, also after the connection
was lost.
"""

from __future__ import annotations

import io
import os
import shlex
import socket
import subprocess
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from dumbbell.errors import EngineError

#: Status of ssh itself, where it has not got, or has lost, its connection (ssh(1)).
_LOST = 255
#: How long a lost connection may stay lost beyond the run's end before we give up, and between two attempts at first
#: and at most, s.
GIVE_UP_S, _AGAIN_S, _AGAIN_MAX_S = 600.0, 0.5, 15.0
#: A shell with root's rights, whatever the login shell is; sudo drops what tells where the connection came in.
_ROOT = (
    """sh -c 'if [ "$(id -u)" = 0 ]; then exec sh -s; """
    """else exec sudo -n env SSH_CONNECTION="$SSH_CONNECTION" sh -s; fi'"""
)
#: How long a question may take, s.
_ANSWER_S = 60.0
#: How long what somebody else's run left is kept for them, minutes.
_KEPT_MINUTES = 10


class LostError(EngineError):
    """The connection to a host is lost, or was not made."""


class Host(NamedTuple):
    """A host, and how a shell is started on it: ``("ssh", "node1")`` or ``("ip", "netns", "exec", "name")``."""

    name: str
    shell: tuple[str, ...]
    is_remote: bool = False

    def start(self, script: str) -> subprocess.Popen[bytes]:
        """A shell there that runs this, with root's rights, and outlives an interrupt from the keyboard here."""
        command = [*self.shell, _ROOT if self.is_remote else "sh"]
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        except OSError as error:
            raise EngineError(f"{command[0]}: {error.strerror}") from None
        assert process.stdin is not None
        try:
            process.stdin.write(script.encode())
            process.stdin.close()
        except BrokenPipeError:
            pass  # its exit status and what it says tell why
        process.stdin = None
        return process

    def ask(self, script: str, timeout_s: float = _ANSWER_S) -> bytes:
        """Output of a script that runs there; raises LostError without a connection, EngineError where it fails."""
        process = self.start(script)
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise LostError(f"{self.name}: no answer within {timeout_s:.0f} s") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.judge(process.returncode, err)
        return out

    def judge(self, status: int, err: bytes) -> None:
        """Raise what an exit status means."""
        ended = f"{self.shell[0]} was killed by signal {-status}" if status < 0 else f"exit status {status}"
        said = err.decode(errors="replace").strip().replace("\n", "; ") or ended
        if self.is_remote and (status == _LOST or status < 0):
            raise LostError(f"{self.name}: {said}")
        if status:
            raise EngineError(f"{self.name}: {said}")


class Session(NamedTuple):
    """One script on one host, in a folder there."""

    host: Host
    folder: str

    def claim(self) -> None:
        """Make the folder; clean up what a command left that was killed, and raise EngineError where a run is going
        on.
        """
        said = self.host.ask(
            _CLAIM.format(folder=shlex.quote(self.folder), owner=shlex.quote(_owner()), minutes=_KEPT_MINUTES)
        ).decode()
        words = said.split()
        if words[:1] == ["mine"]:
            return
        owner = words[1:]
        is_ours_and_dead = words[:1] == ["taken"] and owner[:1] == _owner().split()[:1] and not _is_alive(owner)
        if not is_ours_and_dead and words[:1] != ["old"]:
            who = " ".join(owner[:2]) or "somebody"
            end = f"kill -TERM $(cat {self.folder}/pid), then rm -r {self.folder}"
            raise EngineError(
                f"{self.host.name}: a run of {who} is in progress there; if it is not, run on that host: {end}"
            )
        self.remove()
        self.claim()

    def launch(self, script: str) -> None:
        """Start the script in a session of its own."""
        at = shlex.quote(self.folder)
        end = "END_OF_SCRIPT"
        self.host.ask(
            f"cat >{at}/run.sh <<'{end}'\n{script}{end}\nsetsid nohup sh {at}/run.sh </dev/null >/dev/null 2>&1 &\n"
        )

    def wait(self, wanted: str, *, until: float, tick: Callable[[], None]) -> None:
        """Wait until the script says `wanted`, over as many connections as it takes; `until` is on the monotonic clock.

        Raises EngineError where the script failed or was killed, or a connection stays lost.
        """
        again = _AGAIN_S
        while True:
            began = time.monotonic()
            try:
                said = self._watch(wanted, until=until, tick=tick)
                break
            except LostError as error:
                if time.monotonic() > until:
                    raise EngineError(f"{error}; given up, the host restores its own settings by itself") from None
                again = _AGAIN_S if time.monotonic() - began > 5 * again else min(2 * again, _AGAIN_MAX_S)
                _sleep(again, tick)
        if said != wanted:
            raise EngineError(f"{self.host.name}: {said.removeprefix('failed: ')}")

    def _watch(self, wanted: str, *, until: float, tick: Callable[[], None]) -> str:
        process = self.host.start(_WATCH.format(folder=shlex.quote(self.folder), wanted=shlex.quote(wanted)))
        try:
            while process.poll() is None:
                if time.monotonic() > until:
                    raise EngineError(f"{self.host.name}: not {wanted} in time")
                _sleep(0.1, tick)
            out, err = process.communicate()
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.host.judge(process.returncode, err)
        return out.decode(errors="replace").strip()

    def tell(self, word: str, value: str = "") -> None:
        """The script finds a file of this name when it next looks, whole."""
        at = f"{shlex.quote(self.folder)}/{word}"
        self.host.ask(f"echo {shlex.quote(value)} >{at}.new && mv {at}.new {at}")

    def clock_ns(self) -> int:
        """Its host's clock."""
        return int(self.host.ask("date +%s%N"))

    def collect(self, into: Path) -> None:
        """Bring what the script wrote."""
        data = self.host.ask(f"cd {shlex.quote(self.folder)} && tar -czf - .", timeout_s=GIVE_UP_S)
        into.mkdir()
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(into, filter="data")

    def remove(self) -> None:
        """End the script if it runs, wait until it has taken back what it did, do so in its place where it was killed,
        and take the folder away.
        """
        self.host.ask(_REMOVE.format(folder=shlex.quote(self.folder)))


def again(action: Callable[[], None], *, until: float) -> None:
    """Do something over a connection, as often as it is lost, until a time of the monotonic clock."""
    pause = _AGAIN_S
    while True:
        try:
            return action()
        except LostError:
            if time.monotonic() > until:
                raise
            time.sleep(pause)
            pause = min(2 * pause, _AGAIN_MAX_S)


def remove_all(sessions: Sequence[Session]) -> list[str]:
    """Remove every session; says which hosts could not be reached, and goes on."""
    left = []
    for session in sessions:
        try:
            again(session.remove, until=time.monotonic() + 10)
        except EngineError as error:
            left.append(
                f"{error} (it takes back by itself what it had set; the next run there removes {session.folder})"
            )
    return left


def _sleep(seconds: float, tick: Callable[[], None]) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        tick()
        time.sleep(min(left, 0.1))


def _owner() -> str:
    return f"{socket.gethostname()} {os.getpid()} {_born(os.getpid())}"


def _born(pid: int) -> str:
    """Start of a process, in the kernel's own units: a number given again is told apart by it (proc_pid_stat(5), field
    22).
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return "-"


def _is_alive(owner: Sequence[str]) -> bool:
    return len(owner) < 3 or not owner[1].isdigit() or (_born(int(owner[1])) == owner[2] != "-")


_CLAIM = """\
umask 077
if mkdir {folder} 2>/dev/null; then echo {owner} >{folder}/owner; : >{folder}/undo.sh; echo mine; exit 0; fi
[ -O {folder} ] || {{ echo "{folder}: not ours, or cannot be made" >&2; exit 1; }}
if ! kill -0 "$(cat {folder}/pid 2>/dev/null || echo 0)" 2>/dev/null \\
    && [ -n "$(find {folder} -maxdepth 0 -mmin +{minutes})" ]; then echo old; exit 0; fi
echo taken $(cat {folder}/owner)
"""

#: An empty line now and then ends it where nobody listens any more.
_WATCH = """\
cd {folder} || exit 1
beats=0
while [ -e {folder}/owner ]; do
  beats=$((beats + 1)); [ $((beats % 50)) -ne 0 ] || echo
  said=$(cat status 2>/dev/null)
  case $said in {wanted}|done|failed*) echo "$said"; exit 0 ;; esac
  if [ -e pid ] && ! kill -0 "$(cat pid)" 2>/dev/null; then
    said=$(cat status); case $said in done|failed*) ;; *) said="failed: its session was killed" ;; esac
    echo "$said"; exit 0
  fi
  sleep 0.1
done
echo "failed: its folder was removed"
"""

_REMOVE = """\
cd {folder} 2>/dev/null || exit 0
pid=$(cat pid 2>/dev/null)
if [ -n "$pid" ] && [ ! -e undone ]; then
  kill -TERM "-$pid" 2>/dev/null
  tries=0
  while [ ! -e undone ] && kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  if [ ! -e undone ]; then kill -KILL "-$pid" 2>/dev/null; sh ./undo.sh; fi
fi
cd / && rm -rf {folder}
exit 0
"""
