"""Help, completion and the man page: every command and option is in them."""

from __future__ import annotations

import ast
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dumbbell import cli as cli_folder


def test_words_do_what_options_do(cli: Any) -> None:
    assert cli("version").stdout == cli("--version").stdout != ""
    assert cli("help", "run").stdout == cli("run", "--help").stdout
    assert cli("help").stdout == cli("--help").stdout


def test_every_command_is_in_the_help_and_has_one_of_its_own() -> None:
    from importlib import import_module

    from dumbbell.cli import commands

    listed = commands.parser().format_help()
    for name in commands.COMMANDS:
        assert f"\n    {name}" in listed
        assert commands.parser(name).format_help().startswith(f"usage: dumbbell {name}")
    assert all(callable(getattr(import_module(f"dumbbell.cli.{module}"), name)) for module, name in entries())


def entries() -> Iterator[tuple[str, str]]:
    """The function that runs each command and action, and its module."""
    from dumbbell.cli import commands

    for name, command in commands.COMMANDS.items():
        inner = [action for action in commands.parser(name)._actions if action.dest == "action"]
        for action in inner[0].choices or () if inner else ("",):
            module, _, function = command.runs.format(action=action).partition(":")
            yield module, function


def test_only_the_entry_of_a_command_takes_its_arguments_unnamed() -> None:
    folder = Path(cli_folder.__file__ or "").parent
    takers = {
        (path.stem, function.name)
        for path in folder.glob("*.py")
        if path.stem != "__init__"  # which calls the entries
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        if any("Namespace" in ast.unparse(given.annotation or ast.Constant("")) for given in every(function.args))
    }
    assert takers == set(entries())


def every(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters of a function."""
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def test_the_help_of_plot_names_what_plots_can_draw() -> None:
    from dumbbell import plots
    from dumbbell.cli import commands

    help_text = " ".join(commands.parser("plot").format_help().split())
    assert all(kind in help_text for kind in plots.KINDS)


def commands_of_examples() -> list[list[str]]:
    """The words of every example, up to a pipe or a redirection, without the program's name."""
    from dumbbell.cli.commands import COMMANDS

    lines = [
        shlex.split(line.partition(" | ")[0].partition(" > ")[0]) for c in COMMANDS.values() for line in c.examples
    ]
    assert all(len(command.examples) >= 2 for command in COMMANDS.values())
    assert all(words[0] == "dumbbell" for words in lines)
    return [words[1:] for words in lines]


def test_every_command_has_two_examples_in_help_and_man_page_that_its_parser_takes() -> None:
    from dumbbell.cli import _parse, manual
    from dumbbell.cli.commands import COMMANDS, parser

    for words in commands_of_examples():
        assert _parse(words).command == ("version" if words == ["--version"] else words[0])
    page = list(manual.lines())
    for name, command in COMMANDS.items():
        for example in command.examples:
            assert f"  {example}\n" in parser(name).format_help()
            assert rf"\fB{manual.roff(example)}\fR" in page


#: Commands whose examples need a kernel, a terminal, a file of others, or long.
COSTLY = {
    "policy",
    "race",
    "search",
    "evaluate",
    "compare",
    "reproduce",
    "demo",
    "serve",
    "uml",
    "kernel",
    "shell",
    "fidelity",
    "export",
}


def test_the_examples_that_are_cheap_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dumbbell.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("class Mine:\n    def on_ack(self, sample):\n        return 10\n")
    short = ["--set", "duration=20s", "--set", "path.rate=10Mbps"]
    listed = [words for words in commands_of_examples() if words[0] not in COSTLY]
    for words in sorted(
        listed, key=lambda words: ["new", "run", "sweep"].index(words[0]) if words[0] in ("new", "run", "sweep") else 9
    ):
        assert main([*words, *(short if words[0] in ("run", "sweep") else [])]) == 0, words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_commands_and_options(cli: Any, shell: str) -> None:
    done = cli("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(word in done.stdout for word in ("compare", "resume", "force", "pair-cubic-bbr", "bbrplus"))


def test_fish_has_every_command_and_option(cli: Any) -> None:
    from dumbbell.cli.commands import COMMANDS, parser

    lines = cli("completion", "fish").stdout.splitlines()
    for name in COMMANDS:
        assert any(line.startswith(f"complete -c dumbbell -n '__dumbbell_at' -a '{name}' -d '") for line in lines), name
        below = "".join(line for line in lines if f"'__dumbbell_in {name}'" in line)
        for action in parser(name)._actions:
            for option in action.option_strings:
                assert f"{'-l' if option.startswith('--') else '-s'} {option.lstrip('-')} " in below, (name, option)
    assert any("'__dumbbell_at cca' -a 'show'" in line for line in lines)
    assert any("'__dumbbell_in cca show'" in line and " bbr3 " in line for line in lines)
    assert all(line.count("'") % 2 == 0 or "\\'" in line for line in lines)


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize(
    ("written", "offers", "offers_not"),
    [
        ("dumbbell ", ["race", "gallery"], ["list", "bbr3"]),
        ("dumbbell run --res", ["--resume"], []),
        ("dumbbell run --by ", ["table"], ["race"]),
        ("dumbbell run gallery:pair", ["gallery:pair-cubic-bbr"], []),
        ("dumbbell gallery pair", ["pair-cubic-bbr"], []),
        ("dumbbell cca ", ["list", "show"], ["race"]),
        ("dumbbell cca show bb", ["bbr3"], ["cubic"]),
        ("dumbbell race cubic bb", ["bbr3"], ["cubic"]),
    ],
)
def test_fish_completes(written: str, offers: list[str], offers_not: list[str], cli: Any, tmp_path: Path) -> None:
    (tmp_path / "words.fish").write_text(cli("completion", "fish").stdout)
    ask = f"source words.fish; complete -C '{written}'"
    done = subprocess.run(["fish", "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    offered = {line.split("\t")[0] for line in done.stdout.splitlines()}
    assert set(offers) <= offered
    assert not set(offers_not) & offered


def test_the_man_page_has_every_command_and_option_and_is_proper_roff(cli: Any, tmp_path: Path) -> None:
    from dumbbell.cli.commands import COMMANDS, parser

    done = cli("man")
    assert (done.returncode, done.stderr) == (0, "")
    page = done.stdout.replace("\\-", "-")
    for name in COMMANDS:
        assert f'.SH "dumbbell {name}"' in page
        options = {word for action in parser(name)._actions for word in action.option_strings} - {"-h", "--help"}
        assert not {option for option in options if option not in page}, name
    assert all(
        line.startswith((".SH", ".SS", ".TH", ".TP", ".PP", ".B"))
        for line in page.splitlines()
        if line.startswith((".", "'"))
    )
    if shutil.which("groff"):
        (tmp_path / "page").write_text(done.stdout)
        drawn = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "page"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert drawn.stderr == ""


def test_bash_completes(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "words.bash").write_text(cli("completion", "bash").stdout)
    ask = (
        ". ./words.bash; COMP_WORDS=(dumbbell run --res); COMP_CWORD=2; _shtab_dumbbell dumbbell --res run; echo"
        ' "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "--resume\n", done.stderr
