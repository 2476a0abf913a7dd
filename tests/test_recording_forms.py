"""Files of real tools: what each is taken for and why, what its values are, and what is refused with a word on what to
do.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dumbbell import ScenarioError, from_text
from dumbbell.cli import main
from dumbbell.runs import plan
from dumbbell.scenario import traces
from dumbbell.scenario.recordings import forms, headings, reader
from dumbbell.scenario.recordings.model import Choice, Recording

MS = 1_000_000
S = 10**9


def read(folder: Path, content: str | bytes, **choice: Any) -> Recording:
    """The recording in a file with this content."""
    (folder / "file").write_bytes(content if isinstance(content, bytes) else content.encode())
    return reader.read(folder / "file", "key", Choice(**choice), lambda option: f"key.{option}")


def refused(folder: Path, content: str | bytes, **choice: Any) -> str:
    """The error of a file, which is one line of a bounded length."""
    with pytest.raises(ScenarioError) as caught:
        read(folder, content, **choice)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 1_000
    assert text.isprintable()
    return text


def form(folder: Path, content: str | bytes, **choice: Any) -> str:
    (folder / "file").write_bytes(content if isinstance(content, bytes) else content.encode())
    return reader.form_of(folder / "file", "key", Choice(**choice))[0]


def points(found: Recording, name: str) -> list[tuple[int, int]]:
    return list(next(column for column in found.columns if column.name == name).points)


def values(found: Recording, name: str) -> list[int]:
    return [value for _, value in points(found, name)]


def times(found: Recording) -> list[int]:
    return [at for at, _ in found.columns[0].points]


def notes(found: Recording) -> str:
    return "; ".join(note.text for note in found.notes)


def warned(folder: Path, line: str, duration: str = "1s") -> tuple[str, ...]:
    """What a run warns of whose path has this line."""
    keys = {"rate": '"10Mbps"', "rtt": '"20ms"', "buffer": '"50pkt"'}
    key, value = line.split(" = ", 1)
    keys[key] = value
    path = "\n".join(f"{key} = {value}" for key, value in keys.items())
    text = f'duration = "{duration}"\n[path]\n{path}\n[[flow]]\ncca = "reno"\n'
    (made,) = plan.runs(from_text(text, folder=folder))
    return made.warnings


# --- Mahimahi traces -------------------------------------------------------------------------------------------------

WRITTEN_OTHERWISE = [
    "1\r\n2\r\n3\r\n", "\ufeff1\n2\n3\n", "1\n2\n3", "1\n2\n3\n\n", "1\n2\n\n3\n", "1 \n2\t\n3  \n", "# made by x\n1\n2\n3\n",
    "1\n# a\n2\n3\n", "\ufeff# a\r\n1\r\n2\r\n3\r\n\r\n", " 1\n 2\n 3\n", "\n\n1\n2\n3\n", "1\r\n2\r\n3", "001\n02\n+3\n",
]  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN_OTHERWISE)
def test_what_editors_add_to_a_mahimahi_trace_changes_nothing(text: str, tmp_path: Path) -> None:
    assert form(tmp_path, text) == form(tmp_path, text, quantity="rate") == "mahimahi"
    assert list(traces.read(tmp_path / "file", "rate").times_ms) == [1, 2, 3]
    said = refused(tmp_path, text, quantity="delay")
    assert "never fall: a Mahimahi trace" in said
    assert 'format = "leoreplayer"' in said


@pytest.mark.parametrize("text", WRITTEN_OTHERWISE)
def test_the_engine_reads_such_a_trace_as_well(text: str, tmp_path: Path) -> None:
    import dumbbell

    (tmp_path / "file").write_bytes(text.encode())
    path = '[path]\nrate = { trace = "file" }\nrtt = "20ms"\nbuffer = "50pkt"\n'
    (result,) = dumbbell.run(
        from_text(f'duration = "1s"\n{path}[[flow]]\ncca = "reno"\n', folder=tmp_path), tmp_path / "o"
    )
    assert result.summary.link.utilization > 0.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\n20\n300\n4", "line 4 is before its predecessor"),
        ("1\n20\n300\n299\n400\n500\n", "line 4 is before"),
        ("1\n2\nx\n4\n", "line 3 is no time in ms"),
        ("1\n2.5\n3\n4\n", "line 2 is no time in ms"),
        ("0\n0\n", "it has no length"),
        ("1\n2\n4294967296\n", "above 4294967295"),
    ],
)
def test_a_trace_that_is_cut_or_damaged_is_no_file_of_delays(text: str, said: str, tmp_path: Path) -> None:
    for choice in ({}, {"quantity": "rate"}, {"quantity": "rtt"}):
        assert said in refused(tmp_path, text, **choice)
    if text.endswith("\n4"):
        assert "is it cut?" in refused(tmp_path, text)


# --- Numbers without a heading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "0 4\n1 8\n2 2\n3 5\n", "0 30\n1 30\n2 200\n3 30\n", "0.0 4.5\n0.5 3\n", "0,10\n1,20\n", "0;1,5\n1;2,5\n", "0\t1\n1\t2\n",
        "24\n18\n30\n", "4.5\n3.25\n6\n", "0 4 50\n1 8 60\n2 9 50\n", "0 4 0 50\n1 8 0 60\n2 9 0 50\n", "1 2 3 4 5 6\n2 3 4 5 6 7\n",
        "# seconds Mbit/s\n0 4\n1 8\n", "\ufeff0 4\r\n1 8\r\n", "7.0 4646.6\n320.0 4646.6\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("quantity", [None, "rate", "rtt"])
def test_numbers_that_may_be_several_things_are_refused_with_what_they_may_be(
    text: str, quantity: str | None, tmp_path: Path
) -> None:
    if text == "24\n18\n30\n" and quantity == "rtt":
        return
    said = refused(tmp_path, text, quantity=quantity)
    assert "heading such as time_s,rate_mbps" in said or 'format = "' in said


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("0 4\n1 8\n2 2\n", "pensieve", [4_000_000, 8_000_000, 2_000_000]),
        ("0.0,4.5\n0.5,3\n", "pensieve", [4_500_000, 3_000_000]),
        ("0\t4\r\n1\t8\r\n", "pensieve", [4_000_000, 8_000_000]),
        ("1e0 1e1\n2 0.0001\n", "pensieve", [10_000_000, 0]),
        ("7.0 4646.670926517572\n320.0 4646.670926517572\n", "oboe", [4_646_671, 4_646_671]),
    ],
)
def test_two_columns_are_what_somebody_says(text: str, name: str, expected: list[int], tmp_path: Path) -> None:
    found = read(tmp_path, text, form=name)
    assert [value for _, value in found.columns[0].points] == expected


def test_delays_that_rise_and_fall_are_leoreplayers_where_a_delay_is_wanted_and_a_run_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("24\n18\n30\n")
    said = warned(tmp_path, 'rtt = { trace = "file", repeat = true }')
    assert len(said) == 1
    assert "taken for LeoReplayer's: its whole numbers, one a line, rise and fall" in said[0]
    assert warned(tmp_path, 'rtt = { trace = "file", repeat = true, format = "leoreplayer" }') == ()


def test_trains_of_packets_show_that_a_file_is_cellreplays(tmp_path: Path) -> None:
    assert form(tmp_path, "0 20 0 1 1\n100 40 0 2\n250 30 0\n") == "cellreplay"
    assert form(tmp_path, "0 20 0 1 1 2\n100 40 0 0 1 2\n250 30 0 1 4 4\n") == "cellreplay"
    assert "(cellreplay)" in refused(tmp_path, "0 20 0 1\n100 40 0 2\n250 30 0 1\n")


def test_columns_without_names_are_called_by_their_number(tmp_path: Path) -> None:
    text = "x1,0,5,40\nx1,1,6,50\n".replace("x1", "9")
    found = read(tmp_path, text, form="csv", time="2", time_unit="s", column="4", unit="ms")
    assert points(found, "4") == [(0, 40 * MS), (S, 50 * MS)]
    assert "`time` and `column` as numbers" in refused(tmp_path, text, form="csv")


# --- Tables: separators, quotes, marks -------------------------------------------------------------------------------

SAME = [
    "time_s,rate_mbps\n0,10.5\n1,12.5\n2,4.0\n", "time_s;rate_mbps\n0;10,5\n1;12,5\n2;4,0\n",
    "time_s\trate_mbps\n0\t10.5\n1\t12.5\n2\t4.0\n", "time_s rate_mbps\n0 10.5\n1  12.5\n2 4.0\n",
    '"time_s","rate_mbps"\n"0","10.5"\n"1","12.5"\n"2","4.0"\n', '"time_s";"rate_mbps"\r\n0;"10,5"\r\n1;"12,5"\r\n2;4\r\n',
    "\ufefftime_s,rate_mbps\r\n0,10.5\r\n1,12.5\r\n2,4.0\r\n\r\n", "# a remark\ntime_s,rate_mbps\n0,10.5\n# b\n1,12.5\n2,4\n",
    'note,time_s,rate_mbps\n"a, b",0,10.5\n"c ""d""",1,12.5\n"",2,4.0\n', "time_s, rate_mbps\n0, 10.5\n1, 12.5\n2, 4.0\n",
    "time_s,rate_mbps,\n0,10.5,\n1,12.5,\n2,4.0,\n", "time_s;rate_mbps\n0;10.5\n1;12.5\n2;4\n",
    "time_s\trate_mbps\n0\t10,5\n1\t12,5\n2\t4,0\n", 'time_s,rate_mbps,note\n0,10.5,"two\nlines"\n1,12.5,\n2,4,\n',
]  # fmt: skip


