"""A user's own controllers: C sources (in our style, or Linux congestion-control modules as they are), Python classes,
and programs with controllers in Rust.

    own = Own.load(["./tcp_mine.c", "./mine.py"])     # names -> controllers; compiles what is C
    dumbbell.run(scenario, controllers={"mine": Mine})

A loaded controller takes the place of a built-in one of its name, for these runs alone. docs/own-controller.md tells
how to write one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import programs
from dumbbell.controllers import NAME_MAX, Controller, Param, from_item, known
from dumbbell.errors import ControllerError, ScenarioError, show
from dumbbell.files import SOURCE_MAX, UnreadableError, read_bytes
from dumbbell.policy import ENDING

if TYPE_CHECKING:
    from dumbbell.policy.file import Policy
    from dumbbell.temporary import Temporary

#: Policies that come with the package.
_SHIPPED = Path(__file__).parents[1] / "policy" / "shipped"
_INT64 = (-(2**63), 2**63 - 1)
#: Back ends that compile Linux modules with the headers of their kernel.
_WITH_HEADERS = ("uml", "uml-ours")
#: A Python file that has not been imported after so long is none, s.
_IMPORT_MAX_S = 60


class Source(NamedTuple):
    """One controller of the user's: `description` is what `cca show` prints, `record` what the manifest keeps."""

    description: Controller
    record: dict[str, Any]
    library: Callable[[int], tuple[str, str | None]] | None
    """(shared object, symbol) for a kernel of that many ticks a second; None for what is no C file."""
    maker: Callable[..., object] | None
    refused: ScenarioError | None = None
    """Why the simulator does not have a Linux module that a kernel's own headers may compile."""
    program: str | None = None
    """The program that runs the plans which name it."""
    made: str | None = None
    """The C file that it was made into, where its own file is none."""

    @property
    def c_file(self) -> str:
        """The file that a compiler for kernels takes; one that does not end with .c is none."""
        return self.made or str(self.record["file"])

    @property
    def is_ours(self) -> bool:
        """True if it is a C file that includes cca.h, or made into one, for the kernel by BPF."""
        return self.library is not None and self.refused is None and self.library(1000)[1] is not None


def is_file(text: str) -> bool:
    """True if a controller is given as a file, or as a policy that comes with the package, and not by its name."""
    return os.sep in text or text.endswith((".c", ".py", ENDING)) or shipped(text) is not None


def shipped(name: str) -> Path | None:
    """The file of a policy that comes with the package, by its name; None for any other name."""
    file = _SHIPPED / f"{name}{ENDING}"
    return file if name.isidentifier() and file.exists() else None


def name_in(file: str, at: str = "CCA") -> str:
    """The name of the one controller in a file; raises ScenarioError where it holds several."""
    names = list(Own.load([file]).sources)
    if len(names) != 1:
        raise ScenarioError(at, f"{file} holds {', '.join(names)}: wanted one of these names, and --cca {file}")
    return names[0]


