"""`dumbbell serve` as a process, for tests, and a client that can be as rude as it likes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

#: Two flows, half a second of work at most.
SCENARIO = {
    "name": "two",
    "duration": "5s",
    "path": {"rate": "20Mbps", "rtt": "20ms", "buffer": "1bdp"},
    "flow": [{"cca": "cubic"}, {"cca": "bbr", "start": "137ms"}],
}
#: What takes a minute or more, so that it is still running whenever it is looked at.
LONG = {
    **SCENARIO,
    "name": "long",
    "duration": "600s",
    "path": {"rate": "1Gbps", "rtt": "20ms", "buffer": "1bdp"},
}


class Server:
    """A server that runs, and how to ask it."""

    def __init__(self, process: subprocess.Popen[str], out: Path) -> None:
        assert process.stdout is not None
        self.process, self.out = process, out
        self.url = process.stdout.readline().strip()
        at = urlsplit(self.url)
        self.port: int = at.port or 0
        self.token: str = parse_qs(at.query)["token"][0]

    def ask(
        self, path: str, posted: object = None, *, headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer; headers given as "" are left out."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {"Host": f"127.0.0.1:{self.port}", "X-Token": self.token}
        if posted is not None:
            body, sent["Content-Type"] = json.dumps(posted).encode(), "application/json"
        sent |= headers or {}
        method = "GET" if body is None else "POST"
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if body is not None and "Content-Length" not in sent:
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return found

    def json(self, path: str, posted: object = None) -> Any:
        """The answer as data."""
        return json.loads(self.ask(path, posted)[2])

    def news(self, job: str) -> list[dict[str, Any]]:
        """All that a job tells, up to its end."""
        _, headers, body = self.ask(f"/api/stream?job={quote(job)}")
        assert headers["Content-Type"] == "text/event-stream"
        return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]

    def run(self, scenario: object) -> list[dict[str, Any]]:
        """Run tables to their end."""
        return self.news(self.json("/api/start", {"tables": scenario})["job"])


@contextmanager
def serving(out: Path, *options: str) -> Iterator[Server]:
    """A server of this folder."""
    command = [sys.executable, "-m", "dumbbell", "serve", "--out", str(out), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Server(process, out)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise


def wait_for(holds: Any) -> None:
    """Look again until it holds; the machine may be busy."""
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)