@pytest.mark.parametrize("text", SAME)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_separators_quotes_and_marks_make_no_difference(text: str, encoding: str, tmp_path: Path) -> None:
    found = read(tmp_path, text.encode(encoding))
    assert points(found, "rate_mbps") == [(0, 10_500_000), (S, 12_500_000), (2 * S, 4_000_000)]
    assert found.length_ns == 3 * S


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time_s\trate_mbps\n0\t1,500\n1\t2,000\n", "decimals or of thousands"),
        ("time_s;rate_mbps\n0;1.234,5\n", "the rate is no number"),
        ('time_s,rate_mbps\n0,"10,5"\n', "the rate is no number"),
        ('time_s,rate_mbps\n0,"1\n1,2\n', "a quote is not closed"),
        ('time_s,rate_mbps\n0,"1"2\n', "RFC 4180"),
        ("time_s,rate_mbps\n0,1,2\n", "line 2 has 3 cells, wanted 2"),
        ("time_s;rate_mbps\n0;1\n1\n", "line 3 has 1 cells, wanted 2"),
        ("time_s,rate_mbps\n0,1\n\n1,1\n", "line 3 is empty"),
        ("time_s,rate_mbps\n" + "0" * 10_001 + ",1\n", "over 10000 letters"),
        ("time_s,rate_mbps\n,1\n", "line 2 has no time"),
        ("just words here\n", "signs of no form"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused(text: str, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, text)


def test_a_decimal_comma_may_have_three_digits_where_semicolons_separate(tmp_path: Path) -> None:
    assert values(read(tmp_path, "time_s;rate_mbps\n0;1,500\n1;2,000\n"), "rate_mbps") == [1_500_000, 2_000_000]


# --- Tables: headings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heading", "quantity", "scale", "direction"),
    [
        ("latency_ms", "rtt", MS, ""), ("packet_loss_percent", "loss", 10**7, ""), ("bitrate_mbps", "rate", 10**6, ""),
        ("download_mbps", "rate", 10**6, "down"), ("upload_kbps", "rate", 1000, "up"), ("throughput_mbps", "rate", 10**6, ""),
        ("elapsed_s", "time", S, ""), ("rel_time_s", "time", S, ""), ("ThroughputMbps", "rate", 10**6, ""),
        ("DL_bitrate_kbps", "rate", 1000, "down"), ("RTT [ms]", "rtt", MS, ""), ("Round-trip time (ms)", "rtt", MS, ""),
        ("owd_down_us", "delay", 1000, "down"), ("Packet Loss (%)", "loss", 10**7, ""), ("time (ns GMT)", "time", 1, ""),
        ("seconds", "time", S, ""), ("avg_rtt_ms", "rtt", MS, ""), ("rate bits per second", "rate", 1, ""),
        ("downlink_throughput_Mbit/s", "rate", 10**6, "down"), ("ping_ms", "rtt", MS, ""), ("loss_ratio", "loss", 10**9, ""),
        ("speed_mbps", "rate", 10**6, ""), ("goodput (Gbps)", "rate", 10**9, ""), ("DL_MBPS", "rate", 10**6, "down"),
    ],
)  # fmt: skip
def test_headings_whose_name_and_unit_leave_no_doubt_are_known(
    heading: str, quantity: str, scale: int, direction: str
) -> None:
    found = headings.heading(heading)
    assert (found.quantity, found.scale, found.direction, found.problem) == (quantity, scale, direction, "")


