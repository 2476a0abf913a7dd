"""HTTP: who may ask, what is asked for, and the answers.

Only programs of this machine reach the port, unless the server is told an address of the network. A page of another
site in the user's browser is such a program's guest: it cannot know the token (compared in constant time), and is told
apart by Origin and Sec-Fetch-Site; a name that was made to point at this machine (DNS rebinding) is not the Host that
is wanted; there is no CORS, and no method but GET and POST; what is posted is JSON, small, and needs the token in a
header, which no form can send. A token opens one room (`rooms.py`).
"""

from __future__ import annotations

import errno
import hmac
import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from dumbbell.errors import DumbbellError, ScenarioError, show
from dumbbell.report import html
from dumbbell.scenario import gallery

from . import figures, page
from .check import Desk, listed
from .checker import Checkers
from .connections import Connections
from .limits import BODY_MAX, CONNECTIONS_MAX, SILENCE_S, Keep, Limits
from .rooms import LOCAL, Rooms, Seats, address_of

if TYPE_CHECKING:
    from pathlib import Path

    from .rooms import Room

#: Connections more for each seat: a browser has six.
_CONNECTIONS_SEAT = 8

#: What every answer says of itself.
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_NOTHING = "default-src 'none'; frame-ancestors 'none'"


def warm() -> None:
    """Import what reports need before there are threads: packages with circles of imports fail in two at once."""
    import matplotlib as mpl
    import numpy as np
    import pyarrow.parquet as pq

    _ = mpl, np, pq


