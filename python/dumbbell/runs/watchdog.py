"""Watchdog of controllers in Python: a thread notices calls that do not return."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Thread
from typing import NamedTuple

from dumbbell.errors import ControllerError

#: A call that has lasted so long counts as one that does not return, s. Hooks take microseconds, and one that asks a
#: program elsewhere some seconds.
CALL_MAX_S = 60
#: How often is looked.
_LOOK_EVERY_S = 1.0


class NotReturningError(RuntimeError):
    """Raised in a hook that does not return, where it is a loop of Python."""

    def __init__(self) -> None:
        super().__init__(f"the hook does not return: it was called {CALL_MAX_S} s ago")


class Called(NamedTuple):
    """A call of a hook that has not returned: the thread it is in, the hook, and since when."""

    thread: int
    hook: str
    seconds: float

    def error(self, where: str) -> ControllerError:
        """Error that reports the call; `where` names the run."""
        return ControllerError(where, f"{self.hook}() does not return: it was called {CALL_MAX_S} s ago")


class Watchdog:
    """A thread that tells of each call which has lasted for a minute, once, as long as this lives."""

    def __init__(self, tell: Callable[[Called], None]) -> None:
        self._tell = tell
        self._ended = False
        self._thread = Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def end(self) -> None:
        """Watch no more."""
        self._ended = True

    def _watch(self) -> None:
        from dumbbell import _native

        told: set[int] = set()
        while not self._ended:
            time.sleep(_LOOK_EVERY_S)
            late = [Called(*call) for call in _native.python_calls() if call[2] > CALL_MAX_S]
            for call in late:
                if call.thread not in told:
                    self._tell(call)
            told = {call.thread for call in late}
