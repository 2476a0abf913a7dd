"""Which test computes which figure independently: tests say it of themselves by `checks`, and `test_every_figure.py`
holds the list against all there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])

#: Figure or column by its full name ("flows.rtos", "metrics.share", "figure.fct", "summary.flow.share"), and the tests
#: that compute it in another way.
CHECKED: dict[str, list[str]] = {}


def checks(kind: str, *names: str) -> Callable[[Test], Test]:
    """Notes that a test computes ``kind.name`` for each name (words, separated by blanks) without the code that it
    tests.
    """

    def note(test: Test) -> Test:
        for name in " ".join(names).split():
            CHECKED.setdefault(f"{kind}.{name}", []).append(test.__name__)
        return test

    return note