@pytest.mark.parametrize(
    "heading",
    ["rtt", "Throughput", "packet_loss", "rate_MBps", "rate (MB/s)", "Timestamp", "bandwidth_kBps"],
)
def test_a_known_name_without_its_unit_is_a_problem(heading: str) -> None:
    found = headings.heading(heading)
    assert found.problem
    assert not found.scale


@pytest.mark.parametrize(
    "heading",
    ["speed", "rtt_min_ms", "rtt_max_ms", "jitter_ms", "wifi_rx_mbps", "download", "RSRP", "cpu_percent", "movingSpeed", "",
     "rate_ms", "queue_delay_max_ms", "bytes", "mbps", "delay_percent"],
)  # fmt: skip
def test_other_headings_are_not_guessed(heading: str) -> None:
    assert headings.heading(heading).quantity == ""


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("kbps", ("rate", 1000)), ("Mbps", ("rate", 10**6)), ("mbit/s", ("rate", 10**6)), ("MB/s", ("rate", 8 * 10**6)),
        ("kBps", ("rate", 8000)), ("B/s", ("rate", 8)), ("bytes/s", ("rate", 8)), ("bits/sec", ("rate", 1)), ("MBPS", ("rate", 10**6)),
        ("Gbit/s", ("rate", 10**9)), ("ms", ("time", MS)), ("µs", ("time", 1000)), ("sec", ("time", S)), ("%", ("loss", 10**7)),
        ("ppm", ("loss", 1000)), ("furlong", None), ("", None), ("b", None), ("kb", None), ("mbit", None),
    ],
)  # fmt: skip
def test_units_are_those_of_the_field(unit: str, expected: tuple[str, int] | None) -> None:
    assert headings.unit(unit) == expected


TOOLS = "stamp,x,Throughput,ping avg,lost\n1,a,5,40,1\n2,b,6,50,2\n"


def test_any_column_is_taken_by_its_name_and_unit(tmp_path: Path) -> None:
    given = {"time": "stamp", "time_unit": "s"}
    assert values(read(tmp_path, TOOLS, column="Throughput", unit="Mbps", **given), "Throughput") == [
        5_000_000,
        6_000_000,
    ]
    assert values(read(tmp_path, TOOLS, column="throughput", unit="kB/s", **given), "Throughput") == [40_000, 48_000]
    by_key = read(
        tmp_path,
        TOOLS.replace("a,", "7,"),
        column="x",
        unit="ms",
        quantity="delay",
        where=(("ping avg", "40"),),
        **given,
    )
    assert (by_key.columns[0].quantity, by_key.columns[0].points) == ("delay", ((0, 7 * MS),))
    assert read(tmp_path, TOOLS, column="ping avg", unit="ms", **given).columns[0].quantity == "rtt"
    assert read(tmp_path, TOOLS, column="lost", unit="%", **given).columns[0].quantity == "loss"


