"""Errors: one class for each thing that a caller can do differently."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class DumbbellError(Exception):
    """Anything that this package refuses or fails to do; its text is one line for a person.

    Attributes
    ----------
    is_input
        Whether what was asked for is wrong, rather than the machine unable to do it.
    """

    is_input = False

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild it in another process: not all of these are made of their text alone."""
        return _again, (type(self), self.args), self.__dict__


def _again(kind: type[DumbbellError], args: tuple[object, ...]) -> DumbbellError:
    """An error without the attributes that its constructor would set."""
    return kind.__new__(kind, *args)


class ScenarioError(DumbbellError):
    """A scenario that cannot be run as written.

    The text is ``FILE:LINE: key: got <what was given>, wanted <what is accepted>``, with a suggestion for a near miss.

    Attributes
    ----------
    key
        Path of the key, as in ``flow[1].cca``; empty when the file as a whole is meant.
    line
        Line of the key in its file, from 1; None where it is on none (``--set``, tables from Python).
    errors
        All errors of the file, this one first.
    """

    is_input = True

    def __init__(self, key: str, problem: str, *, source: str = "", line: int | None = None) -> None:
        self.key = key
        self.problem = problem
        self.source = source
        self.line = line
        self.errors: tuple[ScenarioError, ...] = (self,)
        where = f"{source}:{line}" if source and line else source
        super().__init__(": ".join(part for part in (where, key, problem) if part))

    def under(self, source: str) -> ScenarioError:
        """The same error, naming the file that it is in."""
        return self.at(source, lambda _: self.line)

    def at(self, source: str, line: Callable[[str], int | None]) -> ScenarioError:
        """The same error or errors, naming the file, and for each key the line that `line` finds."""
        return together(
            [
                ScenarioError(error.key, error.problem, source=source, line=error.line or line(error.key))
                for error in self.errors
            ]
        )


class SeveralError(ScenarioError):
    """Several errors of one file, a line each in the text; key and problem are those of the first."""

    def __init__(self, errors: Sequence[ScenarioError]) -> None:
        first = errors[0]
        super().__init__(first.key, first.problem, source=first.source, line=first.line)
        self.errors = tuple(errors)
        shown = [str(error) for error in errors[:ERRORS_SHOWN]]
        more = len(errors) - len(shown)
        self.args = ("\n".join([*shown, *([f"... and {more} more"] if more else [])]),)


#: Errors of a file that its text lists.
ERRORS_SHOWN = 20


def together(errors: Sequence[ScenarioError]) -> ScenarioError:
    """One error of these, in the order of their lines."""
    ordered = sorted((inner for error in errors for inner in error.errors), key=lambda inner: inner.line or 0)
    return ordered[0] if len(ordered) == 1 else SeveralError(ordered)


class ResultError(DumbbellError):
    """A result folder that is missing, damaged, of another version, or in the way."""


class OutError(ResultError):
    """The folder for results cannot be made, or holds something else."""

    is_input = True


class EngineError(DumbbellError):
    """A run that the engine refused or could not finish (disk full, no permission)."""


class DiskFullError(EngineError):
    """The disk took no more: further runs would end in the same way."""


class ControllerError(DumbbellError):
    """A controller of one's own failed. In Python it raised an exception: the text is its traceback, or a line of what
    is no error, as SystemExit; the cause is the exception. Or a hook does not return. In C it crashed or does not
    return: the text says in which hook, when, and in which line.
    """

    def __init__(self, where: str, error: BaseException | str) -> None:
        from traceback import format_exception

        self.error = error
        if isinstance(error, Exception):
            error = f"the controller raised\n{''.join(format_exception(error)).rstrip()}"
        elif isinstance(error, BaseException):
            error = f"the controller raised {_exit(error)}"
        super().__init__(f"{where}: {error}")


def printable(text: str, most: int | None = None, *, keep: str = "") -> str:
    r"""Text that may be anybody's as a terminal can have it: what is not a visible letter is written as Python escapes
    it, but for those to `keep`, and what is longer than `most` letters is cut in its middle.

    >>> printable("a\x1b[2Jb\x9b\u202e")
    'a\\x1b[2Jb\\x9b\\u202e'
    """
    if not text.isprintable():
        kept = keep + _BLANKS
        text = "".join(
            letter if letter.isprintable() or letter in kept else letter.encode("unicode_escape").decode("ascii")
            for letter in text
        )
    if most is None or len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}...{text[head + 3 - most :]}"


#: Blanks that Python does not count among what is printable.
_BLANKS = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


def _exit(error: BaseException) -> str:
    """Describe in one line an exception that is no error, such as SystemExit: itself, and where it was raised."""
    from traceback import extract_tb

    at = extract_tb(error.__traceback__)[-1:]
    text = f"{type(error).__name__}({', '.join(map(show, error.args))})"
    return text + "".join(f" in {frame.name}() ({frame.filename}:{frame.lineno})" for frame in at)