class RefusedError(Exception):
    """A request that is not answered: its status, and why."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class Server(ThreadingHTTPServer):
    """The server of one folder of results."""

    daemon_threads = True
    request_queue_size = 16

    def __init__(
        self,
        results: Path,
        *,
        port: int,
        limits: Limits,
        keep: Keep,
        at_once: int,
        version: str,
        host: str = LOCAL,
        seats: Seats | None = None,
    ) -> None:
        self.version, self.host = version, host
        address = address_of(host)
        self.checkers = Checkers(Desk(results, limits))
        count = seats.number if seats else 0
        self.connections = Connections(CONNECTIONS_MAX + _CONNECTIONS_SEAT * count, SILENCE_S)
        super().__init__((address, port), Handler)
        self.port = self.server_address[1]
        warm()
        self.rooms = Rooms(results, limits, keep, self.checkers, at_once=at_once, seats=seats)
        names = {host, address, *(("localhost",) if address.startswith("127.") else ())}
        self.hosts = {f"{name}:{self.port}" for name in names}

    @property
    def url(self) -> str:
        """Address of the page of whoever runs the server, with its token."""
        return self.url_of(self.rooms.own)

    def url_of(self, room: Room) -> str:
        """Address of the page of a room, with its token."""
        return f"http://{self.host}:{self.port}/?token={room.token}"

    def end(self) -> None:
        """End checks and jobs."""
        self.checkers.end()
        self.rooms.end()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, unless there are too many."""
        if self.connections.take(request):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Look for requests that do not come, twice a second."""
        self.connections.close_late()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """The thread of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.leave(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 (the base class's)
        """A client that went away is no error of ours."""
        import sys

        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print(f"dumbbell: {type(error).__name__}: {error}", file=sys.stderr)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    room: Room
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "dumbbell", ""
    timeout = SILENCE_S

    def handle_one_request(self) -> None:
        """Wait for a request, and answer it."""
        self.server.connections.wait_for_head(self.connection)
        super().handle_one_request()

    def log_message(self, *_: object) -> None:
        """Say nothing: requests hold the token."""

    def do_GET(self) -> None:
        """Answer what reads."""
        self._answer(_GET)

    def do_POST(self) -> None:
        """Answer what starts something."""
        self._answer(_POST)

    def _answer(self, routes: dict[str, Any]) -> None:
        self.is_posted = routes is _POST
        try:
            self._guard()
            self.server.connections.answer(self.connection)
            at = urlsplit(self.path)
            route = routes.get(at.path)
            if route is None:
                raise RefusedError(HTTPStatus.NOT_FOUND, "there is no such page")
            asked = self._body() if self.is_posted else parse_qs(at.query, max_num_fields=20)
            route(self, asked)
        except RefusedError as error:
            self.close_connection = True  # what else it sent is not read
            self.send(str(error) + "\n", "text/plain; charset=utf-8", status=error.status)
        except ScenarioError as error:
            self.send_json({"errors": listed(error)}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        except (DumbbellError, ValueError) as error:
            self.send_json({"error": str(error)}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        except (ConnectionError, TimeoutError):  # whoever asked is gone
            raise
        except OSError as error:
            is_name = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
            status = HTTPStatus.NOT_FOUND if is_name else HTTPStatus.BAD_REQUEST
            self.send_json({"error": error.strerror or "it cannot be read"}, status=status)

    def _guard(self) -> None:
        """Raise RefusedError for who may not ask."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "the Host is not this server")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.hosts:
            raise RefusedError(HTTPStatus.FORBIDDEN, "the Origin is another site")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise RefusedError(HTTPStatus.FORBIDDEN, "another site asks")
        query = parse_qs(urlsplit(self.path).query, max_num_fields=20).get("token", [""])
        given = self.headers.get("X-Token") or ("" if self.is_posted else query[0])
        opened = [room for room in self.server.rooms.all if hmac.compare_digest(given.encode(), room.token.encode())]
        if not opened:
            raise RefusedError(
                HTTPStatus.FORBIDDEN, "wrong or no token: open the URL that `dumbbell serve` has printed, whole"
            )
        self.room = opened[0]
        if self.is_posted and self.room.is_watched:
            raise RefusedError(HTTPStatus.FORBIDDEN, "this link is for watching: it starts and changes nothing")

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()) or self.headers.get("Transfer-Encoding"):
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "wanted a body with its length")
        if len(length) > 9 or int(length) > BODY_MAX:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"wanted at most {BODY_MAX} bytes")
        if self.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "wanted application/json")
        self.server.connections.wait_for_body(self.connection)
        data = self.rfile.read(int(length))
        self.server.connections.answer(self.connection)
        try:
            posted = json.loads(data)
        except (ValueError, RecursionError):
            posted = None
        if not isinstance(posted, dict):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "wanted a JSON object")
        return posted

    def send(
        self, text: str, kind: str, *, status: HTTPStatus = HTTPStatus.OK, policy: str = _NOTHING, save: str = ""
    ) -> None:
        """A whole answer."""
        data = text.encode()
        self._begin(status, kind, policy)
        self.send_header("Content-Length", str(len(data)))
        if save:
            self.send_header("Content-Disposition", f'attachment; filename="{save}"')
        self.end_headers()
        self.wfile.write(data)

    def send_json(self, data: Any, *, status: HTTPStatus = HTTPStatus.OK) -> None:
        """The same of data."""
        self.send(json.dumps(data, separators=(",", ":")), "application/json", status=status)

    def _begin(self, status: HTTPStatus, kind: str, policy: str) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Security-Policy": policy}.items():
            self.send_header(name, value)

    def page(self, _: dict[str, list[str]]) -> None:
        """The page."""
        text, policy = page.html_of(self.room.token)
        self.send(text, "text/html; charset=utf-8", policy=policy)

    def known(self, _: dict[str, list[str]]) -> None:
        """Send the facts that the page needs first."""
        room, server = self.room, self.server
        self.send_json(page.known(server.version, room.desk, room.keep, server.rooms.whose(room)))

    def gallery(self, asked: dict[str, list[str]]) -> None:
        """The text of a scenario of the gallery."""
        name = asked.get("name", [""])[0]
        self.send_json({"name": name, "toml": gallery.find(name).read_text(encoding="utf-8")})

    def papers(self, _: dict[str, list[str]]) -> None:
        """The figures of the papers."""
        self.send_json({"papers": figures.papers()})

    def figure(self, asked: dict[str, list[str]]) -> None:
        """One of them, with its claims and cases."""
        self.send_json(figures.figure(asked.get("id", [""])[0]))

    def runs(self, _: dict[str, list[str]]) -> None:
        """Finished runs, and jobs that are not."""
        jobs = [{"id": job.name} for job in list(self.room.book.jobs.values()) if not job.is_ended]
        self.send_json({"runs": [*self.room.shelf.names(), *self.server.rooms.shared(self.room)], "jobs": jobs})

    def document(self, asked: dict[str, list[str]]) -> None:
        """The data of a report."""
        names = asked.get("run", [])
        self.room.book.shown.note(self.headers.get("X-Page", "")[:40], names)
        self.send_json(self.server.rooms.document(self.room, names))

    def growing(self, asked: dict[str, list[str]]) -> None:
        """The figure of a sweep that goes on."""
        job = self._job(asked.get("job", [""])[0])
        self.send_json(self.room.shelf.growing(job.name, asked.get("metric", [""])[0], job.whole))

    def report(self, asked: dict[str, list[str]]) -> None:
        """The report as a page, to look at or to save; its own policy stands in it."""
        text = html.page(self.server.rooms.document(self.room, asked.get("run", [])))
        policy = html.policy_of("page") + "; frame-ancestors 'none'"
        save = "report.html" if "save" in asked else ""
        self.send(text, "text/html; charset=utf-8", policy=policy, save=save)

    def stream(self, asked: dict[str, list[str]]) -> None:
        """The news of a job as server-sent events, from number `after` on."""
        job = self._job(asked.get("job", [""])[0])
        after = asked.get("after", ["0"])[0]
        if not (after.isascii() and after.isdecimal() and len(after) < 10):
            raise ValueError(f"after: got {show(after)}, wanted a number")
        self.close_connection = True
        self._begin(HTTPStatus.OK, "text/event-stream", _NOTHING)
        self.send_header("Connection", "close")
        self.end_headers()
        for news in job.follow(int(after)):
            text = (
                ": \n\n" if news is None else f"id: {news[0]}\ndata: {json.dumps(news[1], separators=(',', ':'))}\n\n"
            )
            self.wfile.write(text.encode())

    def check(self, posted: dict[str, Any]) -> None:
        """Send what there is to say of a scenario."""
        self.send_json(self.server.checkers.answer(posted, self.room.desk))

    def start(self, posted: dict[str, Any]) -> None:
        """Start a job; `instead` names one to cancel first."""
        instead = posted.pop("instead", None)
        if isinstance(instead, str) and instead in self.room.book.jobs:
            self.room.book.jobs[instead].cancel()
        self.send_json({"job": self.room.book.start(posted).name})

    def recordings(self, _: dict[str, list[str]]) -> None:
        """The recordings that there are."""
        self.send_json({"recordings": self.room.recordings.names()})

    def recording(self, asked: dict[str, list[str]]) -> None:
        """The text of a recording."""
        self.send_json({"text": self.room.recordings.text(asked.get("path", [""])[0])})

    def record(self, posted: dict[str, Any]) -> None:
        """Keep a recording."""
        self.send_json(self.room.recordings.keep(posted.get("name"), posted.get("text")))

    def why(self, posted: dict[str, Any]) -> None:
        """Send why the flows of a finished run got what they got."""
        self.send_json(self.server.rooms.why(self.room, posted))

    def share(self, posted: dict[str, Any]) -> None:
        """Show a finished run to all seats."""
        self.server.rooms.share(self.room, posted.get("run"))
        self.send_json({})

    def cancel(self, posted: dict[str, Any]) -> None:
        """End a job."""
        self._job(posted.get("job")).cancel()
        self.send_json({})

    def _job(self, name: object) -> Any:
        job = self.room.book.jobs.get(name) if isinstance(name, str) else None
        if job is None:
            raise ValueError(f"got {show(name)}, wanted the name of a job")
        return job


_GET = {
    "/": Handler.page,
    "/api/known": Handler.known,
    "/api/gallery": Handler.gallery,
    "/api/papers": Handler.papers,
    "/api/figure": Handler.figure,
    "/api/runs": Handler.runs,
    "/api/recordings": Handler.recordings,
    "/api/recording": Handler.recording,
    "/api/document": Handler.document,
    "/api/growing": Handler.growing,
    "/api/stream": Handler.stream,
    "/report": Handler.report,
}
_POST = {
    "/api/check": Handler.check,
    "/api/start": Handler.start,
    "/api/cancel": Handler.cancel,
    "/api/record": Handler.record,
    "/api/share": Handler.share,
    "/api/why": Handler.why,
}