def test_the_unit_in_a_name_of_any_kind_counts(tmp_path: Path) -> None:
    found = read(tmp_path, "time_s,my own_kbps\n0,5000\n1,6000\n", column="my own_kbps")
    assert values(found, "my own_kbps") == [5_000_000, 6_000_000]


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({}, "no heading is a time such as time_s (stamp, x, Throughput, ping avg, lost); `time` says which (--time)"),
        ({"time": "stamp", "column": "lost", "unit": "%"}, "the times of stamp have no unit, which `time_unit` says"),
        ({"time": "none"}, 'key.time: got "none", wanted one of: stamp, x, Throughput, ping avg, lost'),
        ({"time": "stamp", "time_unit": "s"}, "Throughput has no unit, wanted one after its name"),
        ({"time": "stamp", "time_unit": "s", "column": "y"}, 'key.column: got "y", wanted one of: x, Throughput'),
        ({"time": "stamp", "time_unit": "s", "column": "lost"}, "key.unit: got null, wanted the unit of column lost"),
        ({"time": "stamp", "time_unit": "s", "column": "x", "unit": "ms"}, "line 2: the rtt is no number"),
        ({"time": "stamp", "time_unit": "s", "column": "lost", "unit": "ms", "quantity": "rate"}, "a column of a rate"),
        ({"time": "x", "column": "lost", "unit": "%"}, "line 2: x is no number and no date of a known form"),
        ({"time": "stamp", "time_unit": "s", "column": "lost", "unit": "%", "where": (("x", "z"),)}, "key.where: got"),
        (
            {"time": "stamp", "column": "lost", "unit": "%", "where": (("z", "z"),)},
            'key.where: got "z", wanted one of: stamp',
        ),
    ],
)
def test_what_a_table_lacks_is_said_with_its_headings_and_the_option(
    choice: dict[str, Any], said: str, tmp_path: Path
) -> None:
    assert said in refused(tmp_path, TOOLS, **choice)


def test_two_columns_of_times_are_a_question(tmp_path: Path) -> None:
    text = "timestamp,elapsed_s,rtt_ms\n1577836800,0,5\n1577836805,1,6\n"
    assert "2 headings are times (timestamp, elapsed_s)" in refused(tmp_path, text)
    assert read(tmp_path, text, time="elapsed_s").length_ns == 2 * S
    assert read(tmp_path, text, time="timestamp").length_ns == 10 * S


def test_rows_of_one_run_are_taken_where_several_are_in_a_file(tmp_path: Path) -> None:
    text = "run,time_s,rtt_ms\n1,0,5\n1,1,6\n2,0,7\n2,2,8\n"
    assert "`where` takes the rows of one run" in refused(tmp_path, text)
    assert points(read(tmp_path, text, where=(("run", "2"),)), "rtt_ms") == [(0, 7 * MS), (2 * S, 8 * MS)]


def test_a_scenario_takes_the_keys_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TOOLS)
    line = 'rate = { trace = "t.csv", time = "stamp", time_unit = "s", column = "Throughput", unit = "Mbps", repeat = true }'
    text = f'duration = "9s"\n[path]\n{line}\nrtt = "20ms"\nbuffer = "50pkt"\n[[flow]]\ncca = "reno"\n'
    (made,) = plan.runs(from_text(text, folder=tmp_path))
    assert made.plan["links"][0]["steps"] == [(0, 5_000_000), (S, 6_000_000)]  # type: ignore[index]
    loss = line.replace("rate =", "loss =").replace(
        'column = "Throughput", unit = "Mbps"', 'column = "lost", unit = "%"'
    )
    loss = loss.replace("repeat", 'where = { x = "a" }, repeat').replace("repeat = true", "repeat = false")
    (made,) = plan.runs(from_text(text.replace(line, f'rate = "1Mbps"\n{loss}'), folder=tmp_path))
    assert made.plan["flows"][0]["forward"][0]["steps"] == [(0, 10_000_000)]  # type: ignore[index]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('unit = "kbps"', "column next to unit"),
        ('column = "a", unit = "furlong"', "unit = one of: bps, kbps"),
        ('time_unit = "x"', "time_unit = one of: ns, us, ms, s"),
        ('where = "x"', "where = { run_num = 1 }"),
        ('format = "pcap"', 'format = one of: "csv", "iperf3"'),
        ("column = 3", "a column by its heading"),
    ],
)
def test_wrong_keys_of_a_table_are_errors(keys: str, said: str, tmp_path: Path) -> None:
    for line in (f'rate = {{ trace = "t", {keys} }}', f'loss = {{ trace = "t", {keys} }}'):
        text = f'duration = "9s"\n[path]\nrtt = "20ms"\nbuffer = "50pkt"\n{line}\n[[flow]]\ncca = "reno"\n'
        with pytest.raises(ScenarioError) as caught:
            from_text(text, folder=tmp_path)
        assert said in str(caught.value) or "loss" in line


