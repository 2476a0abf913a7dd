"""Quantities are parsed exactly, and only with their unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell import units
from dumbbell.units import UnitError


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("40Mbps", 40_000_000),
        ("1Gbit/s", 10**9),
        ("1.5 Gbps", 1_500_000_000),
        ("8.5Mbit", 8_500_000),
        ("0.1bps", None),
        ("3e3kbps", 3_000_000),
        ("1e-3Gbps", 1_000_000),
    ],
)
def test_rates_are_exact_whole_bits_per_second(text: str, bps: int | None) -> None:
    if bps is None:
        with pytest.raises(UnitError, match="not finer than 1 bit/s"):
            units.rate_bps(text)
    else:
        assert units.rate_bps(text) == bps


def test_decimal_prefixes_are_powers_of_1000_and_binary_ones_of_1024() -> None:
    assert units.size_bytes("1kB") == 1000
    assert units.size_bytes("1KiB") == 1024
    assert units.size_bytes("1.5MiB") == 3 * 2**19
    assert units.size_bytes("2pkt") == 3028


def test_no_digit_is_lost_to_floating_point() -> None:
    # 0.1 + 0.2 style: 1.000000001 s has no exact double, and 0.3 % of 10^9 would come out as 2999999.9999999995.
    assert units.span_ns("1.000000001s") == 1_000_000_001
    assert units.loss_ppb("0.3%") == 3_000_000
    assert units.loss_ppb(0.3) == 300_000_000
    assert units.loss_ppb(1e-9) == 1


@given(st.integers(0, 10**15), st.sampled_from(["ns", "us", "ms", "s"]))
def test_any_whole_number_of_any_time_unit_comes_back(count: int, unit: str) -> None:
    if count * units.NS[unit] <= units.MAX_INT:
        assert units.span_ns(f"{count}{unit}") == count * units.NS[unit]


@given(st.integers(0, 10**9))
def test_a_probability_written_as_percent_or_fraction_is_the_same(ppb: int) -> None:
    fraction = f"{ppb // 10**9}.{ppb % 10**9:09d}"
    percent = f"{ppb // 10**7}.{ppb % 10**7:07d}%"
    assert units.loss_ppb(fraction) == units.loss_ppb(percent) == ppb


@pytest.mark.parametrize(
    "text",
    [
        "",
        "40",
        "-1ms",
        "1,5ms",
        "ms",
        "1 2ms",
        "NaNms",
        "infs",
        "1e999s",
        "0x1ms",
        "1ms2",
        None,
        40,
        40.0,
        True,
        ["1ms"],
    ],
)
def test_what_is_no_time_with_a_unit_is_refused(text: object) -> None:
    with pytest.raises(UnitError):
        units.span_ns(text)


def test_amounts_that_no_table_can_hold_are_refused() -> None:
    with pytest.raises(UnitError, match=r"below 2\^63"):
        units.span_ns("1e12h")


@pytest.mark.parametrize(
    ("text", "measure"), [("1bdp", "bdp"), ("1BDP", "bdp"), ("7pkt", "pkt"), ("9kB", "bytes"), ("20ms", "ns")]
)
def test_a_buffer_is_measured_in_bdp_packets_bytes_or_time(text: str, measure: str) -> None:
    assert units.buffer(text)[0] == measure
