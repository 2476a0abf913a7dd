"""`dumbbell serve`: the live page, until Ctrl-C."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from dumbbell import interrupts, units
from dumbbell.errors import OutError, wrong
from dumbbell.runs.pool import default_workers

from .output import note
from .status import OK


def main(arguments: argparse.Namespace) -> int:
    """Serve."""
    from dumbbell import _native
    from dumbbell.serve.limits import Keep, Limits
    from dumbbell.serve.rooms import Seats
    from dumbbell.serve.server import Server

    time_s = _amount("--max-time", arguments.max_time, units.span_ns, least="1ns") / 1e9
    memory = _amount("--max-memory", arguments.max_memory, units.size_bytes, least="1B")
    disk = _amount("--max-disk", arguments.max_disk, units.size_bytes)
    limits = Limits(time_s, arguments.max_runs, arguments.max_packets, memory)
    seats = None
    if arguments.seats:
        seat_s = _amount("--seat-time", arguments.seat_time, units.span_ns, least="1ns") / 1e9
        seats = Seats(arguments.seats, seat_s, _amount("--seat-disk", arguments.seat_disk, units.size_bytes))
    results = Path(arguments.out)
    try:
        results.mkdir(parents=True, exist_ok=True)
        server = Server(
            results.resolve(),
            port=arguments.port,
            limits=limits,
            keep=Keep(arguments.max_folders, disk),
            at_once=arguments.jobs or default_workers(),
            version=_native.version(),
            host=arguments.host,
            seats=seats,
        )
    except OSError as error:
        where = f"{arguments.host}, port {arguments.port}"
        raise OutError(f"{error.filename or where}: {error.strerror}") from None
    with interrupts.Raised():
        try:
            print(server.url, flush=True)
            for room in server.rooms.all[1:]:
                print(f"{room.name}: {server.url_of(room)}", flush=True)
            if not str(server.server_address[0]).startswith("127."):
                note(
                    f"the network reaches {arguments.host}, and without TLS: whoever reads along has the tokens, and"
                    " whoever has one uses this machine"
                )
            note(f"results go to {results}; Ctrl-C ends it")
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            server.end()
            server.server_close()
    return OK


def _amount(option: str, text: str, parse: Callable[[object], int], *, least: str = "") -> int:
    """A time in ns or a size in bytes that an option has with its unit; of `least` at least. Raises ScenarioError that
    names the option.
    """
    amount = units.parse_option(option, text, parse)
    if least and amount < parse(least):
        raise wrong(option, text, f"{least} or more: nothing could be run")
    return amount
