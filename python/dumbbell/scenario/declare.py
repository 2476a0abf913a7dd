"""Declared tables: one line per key gives its parser, its default, its text, its JSON Schema and its typed constructor
argument.

Why not pydantic, msgspec or dataclasses: a whole `dumbbell run` is compared with simulators whose runs take 0.1 s, and
importing them costs 100, 14 and 9 ms of CPU (1 ms for this), while their messages would still have to be rewritten to
say key, given and accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, dataclass_transform

from dumbbell.errors import ScenarioError, guess, together, unknown_key, wrong

from .units import UnitError

#: Most values that a list varies: more are a slip, or the work of a script that should write several files.
VALUES_MAX = 100_000

REQUIRED: Any = object()
"""Default of a key that must be written."""


class Kind:
    """What a key accepts: parses one written value and describes it to editors."""

    def __init__(self, parse: Callable[[object], Any], schema: dict[str, Any]) -> None:
        self.parse = parse
        self.schema = schema

    def take(self, value: object, at: str) -> Any:
        """The value to keep for what was written at key `at`; raises ScenarioError."""
        try:
            self.parse(value)
        except UnitError as error:
            raise wrong(at, value, str(error)) from None
        return value


class Choice(Kind):
    """One of a few words."""

    def __init__(self, *options: str) -> None:
        self.options = list(options)
        super().__init__(self._parse, {"enum": self.options})

    def _parse(self, value: object) -> object:
        return value

    def take(self, value: object, at: str) -> Any:
        """The word itself."""
        if value not in self.options or not isinstance(value, str):
            raise wrong(at, value, "one of: " + ", ".join(f'"{o}"' for o in self.options), self.options)
        return value


class Sub(Kind):
    """A table of its own."""

    def __init__(self, table: type[Table]) -> None:
        self.table = table
        super().__init__(lambda value: value, {"$ref": f"#/$defs/{table.__name__}"})

    def take(self, value: object, at: str) -> Any:
        """The table, built from a dictionary where it is not one yet."""
        if isinstance(value, self.table):
            return value
        if not isinstance(value, Mapping):
            raise wrong(at, value, f"a table with: {', '.join(self.table.KEYS)}")
        return build(self.table, value, at)


class Forms(Kind):
    """A table in one of the forms of `base`; also the form's name alone where `words`, or a value of another kind."""

    def __init__(self, base: type[Variant], *, words: bool = False, other: Kind | None = None) -> None:
        self.base, self.words, self.other = base, words, other
        self.bases: tuple[type[Variant], ...] = (base,)
        found: list[dict[str, Any]] = [{"$ref": f"#/$defs/{base.__name__}"}]
        found += [{"enum": list(base.FORMS)}] if words else []
        found += [other.schema] if other else []
        super().__init__(self._parse, {"anyOf": found})

    def _parse(self, value: object) -> Any:
        if isinstance(value, str) and self.words and value in self.base.FORMS:
            return build(self.base.FORMS[value], {}, "")
        return self.other.parse(value) if self.other and not isinstance(value, self.base) else value

    def take(self, value: object, at: str) -> Any:
        """The word or value as written, or the table."""
        if isinstance(value, self.base):
            return value
        if isinstance(value, Mapping):
            return build(self.base.form_of(value, at), value, at)
        if self.other:
            return self.other.take(value, at)
        if not isinstance(value, str) or value not in self.base.FORMS:
            named = ", ".join(f'"{name}"' for name in self.base.FORMS)
            words = f"one of: {named}" if self.words else f"a table with {self.base.TAG} = one of: {named}"
            raise wrong(at, value, words, list(self.base.FORMS))
        if not self.words:
            raise wrong(at, value, f'a table such as {{ {self.base.TAG} = "{value}", ... }}')
        build(self.base.FORMS[value], {}, at)
        return value


class Each(Kind):
    """A list of tables (``[[flow]]``), at least one unless `least` is 0, at most `most`."""

    def __init__(self, item: Kind | type[Table], *, least: int = 1, most: int) -> None:
        self.item = item if isinstance(item, Kind) else Sub(item)
        self.least, self.most = least, most
        super().__init__(
            lambda value: value, {"type": "array", "minItems": least, "maxItems": most, "items": self.item.schema}
        )

    def take(self, value: object, at: str) -> Any:
        """The tables as a tuple, which tells them from a list of varied values."""
        if not isinstance(value, (list, tuple)) or len(value) < self.least:
            raise wrong(at, value, f"at least one [[{at}]] table" if self.least else "a list of tables")
        if len(value) > self.most:
            raise wrong(at, f"{len(value)} tables", f"{self.most} at most")
        taken: list[Any] = []
        found: list[ScenarioError] = []
        for i, item in enumerate(value):
            try:
                taken.append(self.item.take(item, f"{at}[{i}]"))
            except ScenarioError as error:
                found += error.errors
        if found:
            raise together(found)
        return tuple(taken)