# --- Tables: times, missing values, small rates ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "stamps",
    [
        ("2019.12.14_10.16.30", "2019.12.14_10.16.31", "2019.12.14_10.16.33"),
        ("2019-12-14 10:16:30.123", "2019-12-14 10:16:31.123", "2019-12-14 10:16:33.123"),
        ("2019-12-14T10:16:30Z", "2019-12-14T10:16:31Z", "2019-12-14T10:16:33Z"),
        ("2019-12-14T10:16:59.5+01:00", "2019-12-14T09:17:00.5+00:00", "2019-12-14T10:17:02.5+0100"),
        ("2019/12/31 23:59:59", "2020/01/01 00:00:00", "2020/01/01 00:00:02"),
        ("20191214T101630", "20191214T101631", "20191214T101633"),
        ("20191214101630.5", "20191214101631.5", "20191214101633.5"),
        ("14/12/2019 10:16:30", "14/12/2019 10:16:31", "14/12/2019 10:16:33"),
        ("12/14/2019 11:59:59 AM", "12/14/2019 12:00:00 PM", "12/14/2019 12:00:02 PM"),
        ("31.12.2019 23:59:59", "01.01.2020 00:00:00", "01.01.2020 00:00:02"),
        ("03/04/2019 10:16:30", "03/04/2019 10:16:31", "03/04/2019 10:16:33"),
        ("Sat Dec 14 10:16:30 2019", "Sat Dec 14 10:16:31 2019", "Sat Dec 14 10:16:33 2019"),
        ("14 Dec 2019 10:16:30", "14 Dec 2019 10:16:31", "14 Dec 2019 10:16:33"),
        ("23:59:59.5", "00:00:00.5", "00:00:02.5"),
        ("2019-12-14_10-16-30", "2019-12-14_10-16-31", "2019-12-14_10-16-33"),
        ("1576318590", "1576318591", "1576318593"),
        ("1576318590.25", "1576318591.25", "1576318593.25"),
        ("1576318590000", "1576318591000", "1576318593000"),
        ("1576318590000000", "1576318591000000", "1576318593000000"),
        ("1576318590000000000", "1576318591000000000", "1576318593000000000"),
    ],
)
def test_times_of_the_common_forms_count_from_the_first(stamps: tuple[str, ...], tmp_path: Path) -> None:
    text = "Timestamp;rtt_ms\n" + "".join(f"{stamp};{40 + i}\n" for i, stamp in enumerate(stamps))
    assert points(read(tmp_path, text), "rtt_ms") == [(0, 40 * MS), (S, 41 * MS), (3 * S, 42 * MS)]


@pytest.mark.parametrize(
    ("stamps", "said"),
    [
        (("03/04/2019 10:00:00", "04/04/2019 10:00:00"), "may be day/month or month/day"),
        (("13/04/2019 10:00:00", "04/13/2019 10:00:00"), "may be day/month or month/day"),
        (("2019-02-30 10:00:00", "2019-03-01 10:00:00"), "line 2: no such date"),
        (("2019-02-03 25:00:00", "2019-03-01 10:00:00"), "no date of a known form"),
        (("0", "1"), "the times of Timestamp have no unit"),
        (("yesterday", "today"), "no date of a known form"),
        (("1576318590", "x"), "line 3: the time is no number"),
        (("2019-12-14 10:16:30", "5"), "line 3: Timestamp is no number and no date"),
    ],
)
def test_times_that_leave_a_doubt_are_refused(stamps: tuple[str, ...], said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, "Timestamp,rtt_ms\n" + "".join(f"{stamp},40\n" for stamp in stamps))


def test_the_last_of_several_rows_of_one_time_counts_and_it_is_said(tmp_path: Path) -> None:
    found = read(tmp_path, "time_s,rtt_ms,rate_mbps\n0,1,1\n1,2,2\n1,-,3\n1,4,-\n2,5,4\n")
    assert points(found, "rtt_ms") == [(0, MS), (S, 4 * MS), (2 * S, 5 * MS)]
    assert points(found, "rate_mbps") == [(0, 10**6), (S, 3 * 10**6), (2 * S, 4 * 10**6)]
    assert found.length_ns == 3 * S
    assert "rows with the time of the row before, of which the last value counts: 2" in notes(found)
    assert any("the last value counts: 2" in said for said in warned(tmp_path, 'rtt = { trace = "file" }'))


@pytest.mark.parametrize("cell", ["", "-", "nan", "NaN", "NA", "N/A", "null", "NULL", "None", " "])
def test_a_cell_without_a_value_keeps_the_one_before_and_it_is_said(cell: str, tmp_path: Path) -> None:
    found = read(tmp_path, f"time_s,rtt_ms\n0,{cell}\n1,10\n2,{cell}\n3,30\n")
    assert points(found, "rtt_ms") == [(0, 10 * MS), (3 * S, 30 * MS)]
    assert "cells without a value, which keep the one before: 1" in notes(found)
    assert "cells before the first value, which take it: 1" in notes(found)