class Own:
    """The user's controllers by name, in the order given; empty is falsy."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self.sources: dict[str, Source] = {}
        for source in sources:
            name = source.description.name
            if name in self.sources:
                raise ScenarioError(
                    "--cca",
                    f'"{name}" is defined by {self.sources[name].record["file"]} and by {source.record["file"]}',
                )
            self.sources[name] = source

    @classmethod
    def load(
        cls,
        files: Iterable[str | Path],
        classes: Mapping[str, Callable[..., object]] | None = None,
        *,
        on: Iterable[str] = ("sim",),
    ) -> Own:
        """Compile and load these files (.c or .py) and classes; raises ScenarioError with the compiler's first
        error.

        `on` are the back ends that they are for. With one that compiles Linux modules with a kernel's own headers, a
        module that the simulator refuses is refused by `check` alone.
        """
        several = [files] if isinstance(files, (str, Path)) else files  # a text has letters, which are no files
        has_kernel = any(name.partition(":")[0] in _WITH_HEADERS for name in on)
        sources = [source for file in several for source in _load(Path(file), has_kernel=has_kernel)]
        return cls([*sources, *(_python(name, maker, "") for name, maker in (classes or {}).items())])

    @classmethod
    def of_others(cls, names: Iterable[str]) -> Own:
        """Those of these controllers whose network others have trained, and the environment has."""
        from dumbbell.policy import others

        here = sorted(name for name in set(names) & others.VARIABLES.keys() if others.place(name))
        return cls(_policy(others.read(name), others.place(name)) for name in here)

    def __bool__(self) -> bool:
        return bool(self.sources)

    @property
    def has_python(self) -> bool:
        """True if one of them is in Python."""
        return any(source.maker for source in self.sources.values())

    def check(self, names: Iterable[str]) -> None:
        """Raise ScenarioError for what the simulator does not have of those with these names."""
        for name in names:
            if name in self.sources and (refused := self.sources[name].refused):
                raise refused

    def known(self) -> dict[str, Controller]:
        """All controllers by name: those built in, and these instead of them."""
        return {**known(), **{name: source.description for name, source in self.sources.items()}}

    def record(self) -> list[dict[str, Any]]:
        """Record for the manifest: of each, name, file, sha256 of its text, compiler, and whether it replaces a
        built-in one.
        """
        return [source.record for source in self.sources.values()]

    def for_bpf(self, name: str, at: str) -> str:
        """The C file of one of these, which the kernel takes by BPF; raises ScenarioError for one that it does not."""
        source = self.sources[name]
        if not source.is_ours:
            what = "a Python class" if source.maker else "a Linux module or a BPF program"
            what = "in Rust" if source.program else what
            accepted = "a C file that includes cca.h, which the kernel takes by BPF; --on sim has it"
            more = "; --on uml has Linux modules, `bpftool struct_ops register` BPF programs" if source.library else ""
            raise ScenarioError(at, f'got "{name}", {what} of your own, wanted {accepted}{more}')
        return source.c_file

    def kernel_refusals(self) -> list[str]:
        """Reasons why no kernel takes controllers in our style by BPF that the simulator runs; none without clang."""
        from dumbbell import _native

        ours = [source for source in self.sources.values() if source.is_ours and not source.made]
        found = [(source.c_file, _native.kernel_refusal(source.c_file)) for source in ours]
        # An error elsewhere is one of the headers, which this machine lacks.
        return [
            f"{said.replace(' error: ', ' ', 1)}; a kernel does not take it by BPF (--on linux, --on bpf, `dumbbell"
            " kernel load`)"
            for file, said in found
            if said and said.startswith(f"{file}:")
        ]

    def native(self, hz: int, names: Iterable[str]) -> dict[str, Any]:
        """Controllers of the user's own with these names, as the engine takes them."""
        used = {name: self.sources[name] for name in names if name in self.sources}
        return {name: source.library(hz) if source.library else source.maker for name, source in used.items()}

    def program(self, names: Iterable[str]) -> str | None:
        """The program that has those with these names, None where none of them is in one; raises ScenarioError where
        they are in different files: the program has its own engine, which knows no other file.
        """
        files = {self.sources[name].record["file"]: self.sources[name] for name in names if name in self.sources}
        if not any(source.program for source in files.values()):
            return None
        if len(files) > 1:
            given = ", ".join(sorted(files))
            raise ScenarioError("--cca", f"got {given} in one run, wanted controllers of one file beside one in Rust")
        return next(iter(files.values())).program


def _load(file: Path, *, has_kernel: bool) -> list[Source]:
    if policy := shipped(str(file)):
        file = policy
    if file.suffix == ".py":
        return _python_file(file)
    if file.suffix == ".c":
        try:
            return [_compiled(file)]
        except ScenarioError as error:
            found = _of_kernel(file, error) if has_kernel else None
            if not found:
                raise
            return [found]
    if file.suffix == ENDING:
        from dumbbell.policy import file as policies

        return [_policy(policies.read(file), str(file))]
    if programs.is_program(file):
        return _program(file)
    accepted = "a C source (.c), a Python file (.py), a policy (.safetensors) or a program with controllers in Rust"
    raise ScenarioError("--cca", f'got "{file}", wanted {accepted}')


def _digest(file: Path) -> str:
    import hashlib

    try:
        return hashlib.sha256(read_bytes(file, SOURCE_MAX)).hexdigest()
    except UnreadableError as error:
        raise ScenarioError("--cca", f"got {show(str(file))} ({error}), wanted a C or Python source") from None


def _policy(policy: Policy, file: str) -> Source:
    """The controller of a policy that is in a file, by the C file that it is made into."""
    from dumbbell.policy import source as c
    from dumbbell.temporary import Temporary

    folder = Temporary("policy")
    made = c.write(policy, folder.path)
    source = _compiled(made, folder)
    record = {**source.record, "file": file, "sha256": policy.digest}
    return source._replace(record=record, made=str(made))


def _program(file: Path) -> list[Source]:
    """The controllers of a program in Rust, known by its content: another build is another controller."""
    import hashlib

    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return [
        Source(
            Controller(told.name, told.summary, told.summary, "", {}, [], 0),
            _record(told.name, str(file), digest, compiler="rustc"),
            None,
            None,
            program=str(file),
        )
        for told in programs.describe(file)
    ]


def _of_kernel(file: Path, error: ScenarioError) -> Source | None:
    """A Linux module that the simulator refuses, by what its text tells; None for what is no module."""
    from dumbbell import module_text

    digest, text = _digest(file), read_bytes(file, SOURCE_MAX).decode("utf-8", "replace")
    name = module_text.registered_name(text, file.stem)
    if not name or len(name) > NAME_MAX or "tcp_register_congestion_control" not in text:
        return None
    record = _record(name, str(file), digest, compiler=None)
    if beside := module_text.headers_beside(file, text):
        record["with"] = [{"file": str(path), "sha256": _digest(path)} for path in beside]

    def library(_: int) -> tuple[str, str | None]:
        raise error

    return Source(module_text.described(text, name), record, library, None, error)


