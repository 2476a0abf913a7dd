"""The command line as scripts see it: stdout is data, stderr is talk, exit statuses mean something."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, SMALL

KEYS = ["scenario", "vary", "repetition", "seed", "dir", "warnings", "wall_s", "link", "jain", "jain_flows", "flows"]
LINK = [
    "utilization",
    "queue_mean_ms",
    "queue_p50_ms",
    "queue_p95_ms",
    "queue_p99_ms",
    "sojourn_mean_ms",
    "sojourn_p50_ms",
    "sojourn_p95_ms",
    "sojourn_p99_ms",
    "drops",
    "marks",
    "drop_rate",
]
FLOW = [
    "name", "transport", "table", "cca", "rtt_ms", "goodput_mbps", "goodput_bytes", "share", "retrans_rate",
    "srtt_mean_ms", "srtt_p95_ms",
    "owd_mean_ms", "owd_p95_ms", "owd_p99_ms", "fct_s", "packets_sent",
]  # fmt: skip


def test_json_prints_one_object_per_run_and_nothing_else(cli: Any, small: Path) -> None:
    done = cli("run", small, "--out", "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["vary"] for line in lines] == [{"path.buffer": "0.5bdp"}, {"path.buffer": "2bdp"}]
    for line in lines:
        assert list(line) == KEYS
        assert list(line["link"]) == LINK
        assert [list(flow) for flow in line["flows"]] == [FLOW, FLOW]
        assert (small.parent / line["dir"] / "manifest.json").exists()
        assert sum(flow["share"] for flow in line["flows"]) == pytest.approx(1)
        assert 0.5 < line["link"]["utilization"] <= 1.01


def test_without_json_a_table_is_printed_and_show_prints_the_same(cli: Any, small: Path) -> None:
    done = cli("run", small, "--out", "out")
    assert done.returncode == 0
    assert "0.5bdp" in done.stdout
    assert "goodput" in done.stdout
    assert "\x1b[" not in done.stdout
    assert cli("show", "out").stdout == done.stdout


def test_without_out_results_get_a_numbered_folder(cli: Any, small: Path) -> None:
    for n in (1, 2):
        done = cli("run", small, "--json")
        assert [json.loads(line)["dir"].split("/")[:2] for line in done.stdout.splitlines()] == [
            ["results", f"small-{n}"]
        ] * 2


def test_overrides_change_the_plan_and_stand_in_the_manifest(cli: Any, small: Path) -> None:
    done = cli(
        "run",
        small,
        "--out",
        "out",
        "--json",
        "--set",
        "path.rate=10Mbps",
        "--set",
        'path.buffer=["1bdp"]',
        "--set",
        "flow[1].cca=reno",
    )
    (line,) = [json.loads(line) for line in done.stdout.splitlines()]
    manifest = json.loads((small.parent / line["dir"] / "manifest.json").read_text())
    assert manifest["plan"]["links"][0]["rate_bps"] == 10_000_000
    assert [flow["cca"] for flow in line["flows"]] == ["cubic", "reno"]
    assert manifest["set"] == ["path.rate=10Mbps", 'path.buffer=["1bdp"]', "flow[1].cca=reno"]
    assert manifest["scenario"] == SMALL


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "missing.toml"], "dumbbell: missing.toml: No such file or directory\n"),
        (["run", "bad.toml"], 'dumbbell: bad.toml:5: path.rate: got "40", wanted a rate'),
        (["check", "bad.toml"], 'dumbbell: bad.toml:5: path.rate: got "40", wanted a rate'),
        (
            ["run", "late.toml"],
            'dumbbell: late.toml:11: flow[0].start: got "2s", wanted every start before the end of the run (1 s)\n',
        ),
        (
            ["run", "small.toml", "--on", "linus"],
            (
                'dumbbell: --on: got "linus", wanted one of: "sim", "linux", "bpf", "uml", "uml-ours",'
                ' "netem", "ssh", "ray"; did you mean'
                ' "linux"?\n'
            ),
        ),
        (["run", "small.toml", "--jobs", "0"], "dumbbell run: argument --jobs: got 0, wanted a whole number from 1\n"),
        (["run", "small.toml", "--resume"], "dumbbell: --resume: wanted --out as well: the folder to resume\n"),
        (
            ["run", "small.toml", "--out", "."],
            (
                "dumbbell: .: holds bad.toml already; --resume runs only what is missing, --force replaces results, or"
                " choose "
            ),
        ),
        (
            ["run", "small.toml", "--set", "path"],
            'dumbbell: small.toml: --set: got "path", wanted KEY=VALUE, such as path.rate=10Mbps or flow[1].cca=bbr\n',
        ),
        (
            ["run", "small.toml", "--set", "flow[7].cca=bbr"],
            "dumbbell: small.toml: flow[7].cca: --set: there is no flow[7]\n",
        ),
        (
            ["plot", "pie", "."],
            (
                'dumbbell: KIND: got "pie", wanted one of: goodput, throughput, rtt, cwnd, inflight, queue, states,'
                " events, timeline, vary, tradeoff, fct, slowdown, latency, probes\n"
            ),
        ),
        (["cca", "show", "cubbic"], 'dumbbell: NAME: got "cubbic", wanted one of: '),
        (
            [],
            ("dumbbell: wanted a command: "),
        ),
        (
            ["sweep", "small.toml", "--vary", "buffer=1bdp,2bdp"],
            ("dumbbell: small.toml: buffer: unknown key, wanted one of: name,", '; did you mean "path.buffer"?\n'),
        ),
        (
            ["run", "small.toml", "--set", "bandwidth=1Mbps"],
            ("dumbbell: small.toml: bandwidth: unknown key", '; did you mean "path.rate"?\n'),
        ),
        (
            ["run", "small.toml", "--set", "cca=bbr"],
            ("dumbbell: small.toml: cca: unknown key", '; did you mean "flow[0].cca"?\n'),
        ),
        (
            ["cca", "show", "bbr4"],
            ('dumbbell: NAME: got "bbr4", wanted one of: ', '; did you mean "bbr3", "bbr2" or "bbr"?\n'),
        ),
        (
            ["new", "pair"],
            "dumbbell: got pair, wanted a scenario of the gallery: `dumbbell gallery` lists them; did you mean pair-cubic-bbr or orca/pairs?\n",
        ),
        (["run", "small.toml", "small.toml"], "dumbbell: FILE: small.toml is given twice\n"),
        (["rn"], 'dumbbell: there is no command "rn"; did you mean "run"?\n'),
        (["qqqqq"], 'dumbbell: there is no command "qqqqq"; `dumbbell help` lists them\n'),
    ],
)
def test_bad_input_is_status_2_and_one_line_on_stderr(
    cli: Any, small: Path, arguments: list[str], message: str | tuple[str, str]
) -> None:
    begin, end = message if isinstance(message, tuple) else (message, "\n")
    (small.parent / "bad.toml").write_text(SMALL.replace("20Mbps", "40"))
    (small.parent / "late.toml").write_text(
        SMALL.replace('"2s"', '"1s"').replace('cca = "cubic"', 'cca = "cubic"\nstart = "2s"')
    )
    done = cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(begin)
    assert done.stderr.endswith(end)
    assert done.stderr.count("\n") == 1


def test_a_folder_without_results_is_status_1(cli: Any) -> None:
    done = cli("show", ".")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "dumbbell: .: holds no results\n")


def test_what_stands_in_the_place_of_a_run_is_status_1(cli: Any, small: Path) -> None:
    (small.parent / "out").mkdir()
    (small.parent / "out" / "small_buffer=0.5bdp").write_text("in the way")
    (small.parent / "other.toml").write_text(SMALL.replace('"small"', '"other"'))
    done = cli("run", small, "--out", "out", "--resume", "--json")
    assert done.returncode == 1
    assert done.stderr == "dumbbell: out/small_buffer=0.5bdp: not a folder; choose another --out\n"


def test_resume_runs_what_is_missing_and_prints_all(cli: Any, small: Path) -> None:
    first = cli("run", small, "--out", "out", "--json").stdout
    assert cli("run", small, "--out", "out", "--json", "--resume").stdout == first


def test_several_files_run_together(cli: Any, small: Path) -> None:
    (small.parent / "other.toml").write_text(SMALL.replace('"small"', '"other"'))
    done = cli("run", small, "other.toml", "--out", "out", "--json")
    assert [json.loads(line)["scenario"] for line in done.stdout.splitlines()] == ["small", "small", "other", "other"]


def test_check_says_what_would_run(cli: Any) -> None:
    done = cli("check", ROOT / "scenarios" / "rtt-unfairness.toml")
    assert (done.returncode, done.stderr) == (0, "")
    plan_text = (
        done.stdout.rsplit("\n\n", 1)[0] + "\n"
    )  # the last paragraph tells the time that it takes on this machine
    assert plan_text == (ROOT / "tests" / "snapshots" / "check-rtt-unfairness.txt").read_text()
    assert "packets, " in done.stdout


MANY = """
name = "many"
duration = "10s"
[path]
rate = "10Mbps"
rtt = "20ms"
buffer = [$BUFFERS]
$FLOWS"""


def many(*, buffers: int, flows: int) -> str:
    """A scenario with so many combinations, each with so many kinds of flows."""
    tables = "".join(f'[[flow]]\ncca = "cubic"\nrtt = "{10 + i}ms"\n' for i in range(flows))
    listed = ", ".join(f'"{1 + i}bdp"' for i in range(buffers))
    return MANY.replace("$BUFFERS", listed).replace("$FLOWS", tables)


@pytest.mark.parametrize(("buffers", "flows"), [(40, 1), (1, 40), (30, 30)])
def test_check_is_short_however_much_there_is(cli: Any, tmp_path: Path, buffers: int, flows: int) -> None:
    (tmp_path / "many.toml").write_text(many(buffers=buffers, flows=flows))
    done = cli("check", "many.toml")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) < 42
    if buffers > 12:
        assert f"12bdp, ... and {buffers - 12} more\n" in done.stdout
        shown = done.stdout.count("path.buffer = ")
        assert f"\n  ... and {buffers - shown} more\n" in done.stdout
    if flows > 12:
        assert f"... and {flows - 12} more kinds of flow, {flows - 12} flows" in done.stdout


def test_check_shows_the_last_combination_rather_than_a_line_in_its_place(cli: Any) -> None:
    assert "more" not in cli("check", "gallery:kfoury-fig11a").stdout


def test_check_as_json_has_an_object_per_scenario(cli: Any, small: Path) -> None:
    done = cli("check", small, "gallery:poisson-short-flows", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["scenario"], first["runs"], first["warnings"]) == ("small", 2, [])
    assert first["packets"] > 0
    assert 0 < first["time_s"] < 60
    assert "path.buffer has no effect" in second["warnings"][0]


def test_plots_are_written_where_they_are_wanted(cli: Any, small: Path) -> None:
    cli("run", small, "--out", "out", "--json")
    done = cli("plot", "vary", "out", "-o", "vary.svg", "--jain")
    assert (done.returncode, done.stdout) == (0, "vary.svg\n")
    assert (small.parent / "vary.svg").read_text().startswith("<?xml")
    done = cli("plot", "rtt", "out", "--run", "small_buffer=2bdp")
    assert done.stdout == "out/small_buffer=2bdp/rtt.png\n"
    assert (small.parent / "out" / "small_buffer=2bdp" / "rtt.png").read_bytes()[:4] == b"\x89PNG"


def test_controllers_and_scenarios_are_listed_as_json(cli: Any) -> None:
    controllers = {line["name"]: line for line in map(json.loads, cli("cca", "list", "--json").stdout.splitlines())}
    assert controllers["cubic"]["parameters"]["beta"]["min"] < controllers["cubic"]["parameters"]["beta"]["max"]
    listed = [json.loads(line) for line in cli("gallery", "--json", "pair-cubic").stdout.splitlines()]
    assert "pair-cubic-bbr" in [line["name"] for line in listed]
    assert Path(listed[0]["file"]).is_file()


def test_controllers_are_listed_and_shown(cli: Any) -> None:
    names = [line.split()[0] for line in cli("cca", "list").stdout.splitlines()]
    assert {"reno", "cubic", "bbr"} <= set(names)
    for name in names:
        assert cli("cca", "show", name).stdout.startswith(f"{name} (")
    shown = cli("cca", "show", "cubic").stdout
    assert shown.endswith("""