def test_rates_below_a_kilobit_are_outages_and_it_is_said(tmp_path: Path) -> None:
    found = read(tmp_path, "time_s,rate_kbps\n0,0.5\n1,1\n2,0\n3,0.999\n")
    assert values(found, "rate_kbps") == [0, 1000, 0, 0]
    assert "rates below 1 kbit/s, which are outages here: 2" in notes(found)
    assert any("outages here: 2" in said for said in warned(tmp_path, 'rate = { trace = "file", repeat = true }', "9s"))


# --- Logs and documents of tools -------------------------------------------------------------------------------------


def test_opportunities_of_mm_links_log_are_its_hash_lines_from_its_base(tmp_path: Path) -> None:
    text = (
        "# mahimahi mm-link (downlink) [link.down] > log\n# queue: droptail [packets=100]\n# base timestamp: 1000\n"
        "1012 # 1504\n1013 + 1504\n1014 - 1504 1\n1014 d 1 1504\n1250 # 1504\n".replace(
            "1014 d 1 1504\n", "1014 d 1504\n"
        )
    )
    found = read(tmp_path, text)
    assert (found.form, found.rows, found.length_ns) == ("mm-link", 2, 250 * MS)
    assert [value * span for (_, value), span in zip(found.columns[0].points, (1, 1, 0.5))] == [120_320, 0, 120_320]
    assert main(["trace", "convert", str(tmp_path / "file"), "--to", "mahimahi", "-o", str(tmp_path / "m")]) == 0
    assert (tmp_path / "m").read_text() == "12\n250\n"


BUSYBOX = """\
64 bytes from h (192.0.2.1): seq=0 ttl=55 time=12.5 ms
64 bytes from h (192.0.2.1): seq=1 ttl=55 time=13 ms
"""
WINDOWS = """\
Pinging x with 32 bytes of data:\r
Reply from 192.0.2.1: bytes=32 time=12ms TTL=55\r
Request timed out.\r
Reply from 192.0.2.1: bytes=32 time=14ms TTL=55\r
"""
ANSWER = "64 bytes from 192.0.2.1: icmp_seq={seq} ttl=63 time={rtt} ms\n"


@pytest.mark.parametrize(
    ("text", "at_s", "rtts_ms"),
    [
        ("PING x\n" + ANSWER.format(seq=1, rtt=60.6) + ANSWER.format(seq=2, rtt=56), [0, 1], [60.6, 56]),
        ("[100.5] " + ANSWER.format(seq=1, rtt=5) + "[100.75] " + ANSWER.format(seq=2, rtt=6), [0, 0.25], [5, 6]),
        (ANSWER.format(seq=0, rtt=1) + ANSWER.format(seq=3, rtt=2), [0, 3], [1, 2]),
        (ANSWER.format(seq=65535, rtt=1) + ANSWER.format(seq=0, rtt=2), [0, 1], [1, 2]),
        (ANSWER.format(seq=1, rtt=1) + ANSWER.format(seq=1, rtt=2).replace("ms", "ms (DUP!)") + ANSWER.format(seq=2, rtt=3),
         [0, 1], [1, 3]),
        (ANSWER.format(seq=1, rtt="60,5").replace("\n", "\r\n") + ANSWER.format(seq=2, rtt=1), [0, 1], [60.5, 1]),
        (BUSYBOX, [0, 1], [12.5, 13]),
        (WINDOWS, [0, 2], [12, 14]),
        (ANSWER.format(seq=1, rtt=1) + "no answer yet for icmp_seq=2\n" + ANSWER.format(seq=3, rtt=2), [0, 2], [1, 2]),
        ("64 bytes from fe80::1%eth0: icmp_seq=1 ttl=64 time=0.031 ms\n" + ANSWER.format(seq=2, rtt=1), [0, 1], [0.031, 1]),
    ],
)  # fmt: skip
def test_answers_of_ping_are_rtts(text: str, at_s: list[float], rtts_ms: list[float], tmp_path: Path) -> None:
    found = read(tmp_path, text)
    assert found.form == "ping"
    assert points(found, "rtt_ms") == [(round(at * S), round(rtt * MS)) for at, rtt in zip(at_s, rtts_ms)]


def test_requests_without_an_answer_are_said(tmp_path: Path) -> None:
    found = read(tmp_path, ANSWER.format(seq=1, rtt=1) + ANSWER.format(seq=5, rtt=1))
    assert "requests without an answer" in notes(found)
    assert ": 3" in notes(found)


def interval(start: float, end: float, bps: float, **more: Any) -> dict[str, Any]:
    return {
        "streams": [{"rtt": 20_000, "bits_per_second": bps}],
        "sum": {"start": start, "end": end, "bits_per_second": bps, **more},
    }


IPERF3 = {"start": {"test_start": {"protocol": "TCP"}}, "intervals": [interval(0, 1.0, 5e6), interval(1.0, 2.5, 7.5e6)]}


def test_intervals_of_iperf3_are_rates_and_rtts(tmp_path: Path) -> None:
    stream = "\n".join(json.dumps({"event": "interval", "data": one}) for one in IPERF3["intervals"])  # type: ignore[union-attr]
    for text in (json.dumps(IPERF3), json.dumps(IPERF3, indent=2), stream):
        found = read(tmp_path, text)
        assert (found.form, found.length_ns) == ("iperf3", 2_500_000_000)
        assert points(found, "sum.bits_per_second") == [(0, 5_000_000), (S, 7_500_000)]
        assert values(found, "streams.rtt") == [20 * MS, 20 * MS]


