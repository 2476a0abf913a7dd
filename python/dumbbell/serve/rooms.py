"""Rooms: whoever runs the server has one, each seat of a class has one, and one token only watches.

A token opens one room: a folder of results, its limits and its jobs. A seat reads its own folder and what whoever runs
the server has shared, and starts one scenario at a time. All rooms share the processes that check, the one that waits
for the next run, and the processor.
"""

from __future__ import annotations

import secrets
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ResultError, show, wrong

from . import why
from .check import Desk
from .checker import Checkers
from .jobs import Book, Spare
from .limits import JOBS_MAX, JOBS_SEAT, TOGETHER, Keep, Limits
from .recordings import Recordings
from .shelf import Shelf, documented

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

#: The address that no other machine reaches.
LOCAL = "127.0.0.1"
#: What the name of a shared run begins with on the pages of seats.
SHARED = "shared:"
#: Seats of a class at most.
SEATS_MAX = 200


class Seats(NamedTuple):
    """How many seats there are, and the limits of each."""

    number: int
    time_s: float = 60.0
    disk_bytes: int = 200 << 20


@dataclass(frozen=True, kw_only=True)
class Room:
    """What one token opens."""

    name: str
    token: str
    desk: Desk
    shelf: Shelf
    recordings: Recordings
    book: Book
    keep: Keep
    is_watched: bool = False
    """It starts and changes nothing."""


class Rooms:
    """All rooms of a server."""

    def __init__(
        self, results: Path, limits: Limits, keep: Keep, checkers: Checkers, *, at_once: int, seats: Seats | None
    ) -> None:
        self._spare, self._room = Spare(), threading.Semaphore(at_once)
        self._alone = threading.Lock()
        self._checkers, self._explainers = checkers, Checkers(Desk(results, limits), is_warm=False)
        self._shared: list[str] = []
        self.own = self._made("own", Desk(results, limits), keep, jobs=JOBS_MAX, at_once=at_once)
        self.seats: list[Room] = []
        self.watching: Room | None = None
        if seats is not None:
            of_seat = limits._replace(time_s=min(limits.time_s, seats.time_s))
            width = len(str(seats.number))
            for number in range(1, seats.number + 1):
                name = f"seat-{number:0{width}}"
                (results / name).mkdir(exist_ok=True)
                desk = Desk(results / name, of_seat, is_simulated=True)
                kept = Keep(keep.folders, min(keep.disk_bytes, seats.disk_bytes))
                self.seats.append(self._made(name, desk, kept, jobs=JOBS_SEAT, at_once=1))
            own = self.own
            self.watching = Room(
                name="watch", token=_token(), desk=own.desk, shelf=own.shelf, recordings=own.recordings, book=own.book,
                keep=keep, is_watched=True,
            )  # fmt: skip

    def _made(self, name: str, desk: Desk, keep: Keep, *, jobs: int, at_once: int) -> Room:
        book = Book(
            desk, self._checkers, threading.Semaphore(at_once), keep=keep, jobs_max=jobs, spare=self._spare,
            shared_room=self._room, alone=self._alone,
        )  # fmt: skip
        return Room(
            name=name, token=_token(), desk=desk, shelf=Shelf(desk.results), recordings=Recordings(desk.results),
            book=book, keep=keep,
        )  # fmt: skip

    @property
    def all(self) -> list[Room]:
        """Every room."""
        return [self.own, *self.seats, *([self.watching] if self.watching else [])]

    def whose(self, room: Room) -> dict[str, Any]:
        """Whose page that of a room is."""
        return {
            "name": room.name if room in self.seats else "",
            "watches": room.is_watched,
            "shares": room is self.own and bool(self.seats),
        }

    def share(self, room: Room, name: object) -> None:
        """Show a finished run to all seats. Raises ResultError for a run that is not there, and for a seat."""
        if room is not self.own or not self.seats:
            raise ResultError("only whoever runs a class shares runs")
        self.own.shelf.folder(name)
        if name not in self._shared:
            self._shared.append(str(name))

    def shared(self, room: Room) -> list[dict[str, Any]]:
        """The runs that a seat sees beside its own."""
        if room not in self.seats or not self._shared:
            return []
        own = {entry["id"]: entry for entry in self.own.shelf.names()}
        return [{**own[name], "id": f"{SHARED}{name}"} for name in self._shared if name in own]

    def document(self, room: Room, names: Sequence[object]) -> dict[str, Any]:
        """The data of a report of runs that a room sees; raises ResultError."""
        if not 0 < len(names) <= TOGETHER:
            raise ResultError(f"got {len(names)} folders, wanted 1 to {TOGETHER}")
        paths = [self._folder(room, name) for name in names]
        return documented(paths, [*room.desk.places, self.own.desk.results], room.desk.results)

    def why(self, room: Room, posted: Mapping[str, Any]) -> dict[str, Any]:
        """Why the flows of a run that a room sees got what they got; raises ResultError."""
        name, _, _ = why.asked(posted)
        return self._explainers.why({**posted, "run": str(self._folder(room, name))}, room.desk)

    def _folder(self, room: Room, name: object) -> Path:
        if isinstance(name, str) and name.startswith(SHARED) and room in self.seats:
            plain = name.removeprefix(SHARED)
            if plain not in self._shared:
                raise ResultError(f"got {show(name)}, wanted the name of a folder of results")
            return self.own.shelf.folder(plain)
        return room.shelf.folder(name)

    def end(self) -> None:
        """End all jobs, and what explains runs."""
        self._spare.end()
        self._explainers.end()
        for room in (self.own, *self.seats):
            room.book.end()


def address_of(host: str) -> str:
    """The IPv4 address of this machine that a host names. Raises ScenarioError for one that stands for all addresses:
    the Host of requests is held against it, and a foreign name could point at any of them.
    """
    wanted = "an address or a name of this machine, such as 192.168.1.20"
    try:
        address = str(socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError):
        raise wrong("--host", host, wanted) from None
    if address == "0.0.0.0":
        raise wrong("--host", host, f"{wanted}: one that requests can be held against")
    return address


def _token() -> str:
    return secrets.token_urlsafe(24)
