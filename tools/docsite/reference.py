"""Pages of the site that come from the code: the commands as their parsers have them, and the public names of the
package as their signatures and docstrings have them.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator
from typing import Any

#: Names of the pages.
COMMANDS = "reference/commands.md"
PYTHON = "reference/python.md"
#: Columns of the text of an option.
WIDTH = 100

#: An annotation, which Python keeps as a string.
_QUOTED = re.compile(r"(?<=: )'([^']*)'|(?<=-> )'([^']*)'")
_SECTION = re.compile(r"^(?P<head>[A-Z]\w+)\n-{3,}$", re.MULTILINE)


def commands() -> str:
    """A section for each command of `dumbbell help`, with its `--help`."""
    os.environ["COLUMNS"] = str(WIDTH)  # what argparse asks for the width
    from dumbbell.cli import commands as cli

    found = ["# Commands", "What `dumbbell COMMAND --help` prints, by what a person wants."]
    for group, members in cli.GROUPS.items():
        found += [f"## {group}"]
        for name in members:
            found += [f"### dumbbell {name}", f"```text\n{cli.parser(name).format_help().rstrip()}\n```"]
    return "\n\n".join(found) + "\n"


def python() -> str:
    """A section for each public name of the package."""
    import dumbbell

    found = ["# Python, every name", "`import dumbbell`. How to use them: [Python](../python.md)."]
    for name in dumbbell.__all__:
        found += _named(f"dumbbell.{name}", getattr(dumbbell, name))
    return "\n\n".join(found) + "\n"


def _named(name: str, what: Any) -> Iterator[str]:
    yield f"## {name}"
    is_error = isinstance(what, type) and issubclass(what, Exception)
    is_table = hasattr(what, "KEYS")
    if callable(what) and not is_error:
        yield _signature(name.rpartition(".")[2], what, has_types=not is_table)
    yield _text(inspect.getdoc(what) or "")
    if isinstance(what, type) and not is_error and not is_table:
        for member, value in vars(what).items():
            if not member.startswith("_"):
                yield from _member(member, value)


def _member(name: str, value: Any) -> Iterator[str]:
    """A method or a property."""
    function = value.fget if isinstance(value, property) else value
    if inspect.isfunction(function) and (text := inspect.getdoc(function)):
        called = f"```python\n{name}\n```" if isinstance(value, property) else _signature(name, function)
        yield f"### {name}\n\n{called}\n\n{_text(text)}"


def _signature(name: str, what: Any, *, has_types: bool = True) -> str:
    """How it is called, a parameter a line; types as they are written."""
    empty = inspect.Parameter.empty
    signature = inspect.signature(what)
    own = [one for one in signature.parameters.values() if one.name != "self"]
    types = {} if has_types else {"annotation": empty}
    shown = str(signature.replace(parameters=[one.replace(**types) for one in own]))
    parts = [str(one.replace(**types)) for one in own]
    if len(name) + len(shown) > WIDTH - 20:
        first = next((at for at, one in enumerate(own) if one.kind is one.KEYWORD_ONLY), None)
        if first is not None and not any(one.kind is one.VAR_POSITIONAL for one in own):
            parts.insert(first, "*")
        back = "" if signature.return_annotation is empty else f" -> {signature.return_annotation!r}"
        shown = "(\n" + "".join(f"    {part},\n" for part in parts) + f"){back}"
    return f"```python\n{name}{_QUOTED.sub(lambda match: match[1] or match[2], shown)}\n```"


def _text(doc: str) -> str:
    """A docstring in numpy's form: sentences as they are, each section below its name."""
    parts = _SECTION.split(doc)
    found = [_escaped(parts[0].strip())]
    for head, body in zip(parts[1::2], parts[2::2]):
        found += [f"**{head}**", _example(body) if head == "Examples" else _described(body)]
    return "\n\n".join(found)


def _example(body: str) -> str:
    return f"```python\n{body.strip()}\n```"


def _described(body: str) -> str:
    """A section of names and what each is: a list."""
    found: list[str] = []
    for line in body.strip().splitlines():
        if line and not line.startswith(" "):
            found.append(f"- `{line.strip()}`:")
        elif line.strip():
            found[-1:] = [f"{found[-1]} {_escaped(line.strip())}" if found else _escaped(line.strip())]
    return "\n".join(found)


def _escaped(text: str) -> str:
    """Double backticks are code, as in reStructuredText; what looks like HTML is none."""
    return text.replace("``", "`").replace("<", "&lt;")