Presets:
  chromium
      CUBIC of Chromium, which stands for two connections (Cubic of Zhang):
      beta = 870, friendly_connections = 2, hystart_detect = 2, hystart_once = 1
  linux-4.9
      CUBIC of Linux 4.9 (CUBIC of Borgli and Misund):
      hystart_half_train = 1
"""), shown


def test_the_version_names_package_engine_python_and_commit(cli: Any) -> None:
    assert [word for word in cli("--version").stdout.split() if word.isalpha()] == [
        "dumbbell",
        "engine",
        "python",
        "commit",
    ]


def test_pcap_writes_a_capture(cli: Any, small: Path) -> None:
    done = cli("run", small, "--out", "out", "--json", "--pcap", "--set", 'path.buffer="1bdp"')
    capture = small.parent / json.loads(done.stdout)["dir"] / "trace.pcap"
    assert capture.stat().st_size > 100_000


def test_ctrl_c_is_status_130_and_leaves_finished_runs_only(small: Path) -> None:
    text = (
        SMALL.replace('"2s"', '["1s", "86400s"]').replace('["0.5bdp", "2bdp"]', '"1bdp"') + '\n[record]\nevery = "1s"\n'
    )
    small.write_text(text)
    command = [sys.executable, "-m", "dumbbell", "run", "small.toml", "--out", "out", "--json"]
    process = subprocess.Popen(command, cwd=small.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["vary"] == {"duration": "1s"}
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert err == "dumbbell: interrupted; 1 of 2 runs are finished in out, --resume runs the rest\n"
    assert [path.name for path in (small.parent / "out").iterdir() if path.is_dir()] == ["small_duration=1s"]


def test_a_run_imports_nothing_that_it_does_not_need(small: Path) -> None:
    # Start-up is part of what a short run costs: these take 10 to 500 ms each.
    code = (
        "import sys; from dumbbell.cli import main; main(['run', 'small.toml', '--out', 'out', '--json', '--set',"
        " 'path.buffer=1bdp']); print(*({'numpy', 'pyarrow', 'polars', 'pandas', 'matplotlib', 'rich', 'pydantic',"
        " 'msgspec', 'dataclasses', 'inspect', 'subprocess', 'logging', 'asyncio', 'threading', 'fractions', 'decimal',"
        " 'difflib'} & set(sys.modules)), file=sys.stderr, end='')"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=small.parent,
        capture_output=True,
        text=True,
        check=False,
        env=_with_path(),
    )
    assert done.stderr == ""


def test_the_table_of_a_run_is_printed_without_arrays(small: Path) -> None:
    # numpy and pyarrow take as long to import as the rest of a short run, shutil three milliseconds.
    code = (
        "import sys; from dumbbell.cli import main; main(['run', 'small.toml', '--out', 'out', '--wide']);"
        " print(*({'numpy', 'pyarrow', 'shutil'} & set(sys.modules)), file=sys.stderr, end='')"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=small.parent, capture_output=True, text=True, check=True)
    assert (done.stdout.count("cubic"), done.stderr) == (2, "")


def _with_path() -> dict[str, str]:
    """The environment with this process's module path, as -S leaves the site's out (its own imports are none of
    ours).
    """
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