def test_omitted_intervals_of_iperf3_do_not_count(tmp_path: Path) -> None:
    given = {**IPERF3, "intervals": [interval(0, 1, 1e9, omitted=True), interval(0, 1, 5e6), interval(1, 2, 6e6)]}
    assert values(read(tmp_path, json.dumps(given)), "sum.bits_per_second") == [5_000_000, 6_000_000]


FLENT = {
    "version": 4,
    "metadata": {"SERIES_META": {"TCP upload": {"UNITS": "Mbits/s"}}},
    "x_values": [0.0, 0.2, 0.4],
    "results": {
        "Ping (ms) ICMP": [20.5, None, 22.5],
        "TCP download": [5, 6.5, None],
        "TCP upload": [1, 1, 1],
        "cwnd": [10, 11, 12],
    },
}


def test_flents_series_are_chosen_by_their_name(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps(FLENT).encode())
    found = read(tmp_path, packed)
    assert (found.form, found.rows, found.length_ns) == ("flent", 3, 600 * MS)
    assert points(found, "Ping (ms) ICMP") == [(0, 20_500_000), (400 * MS, 22_500_000)]
    assert [(one.name, one.quantity, one.direction) for one in found.columns] == [
        ("Ping (ms) ICMP", "rtt", ""), ("TCP download", "rate", "down"), ("TCP upload", "rate", "up"),
    ]  # fmt: skip
    assert found.ignored == ("cwnd",)
    assert values(read(tmp_path, packed, column="TCP download"), "TCP download") == [5_000_000, 6_500_000]
    assert (
        values(read(tmp_path, bz2.compress(json.dumps(FLENT).encode()), column="cwnd", unit="kbps"), "cwnd")[0]
        == 10_000
    )
    assert 'key.column: got "x", wanted one of: Ping (ms) ICMP' in refused(tmp_path, packed, column="x")
    assert "key.time: got" in refused(tmp_path, packed, time="x")


def trip(at_ns: int, rtt_ns: int, lost: str = "false") -> dict[str, Any]:
    made: dict[str, Any] = {"lost": lost, "timestamps": {"client": {"send": {"wall": at_ns, "monotonic": at_ns % S}}}}
    made["delay"] = {} if lost == "true" else {"rtt": rtt_ns, "send": rtt_ns // 4, "receive": rtt_ns * 3 // 4}
    return made


def test_irtts_round_trips_are_rtts_and_delays(tmp_path: Path) -> None:
    trips = [
        trip(1705744800 * S, 40 * MS),
        trip(1705744800 * S + 10 * MS, 0, "true"),
        trip(1705744800 * S + 20 * MS, 80 * MS),
    ]
    found = read(tmp_path, json.dumps({"version": 1, "stats": {}, "round_trips": trips}))
    assert points(found, "rtt_ns") == [(0, 40 * MS), (20 * MS, 80 * MS)]
    assert values(found, "delay_down_ns") == [30 * MS, 60 * MS]
    assert "lost packets, for which the value before them holds, as no losses: 1 of 3" in notes(found)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"start": {}, "intervals": []}, "iperf3's JSON without intervals"),
        ({"start": {}, "intervals": [{"streams": []}]}, "no sum of its streams"),
        ({"start": {}, "intervals": [interval(1, 2, 1), interval(0, 1, 1)]}, "interval 2 is before the one before it"),
        ({"start": {}, "intervals": [interval(0, 0, 1)]}, "ends before it begins"),
        ({"x_values": [], "results": {}}, "x_values or results are empty"),
        ({"x_values": [0, 1], "results": {"TCP download": [1]}}, "not as many values as there are times"),
        ({"x_values": [0, 1], "results": {"z": [1, 2]}}, "none of its series is a rate in Mbit/s or a ping"),
        ({"x_values": [0, 1], "results": {"TCP download": [1, "x"]}}, "a value of a series is no number"),
        ({"x_values": [0, 1], "results": {"TCP download": [True, 1]}}, "a value of a series is no number"),
        ({"round_trips": []}, "round trips are empty"),
        ({"round_trips": [{"lost": "false"}]}, "no time at which it was sent"),
        ({"round_trips": [trip(0, 1, "true")]}, "all of its packets are lost"),
        ({"some": "thing"}, "JSON of another kind than that of iperf3, flent or IRTT"),
        ([1, 2], "JSON of another kind"),
    ],
)
def test_documents_without_values_are_refused_with_what_they_are(document: object, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, json.dumps(document))