def whole(low: int, high: int) -> Kind:
    """A whole number from `low` to `high`."""

    def parse(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise UnitError(f"a whole number from {low} to {high}")
        return value

    return Kind(parse, {"type": "integer", "minimum": low, "maximum": high})


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise UnitError("true or false")
    return value


SWITCH = Kind(_switch, {"type": "boolean"})


def _frozen(value: object) -> object:
    """What tells a value from others, for sets; equal numbers are one, as in a comparison."""
    if isinstance(value, Table):
        return type(value).__name__, _frozen(written(value))
    if isinstance(value, Mapping):
        return tuple(sorted((str(name), _frozen(item)) for name, item in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    return value


class Key:
    """One declared key of a table."""

    __slots__ = ("default", "doc", "kind", "varies")

    def __init__(self, kind: Kind, doc: str, *, default: Any, varies: bool) -> None:
        self.kind, self.doc, self.default, self.varies = kind, doc, default, varies

    def take(self, value: object, at: str) -> Any:
        """The value to keep, or a list of them where the key is varied."""
        if self.varies and isinstance(value, list):
            if not value:
                raise wrong(at, value, "at least one value to vary")
            if len(value) > VALUES_MAX:
                raise wrong(at, f"{len(value)} values", f"{VALUES_MAX} at most")
            taken, met = [], set()
            for item in value:
                one = self.kind.take(item, at)
                frozen = _frozen(item)
                if frozen in met:
                    raise wrong(at, item, "each varied value once")
                met.add(frozen)
                if isinstance(one, Table) and any(varied(one)):
                    raise wrong(at, item, "one value for each of its keys, because the list around it varies already")
                taken.append(one)
            return taken
        return self.kind.take(value, at)


def key(kind: Kind, doc: str, *, default: Any = REQUIRED, varies: bool = True) -> Any:
    """Declare a key of a `Table`; `varies` tells whether a list instead of the value makes a grid."""
    return Key(kind, doc, default=default, varies=varies)


class _SignatureOf:
    """The signature of a table's constructor, made of its keys when somebody asks for it: `inspect`, and so notebooks
    and editors that run.
    """

    def __get__(self, _: object, table: type[Table]) -> Any:
        from inspect import Parameter, Signature  # only when asked for

        hints = {
            name: hint
            for base in reversed(table.__mro__)
            for name, hint in vars(base).get("__annotations__", {}).items()
        }
        found = []
        for name, one in table.KEYS.items():
            given = name if name in hints or f"{name}_" not in hints else f"{name}_"
            default = Parameter.empty if one.default is REQUIRED else one.default
            found.append(
                Parameter(given, Parameter.KEYWORD_ONLY, default=default, annotation=hints.get(given, Parameter.empty))
            )
        return Signature(found)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(key,))
class Table:
    """A frozen table of declared keys; keeps the order in which keys were written, because the first varies slowest."""

    KEYS: ClassVar[dict[str, Key]]
    AT: ClassVar[str] = ""
    TEXT: ClassVar[str] = ""
    """What the table is; its docstring has its keys, too."""
    __signature__: ClassVar[Any] = _SignatureOf()

    def __init_subclass__(cls) -> None:
        found = {
            name: value
            for base in reversed(cls.__mro__)
            for name, value in vars(base).items()
            if isinstance(value, Key)
        }
        # A key that is a word of Python, such as from, is declared and given with a "_" behind it.
        cls.KEYS = {name.removesuffix("_"): value for name, value in found.items()}
        cls.TEXT = " ".join((vars(cls).get("__doc__") or "").split())
        if found:
            cls.__doc__ = "\n".join(
                [
                    cls.TEXT,
                    "",
                    "Parameters",
                    "----------",
                    *(f"{name}\n    {value.doc}" for name, value in found.items()),
                ]
            )

    def __init__(self, **given: object) -> None:
        _fill(self, {name.removesuffix("_"): value for name, value in given.items()}, self.AT)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: make a new one instead of setting {name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and written(self) == written(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in written(self))
        return f"{type(self).__name__}({inner})"


class Variant(Table):
    """A table that has one of several forms, told apart by a word at the key `TAG`.

    A class made from this one directly is a base; classes made from the base with ``form=`` are its forms. A form that
    has a `sign` is also known by that key, where the word is left out.
    """

    TAG: ClassVar[str] = "kind"
    FORMS: ClassVar[dict[str, type[Variant]]]
    FORM: ClassVar[str] = ""
    SIGN: ClassVar[str] = ""

    def __init_subclass__(cls, form: str = "", sign: str = "") -> None:
        super().__init_subclass__()
        if not form:
            cls.FORMS = {}
            return
        cls.FORM, cls.SIGN = form, sign
        cls.KEYS = {
            cls.TAG: Key(Choice(form), "which form this is", default=form if sign else REQUIRED, varies=False),
            **cls.KEYS,
        }
        cls.FORMS[form] = cls

    @classmethod
    def form_of(cls, given: Mapping[Any, object], at: str) -> type[Variant]:
        """The form that a written table has; raises ScenarioError."""
        named = given.get(cls.TAG)
        if named is None:
            for form in cls.FORMS.values():
                if form.SIGN and form.SIGN in given:
                    return form
            raise ScenarioError(f"{at}.{cls.TAG}", "missing: one of: " + ", ".join(f'"{name}"' for name in cls.FORMS))
        return cls.FORMS[Choice(*cls.FORMS).take(named, f"{at}.{cls.TAG}")]


AnyTable = TypeVar("AnyTable", bound=Table)


def _fill(table: Table, given: Mapping[Any, object], at: str) -> None:
    declared = type(table).KEYS
    kept = table.__dict__
    found: list[ScenarioError] = []
    guessed: set[str] = set()
    if isinstance(table, Variant):
        given = {table.TAG: table.FORM, **given}
    for name, value in given.items():
        if name not in declared:
            found.append(unknown_key(at, str(name), list(declared)))
            guessed.add(guess(str(name), list(declared)))
        elif value is not None:
            try:
                kept[name] = declared[name].take(value, f"{at}.{name}" if at else name)
            except ScenarioError as error:
                found += error.errors
                guessed.add(name)
    kept["_written"] = tuple(name for name in kept if name != "_written")
    for name, spec in declared.items():
        if name in kept:
            continue
        if spec.default is REQUIRED and name not in guessed:
            found.append(ScenarioError(f"{at}.{name}" if at else name, f"missing: {spec.doc}"))
        kept[name] = spec.default
    if found:
        raise together(found)


def build(table: type[AnyTable], given: Mapping[Any, object], at: str) -> AnyTable:
    """The table from what was written at key `at`; raises ScenarioError."""
    made = table.__new__(table)
    _fill(made, given, at)
    return made


def written(table: Table) -> dict[str, Any]:
    """The keys that were given, in the order in which they were."""
    return {name: getattr(table, name) for name in table.__dict__["_written"]}


def parsed(table: Table, name: str) -> Any:
    """The value of a key as the engine counts it; None where it is absent and has no default."""
    value = getattr(table, name)
    return None if value is None else type(table).KEYS[name].kind.parse(value)


def plain(value: object) -> Any:
    """Tables as plain dictionaries and lists, as TOML and JSON have them."""
    if isinstance(value, Table):
        return {name: plain(item) for name, item in written(value).items()}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def replaced(table: Any, place: Sequence[str | int], value: Any) -> Any:
    """A copy of a table, a tuple or a dictionary in which the value at `place` is another, one that its key has
    taken.
    """
    if not place:
        return value
    step, *rest = place
    if isinstance(table, tuple):
        assert isinstance(step, int)
        return (*table[:step], replaced(table[step], rest, value), *table[step + 1 :])
    if isinstance(table, Table):
        made = type(table).__new__(type(table))
        made.__dict__.update(table.__dict__)
        made.__dict__[str(step)] = replaced(getattr(table, str(step)), rest, value)
        return made
    return {**table, step: replaced(table[step], rest, value)}


def varied(table: Table, at: str = "") -> Iterator[tuple[str, list[tuple[Any, Any]]]]:
    """Key paths that hold a list instead of a value, each with its values as written and as taken, in the order in
    which they were written.
    """
    for name, value in written(table).items():
        path = f"{at}.{name}" if at else name
        if isinstance(value, list) and type(table).KEYS[name].varies:
            yield path, [(plain(one), one) for one in value]
        elif isinstance(value, tuple):
            for i, item in enumerate(value):
                if isinstance(item, Table):
                    yield from varied(item, f"{path}[{i}]")
        elif isinstance(value, Table):
            yield from varied(value, path)
        elif isinstance(value, dict):
            yield from ((f"{path}.{k}", [(one, one) for one in v]) for k, v in value.items() if isinstance(v, list))
