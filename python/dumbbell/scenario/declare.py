"""Declared tables: one line per key gives its parser, its default, its text, its JSON Schema, the type of its
constructor argument and the type of its value.

A value is parsed once, when its table is made: ``Path(rate="40Mbps", ...).rate`` is 40000000. The text as written stays
beside it, for files, manifests and messages: `raw`.

Why not pydantic, msgspec or dataclasses: a whole `dumbbell run` is compared with simulators whose runs take 0.1 s, and
importing them costs 100, 14 and 9 ms of CPU (1 ms for this), while their messages would still have to be rewritten to
say key, given and accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeGuard, TypeVar, dataclass_transform, overload

from dumbbell.errors import SYNONYMS, ScenarioError, guess, together, unknown_key, wrong

from .plain_kinds import Choice, Kind

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")
W = TypeVar("W")

#: Most values that a list varies: more are a slip, or the work of a script that should write several files.
VALUES_MAX = 100_000

REQUIRED: Any = object()
"""Default of a key that must be written."""


class Sub(Kind):
    """A table of its own."""

    def __init__(self, table: type[Table]) -> None:
        self.table = table
        self.schema = {"$ref": f"#/$defs/{table.__name__}"}

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
        schemas: list[dict[str, Any]] = [{"$ref": f"#/$defs/{base.__name__}"}]
        schemas += [{"enum": list(base.FORMS)}] if words else []
        schemas += [other.schema] if other else []
        self.schema = {"anyOf": schemas}

    def take(self, value: object, at: str) -> Any:
        """The table, or the value of the other kind."""
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
        return build(self.base.FORMS[value], {}, at)


class Each(Kind):
    """A list of tables (``[[flow]]``), at least one unless `minimum` is 0, at most `most`."""

    def __init__(self, item: Kind | type[Table], *, minimum: int = 1, most: int) -> None:
        self.item = item if isinstance(item, Kind) else Sub(item)
        self.minimum, self.most = minimum, most
        self.schema = {"type": "array", "minItems": minimum, "maxItems": most, "items": self.item.schema}

    def take(self, value: object, at: str) -> tuple[Any, ...]:
        """The tables as a tuple, which tells them from a list of varied values."""
        if not isinstance(value, (list, tuple)) or len(value) < self.minimum:
            raise wrong(at, value, f"at least one [[{at}]] table" if self.minimum else "a list of tables")
        if len(value) > self.most:
            raise wrong(at, f"{len(value)} tables", f"{self.most} at most")
        taken: list[Any] = []
        errors: list[ScenarioError] = []
        for i, item in enumerate(value):
            try:
                taken.append(self.item.take(item, f"{at}[{i}]"))
            except ScenarioError as error:
                errors += error.errors
        if errors:
            raise together(errors)
        return tuple(taken)


def is_range(value: object) -> TypeGuard[Mapping[str, Any]]:
    """True if a written value is a range of values (`ranges.py`)."""
    return isinstance(value, Mapping) and "from" in value and "to" in value


def _kept(value: object, taken: object) -> Any:
    """Text to keep of a written value: tables, which keep what was written in them, or a copy."""
    if isinstance(value, (str, int, float)):
        return value
    is_table = isinstance(taken, (Table, dict)) or (
        type(taken) is tuple and any(isinstance(item, Table) for item in taken)
    )
    return taken if is_table else raw(value)


class Key(Generic[W, T]):
    """One declared key of a table: constructors take a W, and attributes are a T.

    Of a table with varied values the attribute is the list of those; `plan.cases` makes tables with one value for each.
    """

    __slots__ = ("_absent", "default", "doc", "kind", "name", "varies")

    def __init__(self, kind: Kind, doc: str, *, default: Any, varies: bool) -> None:
        self.kind, self.doc, self.default, self.varies = kind, doc, default, varies
        self._absent = REQUIRED

    def __set_name__(self, _: type, name: str) -> None:
        # A key that is a word of Python, such as from, is declared and given with a "_" after it.
        self.name = name.removesuffix("_")

    if TYPE_CHECKING:  # from this a checker knows what constructors take

        def __set__(self, table: Table, value: W) -> None: ...

    @overload
    def __get__(self, table: None, _: object) -> Self: ...
    @overload
    def __get__(self, table: Table, _: object) -> T: ...
    def __get__(self, table: Any, _: object) -> Any:
        """Value of the key in a table, or its default."""
        if table is None:
            return self
        values: dict[str, Any] = table.__dict__
        if self.name in values:  # declared with a "_" after its name
            return values[self.name]
        return self.absent

    @property
    def absent(self) -> Any:
        """The value where the key is not written, parsed when it is first asked for."""
        if self._absent is REQUIRED:
            self._absent = None if self.default is None else self.kind.take(self.default, self.name)
        return self._absent

    def take(self, value: object, at: str) -> tuple[Any, Any]:
        """The value of what was written, and what to keep of that; a list of each where the key is varied."""
        if self.varies and is_range(value):
            from . import ranges  # its arithmetic takes a millisecond to import

            value = ranges.values(value, at)
        if not self.varies or not isinstance(value, list):
            taken = self.kind.take(value, at)
            return taken, _kept(value, taken)
        if not value:
            raise wrong(at, value, "at least one value to vary")
        if len(value) > VALUES_MAX:
            raise wrong(at, f"{len(value)} values", f"{VALUES_MAX} at most")
        values, texts = [], []
        for item in value:
            taken_item = self.kind.take(item, at)
            if (isinstance(taken_item, Table) and any(varied(taken_item))) or (
                isinstance(taken_item, dict) and any(isinstance(inner, list) for inner in taken_item.values())
            ):
                raise wrong(at, item, "one value for each of its keys, because the list around it varies already")
            values.append(taken_item)
            texts.append(_kept(item, taken_item))
        return values, texts


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
        parameters = []
        for name, key in table.KEYS.items():
            given = name if name in hints or f"{name}_" not in hints else f"{name}_"
            default = Parameter.empty if key.default is REQUIRED else key.default
            parameters.append(
                Parameter(given, Parameter.KEYWORD_ONLY, default=default, annotation=hints.get(given, Parameter.empty))
            )
        return Signature(parameters)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(key,))
class Table:
    """A frozen table of declared keys; keeps the order in which keys were written, because the first varies slowest."""

    KEYS: ClassVar[dict[str, Key[Any, Any]]]
    AT: ClassVar[str] = ""
    TEXT: ClassVar[str] = ""
    """What the table is; its docstring has its keys, too."""
    EXCUSED: ClassVar[frozenset[str]] = frozenset()
    """Required keys that some tables do without, see `excused`."""
    __signature__: ClassVar[Any] = _SignatureOf()

    def __init_subclass__(cls) -> None:
        declared = {
            name: value
            for base in reversed(cls.__mro__)
            for name, value in vars(base).items()
            if isinstance(value, Key)
        }
        cls.KEYS = {value.name: value for value in declared.values()}
        cls.TEXT = " ".join((vars(cls).get("__doc__") or "").split())
        if declared:
            cls.__doc__ = "\n".join(
                [
                    cls.TEXT,
                    "",
                    "Parameters",
                    "----------",
                    *(f"{name}\n    {value.doc}" for name, value in declared.items()),
                ]
            )

    def __init__(self, **given: object) -> None:
        _fill(self, {name.removesuffix("_"): value for name, value in given.items()}, self.AT)

    def check(self) -> None:
        """Raise ScenarioError for keys that contradict each other."""

    def excused(self) -> frozenset[str]:
        """Required keys that this table does without."""
        return frozenset()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: make a new one instead of setting {name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and raw(self) == raw(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self.__dict__["_raw"].items())
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
        tag: Key[str, str] = Key(Choice(form), "which form this is", default=form if sign else REQUIRED, varies=False)
        cls.KEYS = {cls.TAG: tag, **cls.KEYS}
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


def _deeper(declared: Mapping[str, Key[Any, Any]], at: str, name: object) -> list[str]:
    """Keys of the tables in a table that are called so, or as another tool's word for them; those of lists where there
    are no others.
    """
    word = SYNONYMS.get(str(name).casefold(), str(name))
    if word in declared:
        return []
    kinds = {f"{at}.{key}" if at else key: spec.kind for key, spec in declared.items()}
    of_tables = [key for key, kind in kinds.items() if isinstance(kind, Sub) and word in kind.table.KEYS]
    of_lists = [
        f"{key}[0]"
        for key, kind in kinds.items()
        if isinstance(kind, Each) and isinstance(kind.item, Sub) and word in kind.item.table.KEYS
    ]
    return [f"{key}.{word}" for key in of_tables or of_lists]


def _fill(table: Table, given: Mapping[Any, object], at: str) -> None:
    declared = type(table).KEYS
    values, texts = table.__dict__, {}
    errors: list[ScenarioError] = []
    guessed: set[str] = set()
    if isinstance(table, Variant):
        given = {table.TAG: table.FORM, **given}
    for name, value in given.items():
        if name not in declared:
            errors.append(unknown_key(at, str(name), list(declared), _deeper(declared, at, name)))
            guessed.add(guess(str(name), list(declared)))
        elif value is not None:
            try:
                values[name], texts[name] = declared[name].take(value, f"{at}.{name}" if at else name)
            except ScenarioError as error:
                errors += error.errors
                guessed.add(name)
    values["_raw"] = texts
    for name, spec in declared.items():
        if spec.default is REQUIRED and name not in {*texts, *guessed, *table.excused()}:
            errors.append(ScenarioError(f"{at}.{name}" if at else name, f"missing: {spec.doc}"))
    if errors:
        raise together(errors)
    table.check()


def build(table: type[AnyTable], given: Mapping[Any, object], at: str, **beside: object) -> AnyTable:
    """The table from what was written at key `at`, with attributes that are no keys; raises ScenarioError."""
    built = table.__new__(table)
    built.__dict__.update(beside)
    _fill(built, given, at)
    return built


def raw(value: object) -> Any:
    """Written values as plain dictionaries and lists, as TOML and JSON have it; a table's keys in the order in which
    they were written.
    """
    if isinstance(value, Table):
        return {name: raw(item) for name, item in value.__dict__["_raw"].items()}
    if isinstance(value, Mapping):
        return {name: raw(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [raw(item) for item in value]
    return value


def raw_at(table: Table, name: str) -> Any:
    """Written value of a key, or its default."""
    return raw(table.__dict__["_raw"].get(name, type(table).KEYS[name].default))


def is_written(table: Table, name: str) -> bool:
    """True if a key was written."""
    return name in table.__dict__["_raw"]


def replaced(table: Any, place: Sequence[str | int], value: tuple[Any, Any]) -> Any:
    """A copy of a table, a tuple or a dictionary in which the value at `place` is another: as written and as taken."""
    step, *rest = place
    if isinstance(table, Table):
        name = str(step)
        text, taken = value
        if rest:
            text = taken = replaced(getattr(table, name), rest, value)
        copy = type(table).__new__(type(table))
        copy.__dict__.update(table.__dict__)
        copy.__dict__[name] = taken
        copy.__dict__["_raw"] = {**table.__dict__["_raw"], name: text}
        return copy
    if isinstance(table, tuple):
        assert isinstance(step, int)
        copy = replaced(table[step], rest, value) if rest else value[1]
        return (*table[:step], copy, *table[step + 1 :])
    return {**table, step: value[1]}


def varied(table: Table, at: str = "") -> Iterator[tuple[str, list[tuple[Any, Any]]]]:
    """Key paths that hold a list instead of a value, each with its values as written and as taken, in the order in
    which they were written.
    """
    for name, text in table.__dict__["_raw"].items():
        path, value = f"{at}.{name}" if at else name, table.__dict__[name]
        if isinstance(value, list) and type(table).KEYS[name].varies:
            yield path, list(zip(map(raw, text), value))
        elif isinstance(value, tuple):
            for i, item in enumerate(value):
                if isinstance(item, Table):
                    yield from varied(item, f"{path}[{i}]")
        elif isinstance(value, Table):
            yield from varied(value, path)
        elif isinstance(value, dict) and type(table).KEYS[name].varies:
            yield from (
                (f"{path}.{k}", [(item_, item_) for item_ in v]) for k, v in value.items() if isinstance(v, list)
            )