def _lacking(headers: list[str], names: list[str]) -> str:
    """Say which headers and names that the simulator lacks the kernel of --on uml has."""
    from dumbbell.uml.has import told

    return told(headers, names) if headers or names else ""


def _compiled(file: Path, folder: Temporary | None = None) -> Source:
    """The controller of a C file, compiled in a folder that lives as long as it."""
    import threading

    from dumbbell.temporary import Temporary

    digest = _digest(file)  # before the compiler reads it: not every file has an end
    kept = folder or Temporary("cca")  # what `build` holds on to
    built: dict[int, tuple[str, str | None]] = {}
    alone = threading.Lock()  # runs that start at once ask for the same one

    def build(hz: int) -> dict[str, Any]:
        from dumbbell import _native

        place = kept.path / str(hz)
        place.mkdir()
        try:
            item: dict[str, Any] = json.loads(_native.build(str(file), str(place), hz))
        except _native.BuildError as error:
            text, headers, names = error.args
            raise ScenarioError("", text + _lacking(headers, names)) from None
        built[hz] = (item["library"], item["symbol"])
        return item

    def library(hz: int) -> tuple[str, str | None]:
        with alone:
            if hz not in built:
                build(hz)
            return built[hz]

    item = build(1000)
    record = _record(item["name"], str(file), digest, compiler=item["compiler"])
    if beside := [*item["companions"], *item["headers"]]:
        record["with"] = [{"file": path, "sha256": _digest(Path(path))} for path in beside]
    return Source(from_item(item), record, library, None)


def _record(name: str, file: str, digest: str | None, *, compiler: str | None) -> dict[str, Any]:
    return {"name": name, "file": file, "sha256": digest, "compiler": compiler, "replaces_built_in": name in known()}


def _python_file(file: Path) -> list[Source]:
    """The controllers of a Python file: its classes with `on_ack`; a class's `name` is its name, else its own in small
    letters.
    """
    import runpy

    digest, module = _digest(file), f"dumbbell_own_{file.stem}"
    try:
        with _bounded(file):
            space = runpy.run_path(str(file), run_name=module)
    except SyntaxError as error:
        place = ":".join(str(part) for part in (error.filename or file, error.lineno, error.offset) if part)
        raise ScenarioError("", f"{place}: error: {error.msg}") from None
    except (ScenarioError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a file that ends the program when it is imported is no controller
        raise ControllerError(str(file), error) from error
    classes = [v for v in space.values() if isinstance(v, type) and v.__module__ == module and hasattr(v, "on_ack")]
    if not classes:
        raise ScenarioError("--cca", f"{file}: has no class with a method `on_ack`")
    return [_python(getattr(one, "name", one.__name__.lower()), one, str(file), digest) for one in classes]


@contextmanager
def _bounded(file: Path) -> Iterator[None]:
    """A context that ends with ScenarioError when it has lasted for a minute; in the main thread, as Python has it."""
    import signal
    from threading import current_thread, main_thread

    def late(*_: object) -> None:
        raise ScenarioError("--cca", f"{file}: its import has not ended after {_IMPORT_MAX_S} s")

    if current_thread() is not main_thread() or signal.getsignal(signal.SIGALRM) != signal.SIG_DFL:
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, _IMPORT_MAX_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _python(name: str, maker: Callable[..., object], file: str, digest: str | None = None) -> Source:
    from inspect import getdoc

    if not isinstance(name, str) or not 0 < len(name.encode()) <= NAME_MAX or not name.isprintable():
        raise ScenarioError("controllers", f'got the name "{name}", wanted 1 to {NAME_MAX} bytes')
    if not callable(maker) or (isinstance(maker, type) and not hasattr(maker, "on_ack")):
        raise ScenarioError("controllers", f'"{name}": wanted a class with a method `on_ack`')
    doc = getdoc(maker) or ""
    summary = doc.split("\n\n")[0].replace("\n", " ").rstrip(".")
    description = Controller(name, summary, doc, "", _params(name, maker), [], 0)
    where = file or f"{getattr(maker, '__module__', '?')}.{getattr(maker, '__qualname__', name)}"
    return Source(description, _record(name, where, digest, compiler=None), None, maker)


def _params(name: str, maker: Callable[..., object]) -> dict[str, Param]:
    """Parameters of a Python controller: the arguments of `__init__`, whose defaults are whole numbers."""
    from inspect import signature

    params = {}
    for one in signature(maker).parameters.values():
        if one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) or not isinstance(one.default, int):
            raise ScenarioError(
                "controllers", f"{name}: __init__ takes `{one}`, wanted keywords with whole numbers as defaults"
            )
        params[one.name] = Param(one.name, int(one.default), *_INT64, "", "")
    return params


def with_candidate(
    given: str | None, files: Iterable[str | Path], *, on: str, at: str = "CCA"
) -> tuple[Own, str | None]:
    """The controllers of the user's own, and the name of the candidate, which may be in a file of its own: what was
    `given`, at an option `at`.
    """
    if given is None or not is_file(given):
        return Own.load(files, on=[on]), given
    return Own.load([*files, given], on=[on]), name_in(given, at)
