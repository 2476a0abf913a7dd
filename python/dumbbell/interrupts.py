"""SIGINT, SIGTERM and SIGHUP as one exception of the main thread, which waits where half a step must not be left.

It comes once: what clears up after the first signal is bounded, and a second one must not leave that half done.
"""

from __future__ import annotations

import _thread
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, NoReturn, TypeVar

Made = TypeVar("Made")
Found = TypeVar("Found")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: What stands in each before anybody asked for anything: only that is replaced, so a program's own handler, or `nohup`,
#: stays.
_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)


class Interrupted(KeyboardInterrupt):
    """One of these signals; its exit status is what a shell says of a program that it ended."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def status(self) -> int:
        """130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP."""
        return 128 + self.number


class _State:
    """State of the process, as handlers are."""

    held = 0
    pending = 0
    is_raised = False
    """One was raised: what clears up after it is not broken into by the next."""


class Raised:
    """A context in which these signals raise `Interrupted`. Elsewhere than in the main thread it does nothing, as
    Python has it.
    """

    def __init__(self) -> None:
        self.before: dict[int, Any] = {}

    def __enter__(self) -> None:
        if _is_main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) in _DEFAULTS:
                    _State.is_raised = False
                    self.before[number] = signal.signal(number, _on_signal)

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


class Held:
    """A context that a signal does not break into; it is raised at the end. For short steps."""

    def __enter__(self) -> None:
        if _is_main_thread():
            _State.held += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if not _is_main_thread():
            return
        _State.held -= 1
        if not _State.held and _State.pending:
            number, _State.pending = _State.pending, 0
            _State.is_raised = True
            raise Interrupted(number)


def ended(start: Callable[[], Made], during: Callable[[Made], Found], end: Callable[[Made], object]) -> Found:
    """Do something with what `start` gives, and end that, whatever comes meanwhile; what `during` gives. An interrupt
    waits until the first is known, because what is not known cannot be ended.
    """
    # No context: an interrupt between its beginning and its body would find nobody who ends it.
    held = None
    try:
        with Held():
            held = start()
        return during(held)
    finally:
        if held is not None:
            end(held)


@contextmanager
def passed_on() -> Iterator[None]:
    """In a library an interrupt is what it would have been without us."""
    try:
        yield
    except Interrupted as error:
        pass_on(error)


def pass_on(error: Interrupted) -> NoReturn:
    """Do what the signal does to a program that has no handler: a KeyboardInterrupt, or its end."""
    if error.number != signal.SIGINT:
        signal.raise_signal(error.number)
    raise error


def _on_signal(number: int, _: FrameType | None) -> None:
    if _State.is_raised:
        return
    if not _State.held:
        _State.is_raised = True
        raise Interrupted(number)
    _State.pending = number


def _is_main_thread() -> bool:
    # A Python without threads, in a browser, does not have the first.
    return getattr(_thread, "get_native_id", os.getpid)() == os.getpid()
