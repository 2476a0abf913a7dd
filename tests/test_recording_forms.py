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

from dumbbell import ScenarioError, from_text, plan
from dumbbell.cli import main
from dumbbell.scenario import traces
from dumbbell.scenario.recordings import forms
from recorded_files import MS, S, form, notes, points, read, refused, values, warned

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
        (b"\x1f\x8b\x08\x00aaaa", "packed by gzip, and cut or damaged"), (gzip.compress(b"x" * 99, mtime=0)[:20], "cut or damaged"),
        (gzip.compress(b"\xd4\xc3\xb2\xa1\x02\x00", mtime=0), "a capture (pcap)"), (gzip.compress(b"1\n2\n3\n", mtime=0), "a packed Mahimahi trace"),
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
        text = 'duration = "1s"\n[path]\nrate = "1Mbps"\nrtt = "20ms"\nbuffer = "50pkt"\n[[flow]]\ncca = "reno"\n'
        text += f'arrivals = {{ rate = "1/s", sizes = {{ file = "{name}" }} }}\n'
        with pytest.raises(ScenarioError, match=f"it is {what}, wanted a regular file"):
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
