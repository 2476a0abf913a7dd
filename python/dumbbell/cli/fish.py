"""Completion for fish, which `shtab` does not write: from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

#: `__dumbbell_in run`: this command's arguments are being written; `__dumbbell_at cca`: its action is.
_HEAD = """\
function __dumbbell_words
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        string match -q -- '-*' $word; or echo $word
    end
end
function __dumbbell_at
    set -l given (__dumbbell_words)
    test "$given" = "$argv"
end
function __dumbbell_in
    set -l given (__dumbbell_words)
    set -l number (count $argv)
    test (count $given) -ge $number; and test "$given[1..$number]" = "$argv"
end
complete -c dumbbell -f
"""


def script(whole: argparse.ArgumentParser) -> str:
    """The file for ``~/.config/fish/completions``, of a parser whose arguments have the `choices` to be offered."""
    return _HEAD + "\n".join(_of(whole, [])) + "\n"


def _of(command: argparse.ArgumentParser, words: list[str]) -> Iterator[str]:
    """Lines of a command, called by these words, and of those below it."""
    here = f"__dumbbell_{'in' if words else 'at'} {' '.join(words)}".rstrip()
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            at = f"__dumbbell_at {' '.join(words)}".rstrip()
            texts = {listed.dest: listed.help or "" for listed in action._choices_actions}
            for name, inner in action.choices.items():
                yield _line(at, ["-a", _quoted(name)], texts.get(name, ""))
                yield from _of(inner, [*words, name])
        elif action.option_strings:
            yield _line(here, [*_names(action.option_strings), *_value(action)], action.help or "")
        elif what := _offered(action):
            yield _line(here, what, "")


def _names(options: Sequence[str]) -> Iterator[str]:
    for option in options:
        yield from ("-l", option[2:]) if option.startswith("--") else ("-s", option[1:])


def _value(action: argparse.Action) -> list[str]:
    """How the value of an option is completed; nothing for one without a value."""
    if action.nargs == 0:
        return []
    return _offered(action) or ["-x"]


def _offered(action: argparse.Action) -> list[str]:
    """Names, files or folders of which an argument is one; nothing for a free text."""
    names = [str(choice) for choice in action.choices or ()]
    if "gallery:NAME" in (action.help or ""):
        from dumbbell.scenario import gallery, source

        names += [f"{source.GALLERY}{entry.name}" for entry in gallery.entries()]
    offered = ["-a", _quoted(" ".join(names))] if names else []
    if action.metavar in ("FILE", "CCA"):
        return [*(["-r"] if action.option_strings else []), "-F", *offered]
    if action.metavar == "DIR":
        return ["-x" if action.option_strings else "-f", "-a", "'(__fish_complete_directories)'"]
    return ["-x" if action.option_strings else "-f", *offered] if offered else []


def _line(condition: str, what: Iterable[str], text: str) -> str:
    said = ["-d", _quoted(text.replace("%%", "%"))] if text else []
    return " ".join(["complete -c dumbbell -n", _quoted(condition), *what, *said])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
