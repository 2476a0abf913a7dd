"""What can go wrong for a caller: one class per thing that a caller can do differently."""

from __future__ import annotations


class DumbbellError(Exception):
    """Anything that this package refuses or fails to do; its text is one line for a person."""


class ScenarioError(DumbbellError):
    """A scenario that cannot be run as written.

    The text is ``key: got <what was given>, wanted <what is accepted>``, with a suggestion for a near miss.

    Attributes
    ----------
    key
        Path of the key, as in ``flow[1].cca``; empty when the file as a whole is meant.
    """

    def __init__(self, key: str, problem: str, *, source: str = "") -> None:
        self.key = key
        self.problem = problem
        self.source = source
        super().__init__(": ".join(part for part in (source, key, problem) if part))

    def under(self, source: str) -> ScenarioError:
        """The same error, naming the file that it is in."""
        return ScenarioError(self.key, self.problem, source=source)


class ResultError(DumbbellError):
    """A result folder that is missing, damaged, of another version, or in the way."""


class OutError(ResultError):
    """The folder for results cannot be made, or holds something else."""


class EngineError(DumbbellError):
    """A run that the engine refused or could not finish (disk full, no permission)."""


class DiskFullError(EngineError):
    """The disk took no more: further runs would end in the same way."""


class ControllerError(DumbbellError):
    """A controller of one's own in Python raised an exception: the text is its traceback, the cause is the exception."""

    def __init__(self, where: str, error: BaseException) -> None:
        from traceback import format_exception

        self.error = error
        super().__init__(f"{where}: the controller raised\n{''.join(format_exception(error)).rstrip()}")


def show(value: object) -> str:
    """A given value as the person wrote it, shortened to one line."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def nearest(word: str, known: list[str]) -> str:
    """``; did you mean "x"?`` for a near miss, else nothing."""
    folded = {name.casefold(): name for name in known}
    if word.casefold() in folded:
        return f'; did you mean "{folded[word.casefold()]}"?'
    from difflib import get_close_matches  # only on the way to an error

    found = get_close_matches(word, known, n=1, cutoff=0.6)
    return f'; did you mean "{found[0]}"?' if found else ""


def unknown_key(at: str, name: str, known: list[str]) -> ScenarioError:
    """The error for a key that the table `at` does not have."""
    key = f"{at}.{name}" if at else name
    return ScenarioError(key, f"unknown key, wanted one of: {', '.join(known)}{nearest(name, known)}")


def wrong(at: str, value: object, wanted: str, known: list[str] | None = None) -> ScenarioError:
    """The error for a value that the key `at` does not take."""
    hint = nearest(value, known) if known and isinstance(value, str) else ""
    return ScenarioError(at, f"got {show(value)}, wanted {wanted}{hint}")
