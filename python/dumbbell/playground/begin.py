"""Where Pyodide begins: the engine becomes `dumbbell._native`, before anything that asks for it is imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .native import Engine, Finished, module

if TYPE_CHECKING:
    from .desk import Answers
    from .native import Ask

#: Where the page's runs are, in the memory of the tab.
RESULTS = Path("/results")


class Page:
    """The engine and the answers of a page."""

    def __init__(self, engine: Engine, answers: Answers) -> None:
        self._engine, self.answers = engine, answers

    def finish(self, name: str, number: int, plan: str, answer: str, files: object) -> str:
        """Take what the engine gave for a run of a job, and write its folder (`Answers.finish`). `files` is an object
        of JavaScript: arrays of bytes by name.
        """
        by_name = files.to_py()  # type: ignore[attr-defined]
        self._engine.finished[plan] = Finished(answer, {key: bytes(content) for key, content in by_name.items()})
        return self.answers.finish(name, number)


def begin(ask: Ask) -> Page:
    """Make the page of an engine that answers as `ask` does."""
    engine = Engine(ask)
    sys.modules["dumbbell._native"] = module(engine)
    from .desk import Answers

    RESULTS.mkdir(exist_ok=True)
    return Page(engine, Answers(RESULTS))
