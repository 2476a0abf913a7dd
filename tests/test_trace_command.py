"""`dumbbell trace`: what recordings hold, in other forms and as a picture, and synthetic ones that are the same each
time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TABLE = "time_s,rate_mbps,rtt_ms,loss_percent\n0,20,40,0\n2,5,80,0.5\n4,30,20,0\n6,10,60,1\n"


def info(cli: Any, name: str, *more: str) -> Any:
    return json.loads(cli("trace", "info", name, "--json", *more).stdout)


def test_a_synthetic_trace_is_the_same_each_time(cli: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert (
            cli("trace", "wifi", "--mean", "5Mbps", "--length", "2s", "--seed", "7", "-o", name).stdout == f"{name}\n"
        )
    times = [int(line) for line in (tmp_path / "a").read_text().splitlines()]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert times == sorted(times)
    assert len(times) * 1500 * 8 / times[-1] * 1000 == pytest.approx(5e6, rel=0.02)
    assert cli("trace", "lte", "--mean", "5", "-o", "c").stderr.startswith('dumbbell: --mean: got "5", wanted a rate')


@pytest.mark.parametrize("kind", ["leo", "5g"])
def test_a_synthetic_path_is_the_same_each_time_and_has_its_mean(kind: str, cli: Any, tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        cli("trace", kind, "--mean", "50Mbps", "--length", "20s", "--seed", str(seed), "-o", name)
    texts = [(tmp_path / name).read_text() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]
    for text in texts:
        rows = [line.split(",") for line in text.splitlines()[1:]]
        assert len(rows) == 1000
        assert sum(float(row[1]) for row in rows) / 1000 == pytest.approx(50, rel=1e-3)


def test_the_gallerys_paths_are_what_the_command_writes(cli: Any, tmp_path: Path) -> None:
    folder = Path(__file__).parents[1] / "scenarios/traces"
    for kind, seed in (("leo", "1"), ("5g", "2")):
        cli("trace", kind, "--seed", seed, "-o", "made")
        assert (tmp_path / "made").read_bytes() == (folder / f"{kind}.csv").read_bytes()


def test_figures_of_a_table_count_how_long_each_value_holds(cli: Any, tmp_path: Path) -> None:
    # 10 ms for 1 s, 30 ms for 3 s, 50 ms for 3 s (as long as the row before).
    (tmp_path / "t.csv").write_text("time_s,rtt_ms\n5,10\n6,30\n9,50\n")
    found = info(cli, "t.csv")
    (rtt,) = found["series"]
    assert found["length_s"] == 7
    assert rtt["mean"] == pytest.approx((10 + 3 * 30 + 3 * 50) / 7)
    assert (rtt["min"], rtt["p5"], rtt["p50"], rtt["p95"], rtt["max"]) == (10, 10, 30, 50, 50)


def test_figures_of_a_mahimahi_trace_count_opportunities(cli: Any, tmp_path: Path) -> None:
    # 3 in the first 100 ms, none in the second, 1 in the third, whose last is the end.
    (tmp_path / "m").write_text("10\n20\n99\n300\n")
    found = info(cli, "m", "--opportunity", "1500B")
    (rate,) = found["series"]
    assert (found["format"], found["length_s"], found["rows"]) == ("mahimahi", 0.3, 4)
    assert rate["mean"] == pytest.approx(4 * 1500 * 8 / 0.3 / 1e6)
    assert (rate["min"], rate["max"]) == (0, pytest.approx(3 * 1500 * 8 / 0.1 / 1e6))
    assert found["gaps"] == [[0.099, 0.201]]


def test_whole_numbers_that_fall_are_what_somebody_says(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "delay_1.txt").write_text("24\n18\n30\n")
    refused = cli("trace", "info", "delay_1.txt")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert 'LeoReplayer\'s delays, perhaps: format = "leoreplayer" (--format) says so' in refused.stderr
    assert info(cli, "delay_1.txt", "--format", "leoreplayer")["format"] == "leoreplayer"
    (tmp_path / "bw_1.txt").write_text("18\n24\n30\n")
    assert info(cli, "bw_1.txt")["format"] == "mahimahi"
    assert info(cli, "bw_1.txt", "--format", "leoreplayer")["series"][0]["mean"] == 24


def test_whole_numbers_that_never_fall_say_what_they_were_taken_for(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "d").write_text("25\n" * 100)
    (tmp_path / "long").write_text("1\n60001\n")
    said = "taken for a Mahimahi trace, because its numbers never fall; --format leoreplayer takes them for delays"
    assert cli("trace", "info", "d").stdout.endswith(f"\n{said}\n")
    assert said in info(cli, "d")["notes"]
    assert said not in info(cli, "long")["notes"]
    for action in (("convert", "-o", "o.csv"), ("plot", "-o", "o.svg")):
        assert f"dumbbell: d: {said}\n" in cli("trace", *action, "d").stderr
        assert cli("trace", *action, "d", "--format", "leoreplayer").stderr == ""
    assert info(cli, "o.csv")["length_s"] == 1
    assert said not in cli("trace", "info", "d", "--format", "mahimahi").stdout


def test_a_rate_becomes_opportunities_without_losing_a_bit(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    made = cli("trace", "convert", "t.csv", "--to", "mahimahi", "--opportunity", "1500B", "-o", "m")
    times = [int(line) for line in (tmp_path / "m").read_text().splitlines()]
    # By 2 s 20 Mbit/s gave 40 Mbit, and so on: whole opportunities of 12 kbit by each time.
    for second, mbit in ((2, 40), (4, 50), (6, 110), (8, 130)):
        assert sum(ms <= second * 1000 for ms in times) == pytest.approx(mbit * 1e6 / 12_000, abs=1)
    assert times[-1] == 8000
    assert "lost: column rtt_ms: a file of mahimahi has no place for it" in made.stderr


def test_a_mahimahi_trace_stays_as_it_is_unless_bins_are_asked_for(cli: Any, tmp_path: Path) -> None:
    times = "3\n3\n90\n150\n250\n250\n"
    (tmp_path / "m").write_text(times)
    made = cli("trace", "convert", "m", "--to", "mahimahi", "-o", "o")
    assert (tmp_path / "o").read_text() == times
    assert made.stderr == ""
    made = cli("trace", "convert", "m", "--to", "mahimahi", "--bin", "100ms", "-o", "o")
    assert (tmp_path / "o").read_text() == "34\n67\n100\n200\n225\n250\n"
    assert "lost: m: the times of single opportunities, which are spread evenly over a bin (--bin)" in made.stderr


def test_delays_become_leoreplayers_in_whole_milliseconds(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_ms,delay_ms\n0,20.4\n15,30\n20,7.5\n30,1\n")
    made = cli("trace", "convert", "t.csv", "--to", "leoreplayer", "-o", "d")
    # Values at 0, 10, 20 and 30 ms; that of 15 ms holds at none of these.
    assert (tmp_path / "d").read_text() == "20\n20\n8\n1\n"
    assert "lost: up to 500 us of a delay" in made.stderr
    assert "lost: 1 values between the times of 10 ms" in made.stderr


def test_a_pair_of_leoreplayers_files_becomes_one_table_that_gives_the_same_steps(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "bw").write_text("".join(f"{ms}\n" for ms in range(1, 201) for _ in range(1 + ms // 101)))
    (tmp_path / "delay").write_text("24\n18\n" * 10)
    forms = ("--format", "mahimahi", "--format", "leoreplayer")
    cli("trace", "convert", "bw", "delay", *forms, "-o", "t.csv", "--opportunity", "1500B")
    found = info(cli, "t.csv")
    assert found["length_s"] == 0.2
    by_name = {one["name"]: one for one in found["series"]}
    assert by_name["rate_mbps"]["mean"] == pytest.approx(300 * 12_000 / 0.2 / 1e6, rel=0.02)
    assert (by_name["delay_ms"]["mean"], by_name["delay_ms"]["min"]) == (21, 18)


def test_cellreplays_trains_are_lost_with_a_word(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "down").write_text("0 20 0 1\n100 40 0 2 2\n200 30 0 1\n")
    made = cli("trace", "convert", "down", "-o", "t.csv")
    assert made.stderr.splitlines() == [
        "dumbbell: lost: down: packet trains of 3 rows (the rate under light load)",
        "dumbbell: lost: column delay_ms: the value at its very end (30 ms at 200 ms), to which `interpolate` draws",
    ]
    made = cli("trace", "convert", "down", "--to", "leoreplayer", "-o", "d")
    assert "lost: column delay_ms: the value at its very end (30 ms at 200 ms)" in made.stderr
    assert "values between the times" not in made.stderr
    assert info(cli, "t.csv")["series"][0]["mean"] == pytest.approx(30)


@pytest.mark.parametrize(
    ("name", "text", "arguments", "message"),
    [
        ("t.csv", "time_s,rtt_ms\n0,x\n", ("info",), "line 2: the rtt is no number"),
        ("none", None, ("info",), "No such file or directory"),
        ("m", "1\nx\n", ("info",), "line 2 is no time in ms"),
        ("t.csv", "time_s,rtt_ms\n0,5\n1,5\n", ("convert", "--to", "mahimahi", "-o", "o"), "wanted a file with one rate"),
        ("t.csv", TABLE, ("info", "--column", "x"), '--column: got "x", wanted one of: rate_mbps'),
        ("t.csv", TABLE, ("info", "--bin", "5"), "--bin: got"),
        ("t.csv", TABLE, ("plot", "-o", "o.txt"), "--output: got"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_an_error_of_one_line(
    name: str, text: str | None, arguments: tuple[str, ...], message: str, *, cli: Any, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    action, *more = arguments
    ended = cli("trace", action, name, *more)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_a_picture_has_a_row_for_each_quantity(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    assert cli("trace", "plot", "t.csv", "-o", "t.svg").stdout == "t.svg\n"
    drawn = (tmp_path / "t.svg").read_text()
    assert drawn.count('<g id="axes_') == 3
    cli("trace", "plot", "t.csv", "-o", "again.svg")
    assert drawn == (tmp_path / "again.svg").read_text()
