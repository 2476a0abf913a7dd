"""Tables of strangers: separators, quotes, names of columns, units, times, and cells without a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dumbbell import ScenarioError, from_text, plan
from dumbbell.scenario.recordings import headings
from recorded_files import MS, S, notes, points, read, refused, values, warned

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


def test_lost_packets_of_lens_are_missing_in_each_of_its_columns(tmp_path: Path) -> None:
    text = "timestamp,rtt,uplink,downlink\n1705744800000000000,40,25,15\n1705744801000000000,0,0,-1\n1705744802000000000,-1,0,0\n"
    assert values(read(tmp_path, text, column="rtt"), "rtt") == values(read(tmp_path, text), "rtt") == [40 * MS]
    assert values(read(tmp_path, text, column="uplink"), "uplink") == [25 * MS]


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
        (("0:05.3", "0:06.3"), "no date of a known form"),
        (("10:05", "10:06"), "no date of a known form"),
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
    assert "rows with the time of the row before (the last value counts): 2" in notes(found)
    assert any("the last value counts): 2" in said for said in warned(tmp_path, 'rtt = { trace = "file" }'))


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