# --- What is not read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", "a capture (pcap)"), (b"\xa1\xb2\x3c\x4d\x00\x02", "a capture (pcap)"),
        (b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00", "a capture (pcapng)"), (b"PK\x03\x04\x14\x00", "a zip archive or a spreadsheet"),
        (b"\x28\xb5\x2f\xfd\x04", "packed by zstd: unpack it"), (b"\xfd7zXZ\x00\x00", "packed by xz"),
        (b"\x1f\x8b\x08\x00aaaa", "packed by gzip, and cut or damaged"), (gzip.compress(b"x" * 99)[:20], "cut or damaged"),
        (gzip.compress(b"\xd4\xc3\xb2\xa1\x02\x00"), "a capture (pcap)"), (gzip.compress(b"1\n2\n3\n"), "a packed Mahimahi trace"),
        (b"BZh91AY", "packed by bzip2, and cut or damaged"), (b"<!DOCTYPE html><html>", "a page in HTML"),
        (b"\n <html lang=en>", "a page in HTML"), (b"<?xml version='1.0'?>", "XML"), (b"PAR1\x15\x04", "a Parquet file"),
        (b"%PDF-1.7", "a PDF document"), (b"SQLite format 3\x00", "an SQLite database"), (b"\x89PNG\r\n", "a picture"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"), (b"a\x00b\x00", "no text"),
        (b"{\"start\": {}, \"interv", "looks like JSON and is none: is the file cut?"), (b"", "it is empty"), (b" \n\n", "it is empty"),
        (b"Connecting to host 192.0.2.1, port 5201\n[ ID] Interval\n", "run iperf3 with -J"), (b"\x93NUMPY\x01", "NumPy"),
        (b"x" * 257 + b"ustar\x00" + b"x" * 300, "a tar archive"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("given", [None, "csv"])
def test_a_file_that_is_not_read_is_named_with_what_to_do(
    data: bytes, said: str, given: str | None, tmp_path: Path
) -> None:
    if given and ("Mahimahi" in said or "JSON" in said or said == "it is empty"):
        return
    assert said in refused(tmp_path, data, form=given)


def test_what_unpacks_to_more_than_a_recording_has_is_refused(tmp_path: Path) -> None:
    assert "has more than 67.11 MB unpacked" in refused(tmp_path, gzip.compress(b"1\n" * (33 << 20), 1))


def test_only_regular_files_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, what in ((str(tmp_path / "pipe"), "a pipe"), ("/dev/zero", "a device"), (str(tmp_path), "a folder")):
        for action in (["info"], ["convert", "-o", "x"], ["plot", "-o", "x.svg"], ["info", "--format", "mahimahi"]):
            assert main(["trace", *action, name]) == 2
            assert f"it is {what}, wanted a regular file" in capsys.readouterr().err
        with pytest.raises(ScenarioError, match=f"it is {what}, wanted a regular file"):
            warned(tmp_path, f'rtt = {{ trace = "{name}" }}')
        text = f'duration = "1s"\n[path]\nrate = "1Mbps"\nrtt = "20ms"\nbuffer = "50pkt"\n[[arrivals]]\ncca = "reno"\nrate = 1\nsize = {{ file = "{name}" }}\n'
        with pytest.raises(ScenarioError):
            plan.runs(from_text(text, folder=tmp_path))


# --- What is said ----------------------------------------------------------------------------------------------------

HOSTILE = "\x1b[31mred\x1b[0m\x9b2J\u202e" + "x" * 9_000


def test_headings_of_strangers_reach_the_terminal_escaped_and_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text(f"time_s,{HOSTILE},rate_mbps,rtt {HOSTILE[:20]} ms\n0,1,1,1\n1,1,-,1\n")
    shown = [
        ["info"],
        ["info", "--column", HOSTILE[:3]],
        ["info", "--column", HOSTILE],
        ["convert", "-o", str(tmp_path / "o")],
    ]
    for action in shown:
        main(["trace", *action, str(file)])
        out, err = capsys.readouterr()
        for line in (out + err).splitlines():
            assert line.isprintable(), line
            assert len(line) < 700, line
    for key in ('column = "y"', ""):
        with pytest.raises(ScenarioError) as caught:
            warned(tmp_path, f'loss = {{ trace = "file", {key} }}')
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 1_000


def test_info_says_what_a_file_was_taken_for_why_and_how_to_say_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t").write_text("time_s,rate_mbps\n0,1\n1,2\n")
    assert main(["trace", "info", str(tmp_path / "t")]) == 0
    said = "taken for csv, because its first row names 2 columns, with commas between them; --format says otherwise"
    assert capsys.readouterr().out.endswith(f"\n{said}\n")
    assert main(["trace", "info", str(tmp_path / "t"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["why"] == said
    assert main(["trace", "info", str(tmp_path / "t"), "--format", "csv"]) == 0
    assert "taken for" not in capsys.readouterr().out


def test_each_form_is_on_the_page_of_recordings_with_what_shows_it() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs/recordings.md").read_text(encoding="utf-8")
    for one in forms.FORMS:
        assert f"| `{one.name}` | {one.recognised} |" in page


def test_a_conversion_that_would_not_end_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t").write_text("time_s,rate_mbps,rtt_ms\n0,100,5\n800000,90,5\n")
    for to, said in (("mahimahi", "at most 8000000 opportunities"), ("leoreplayer", "at most 1000000 times 10 ms")):
        assert main(["trace", "convert", str(tmp_path / "t"), "--to", to, "-o", str(tmp_path / "o")]) == 2
        assert said in capsys.readouterr().err
    (tmp_path / "t").write_text("time_s,rate_kbps\n0,1\n400000,1\n")
    assert main(["trace", "convert", str(tmp_path / "t"), "--to", "mahimahi", "-o", str(tmp_path / "o")]) == 0
    assert len((tmp_path / "o").read_text().splitlines()) == 800_000_000 // 12_112 + 1
