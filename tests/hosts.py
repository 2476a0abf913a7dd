"""Two network namespaces with a router between them, each with an sshd of its own, keys and configuration in a folder
of the test's.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from dumbbell import plan
from dumbbell.backends import ssh
from dumbbell.scenario.file import from_dict

SENDER, RECEIVER = "10.77.1.1", "10.77.2.1"
PATH_PROGRAMS = ("ip", "tc", "ss", "iperf3")
PROGRAMS = (*PATH_PROGRAMS, "ssh", "ssh-keygen", "sshd")
#: A path and flows of the simplest scenario.
PATH = {"rate": "10Mbps", "rtt": "1us", "buffer": "50pkt"}
TWO = [{"cca": "cubic"}, {"cca": "reno"}]


def missing(wanted: tuple[str, ...] = PROGRAMS) -> str | None:
    """Why hosts cannot be made here, or only a path between namespaces."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux, for network namespaces"
    programs = [name for name in wanted if which(name) is None]
    if programs:
        return f"needs {', '.join(programs)} (Debian: openssh-server, openssh-client, iproute2, iperf3)"
    asked = subprocess.run(
        ["unshare", "-n", "ip", "link", "add", "name", "x0", "type", "ifb"], capture_output=True, text=True, check=False
    )
    return f"needs the module ifb: {asked.stderr.strip()}" if asked.returncode else None


def which(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


class Hosts(NamedTuple):
    """Namespaces of the two and of the router between them, and how ssh reaches them: the receiver through the sender,
    as through a bastion.
    """

    sender: str
    receiver: str
    router: str
    ssh: str

    def at(self, namespace: str, *command: str) -> str:
        """What a command in a namespace prints."""
        done = subprocess.run(["ip", "netns", "exec", namespace, *command], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def start(self, *arguments: str | Path, at: str = "") -> subprocess.Popen[str]:
        """The command line, in the sender's namespace unless another is given."""
        command = ["ip", "netns", "exec", at or self.sender, sys.executable, "-m", "dumbbell", *map(str, arguments)]
        environment = {**os.environ, "DUMBBELL_SSH": self.ssh}
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def left(self) -> list[str]:
        """What of a run is still there."""
        found = [path for path in (ssh.SENDER_FOLDER, ssh.RECEIVER_FOLDER) if Path(path).exists()]
        links = self.at(self.receiver, "ip", "-o", "link") + self.at(self.receiver, "tc", "qdisc", "show")
        found += [word for word in ("dumbbell0", "ingress", "htb") if word in links]
        for namespace in (self.sender, self.receiver):
            pids = self.at(namespace, "ip", "netns", "pids", namespace).split()
            names = [
                Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids if Path(f"/proc/{pid}/comm").exists()
            ]
            found += [name for name in names if name in ("iperf3", "ss", "timeout", "sleep", "sh")]
        return found


@contextmanager
def made(folder: Path) -> Iterator[Hosts]:
    """The hosts, for as long as the block lasts."""
    names = [f"dbhosts{os.getpid()}{end}" for end in "srx"]
    router = names.pop()
    with ExitStack() as stack:
        for name in (*names, router):
            _run("ip", "netns", "add", name)
            stack.callback(_run, "ip", "netns", "delete", name)
            _run("ip", "netns", "exec", name, "ip", "link", "set", "lo", "up")
        # Without a router packets that wait at the receiver would still belong to the sender's socket, which holds back
        # more of them (TCP small queues).
        _run("ip", "netns", "exec", router, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        for name, address in zip(names, (SENDER, RECEIVER)):
            net, port = address.rpartition(".")[0], f"to{name[-1]}"
            _run(
                "ip",
                "link",
                "add",
                "name",
                "eth0",
                "netns",
                name,
                "type",
                "veth",
                "peer",
                "name",
                port,
                "netns",
                router,
            )
            for namespace, device, own in ((name, "eth0", address), (router, port, f"{net}.2")):
                _run("ip", "netns", "exec", namespace, "ip", "address", "add", f"{own}/24", "dev", device)
                _run("ip", "netns", "exec", namespace, "ip", "link", "set", device, "up")
            _run("ip", "netns", "exec", name, "ip", "route", "add", "default", "via", f"{net}.2")
        # Segments leave one by one, as they do at the receiver of a real path without GRO.
        _run("ip", "netns", "exec", names[0], "ip", "link", "set", "eth0", "gso_max_segs", "1")
        _privileges(stack)
        _forget()
        # Also after a test that failed: a run's session outlives its command line, and would go on beside the tests
        # that follow.
        stack.callback(_stop, *names)
        config = _keys(folder)
        for name, address in zip(names, (SENDER, RECEIVER)):
            stack.enter_context(_sshd(folder, name, address))
        yield Hosts(*names, router, f"{which('ssh')} -F {config}")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _stop(*namespaces: str) -> None:
    """Whatever still runs in them, and what it would have taken back itself."""
    for namespace in namespaces:
        listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True).stdout
        for pid in map(int, listed.split()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    _forget()


def _forget() -> None:
    """What a session keeps of a run, which tells a test that the run has begun."""
    for path in (ssh.SENDER_FOLDER, ssh.RECEIVER_FOLDER):
        shutil.rmtree(path, ignore_errors=True)


def _privileges(stack: ExitStack) -> None:
    """The folder that Debian's sshd wants, which its service makes."""
    folder = Path("/run/sshd")
    if not folder.exists():
        folder.mkdir(mode=0o755)
        stack.callback(folder.rmdir)


def _keys(folder: Path) -> Path:
    for name in ("host", "user"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
    (folder / "authorized").write_bytes((folder / "user.pub").read_bytes())
    common = (
        f"User root\nIdentityFile {folder}/user\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile"
        f" {folder}/known\nLogLevel ERROR\nPort 2222\n"
    )
    config = folder / "ssh_config"
    config.write_text(
        f"Host near\nHostName {SENDER}\n\nHost far\nHostName {RECEIVER}\nProxyJump near\n\nHost *\n{common}"
    )
    return config


@contextmanager
def _sshd(folder: Path, namespace: str, address: str) -> Iterator[None]:
    config = folder / f"sshd_{address}"
    config.write_text(
        f"Port 2222\nListenAddress {address}\nHostKey {folder}/host\nAuthorizedKeysFile"
        f" {folder}/authorized\nStrictModes no\nPidFile none\nUsePAM no\nPermitRootLogin"
        " prohibit-password\nPasswordAuthentication no\nMaxStartups 100\n"
        # bash takes itself for a shell in a shell, and does not read what this user's ~/.bashrc starts.
        "SetEnv SHLVL=2\n"
    )
    command = ["ip", "netns", "exec", namespace, str(which("sshd")), "-D", "-e", "-f", str(config)]
    with (folder / f"log_{address}").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        for _ in range(100):
            listening = subprocess.run(
                ["ip", "netns", "exec", namespace, "ss", "-tlnH", "sport = :2222"], capture_output=True, check=True
            ).stdout
            if listening:
                break
            time.sleep(0.05)
        assert process.poll() is None, (folder / f"log_{address}").read_text()
        yield
    finally:
        process.terminate()
        process.wait()


def planned(flows: list[dict[str, Any]] | None = None, **path: Any) -> plan.Planned:
    """The only run of a scenario between hosts."""
    return plan.runs(from_dict({"name": "t", "duration": "5s", "path": {**PATH, **path}, "flow": flows or TWO}))[0]