def show(value: object) -> str:
    """A given value as the person wrote it, shortened to one line."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        try:
            text = repr(value)
        except (ValueError, RecursionError):  # digits without end: Python refuses to write them
            text = "what is too long to be shown"
    return printable(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")


def shown_name(name: str) -> str:
    """A name of somebody's in a message."""
    return printable(name, SHOWN)


#: Letters of a given value, or of one name among those accepted, that an error shows.
SHOWN = 60

#: What other tools call a key or a value of ours, with what there is to say about it.
SYNONYMS = {
    "bandwidth": "rate", "bw": "rate", "capacity": "rate", "speed": "rate", "bitrate": "rate", "datarate": "rate",
    "latency": "rtt", "delay": "rtt", "ping": "rtt",
    "queue": "buffer", "queue_size": "buffer", "buffer_size": "buffer", "limit": "buffer", "bufsize": "buffer",
    "aqm": "qdisc", "discipline": "qdisc", "queue_discipline": "qdisc",
    "cc": "cca", "congestion": "cca", "controller": "cca", "algorithm": "cca", "congestion_control": "cca",
    "time": "duration", "length": "duration", "runs": "repetitions", "reps": "repetitions", "iterations": "repetitions",
    "flows": "flow", "links": "link", "number": "count", "parallel": "count", "bytes": "size", "plr": "loss",
    "loss_rate": "loss",
    "droptail": "fifo", "drop_tail": "fifo", "tail_drop": "fifo", "taildrop": "fifo", "pfifo": "fifo", "bfifo": "fifo",
    "none": "fifo",
    "newreno": "reno", "new_reno": "reno", "bbrv1": "bbr", "bbr1": "bbr", "bbrv2": "bbr2", "bbrv3": "bbr3",
    "l4s": "dualpi2",
}  # fmt: skip
_TWO_WAY = {"latency", "delay"}


def listed(values: Sequence[object], most: int = 5) -> str:
    """The first of these, with commas between, and how many more there are."""
    return ", ".join(map(str, values[:most])) + (f" and {len(values) - most} more" if len(values) > most else "")


def nearest(word: str, known: list[str]) -> str:
    """``; did you mean "x"?`` for a near miss or another tool's name, else nothing."""
    versions = _versions(word, known)
    if len(versions) > 1:
        return _meant(versions)
    meant = guess(word, known)
    if not meant:
        return ""
    more = ", which is two-way: twice the delay" if meant == "rtt" and word.casefold() in _TWO_WAY else ""
    return f'; did you mean "{meant}"{more}?'


def _versions(word: str, known: list[str]) -> list[str]:
    """What differs from a word in its number at the end only, or has none, as bbr3, bbr2 and bbr do from bbr4: the
    latest first. Empty where the word has more digits than all: bbr22 is a slip for bbr2.
    """
    stem = word.casefold().rstrip("0123456789")
    if stem == word.casefold() or word.casefold() in {name.casefold() for name in known}:
        return []
    same = [name for name in known if name.casefold().rstrip("0123456789") == stem]
    if max(map(len, same), default=0) < len(word):
        return []
    return sorted(same, key=lambda name: int(name[len(stem) :] or 0), reverse=True)


def guess(word: str, known: list[str]) -> str:
    """The one of `known` that was probably meant; empty for none."""
    folded = {name.casefold(): name for name in known}
    if word.casefold() in folded:
        return folded[word.casefold()]
    synonym = SYNONYMS.get(word.casefold().replace("-", "_"))
    if synonym in known:
        return str(synonym)
    if len(word) > SHOWN:
        return ""
    from difflib import get_close_matches  # only on the way to an error

    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return close[0] if close else ""


def unknown_key(at: str, name: str, known: list[str], deeper: Sequence[str] = ()) -> ScenarioError:
    """The error for a key that the table `at` does not have; `deeper` has keys of tables in it called so."""
    name = shown_name(name)
    key = f"{at}.{name}" if at else name
    hint = _meant(deeper) or nearest(name, known)
    return ScenarioError(key, f"unknown key, wanted one of: {', '.join(known)}{hint}")


def _meant(names: Sequence[str]) -> str:
    """``; did you mean "a", "b" or "c"?`` for the first three; empty for none."""
    *before, last = [f'"{name}"' for name in names[:3]] or [""]
    return f"; did you mean {', '.join(before)}{' or ' if before else ''}{last}?" if last else ""


def wrong(at: str, value: object, wanted: str, known: list[str] | None = None) -> ScenarioError:
    """The error for a value that the key `at` does not take."""
    hint = nearest(value, known) if known and isinstance(value, str) else ""
    return ScenarioError(at, f"got {show(value)}, wanted {wanted}{hint}")
