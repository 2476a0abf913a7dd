"""Scenarios drawn at random, for holding the simulator against Linux where nobody chose the place.

Rates of 1 to 500 Mbit/s, RTTs of 2 to 300 ms, buffers of 0.05 to 20 BDP and 1 to 40 flows, each on a logarithmic scale;
one or two controllers; some with a queue discipline, ECN, random loss, jitter, RTTs that differ, late flows or short
transfers. The same seed draws the same files, and a larger count only adds some.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

#: Controllers that a flow may have.
CONTROLLERS = ("reno", "cubic", "bbr", "htcp", "vegas", "bbr2", "bbr2plus", "bbrplus")
#: Queue disciplines with what switches their ECN on; fq and red below have none, or a size of their own.
QDISCS = ("codel", "fq_codel", "pie", "cake", "red", "fq")
FRAME_BITS = 1514 * 8
#: Packets of a run at most, unless the shortest time takes more: what makes a row affordable.
PACKETS = 400_000
#: Bytes that a buffer holds at most: a guest with more memory than that is not needed.
BUFFER_BYTES = 30_000_000


class _Path(NamedTuple):
    """A bottleneck in plain numbers."""

    rate_bps: int
    rtt_us: int
    buffer_bytes: int

    def packets(self, seconds: float) -> float:
        """Full frames that fit through it."""
        return self.rate_bps * seconds / FRAME_BITS


class _Draws:
    """Draws, all of them from `random()`, whose values no version of Python changes."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def log(self, least: float, most: float) -> float:
        """A value of a logarithmic scale."""
        return least * math.exp(self._random.random() * math.log(most / least))

    def one(self, of: Sequence[str]) -> str:
        return of[int(self._random.random() * len(of))]


def draw(seed: int, count: int) -> dict[str, str]:
    """Scenario texts by the name of their file."""
    return {f"random-{seed}-{i:03}": _scenario(_Draws(f"{seed}/{i}")) for i in range(count)}


def write(seed: int, count: int, folder: Path) -> list[Path]:
    """The same as files in `folder`, in order."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in draw(seed, count).items():
        files.append(folder / f"{name}.toml")
        files[-1].write_text(text, encoding="utf-8")
    return files


def _scenario(draws: _Draws) -> str:
    path = _path(draws)
    is_short = draws.chance(0.15)
    qdisc, is_ecn = _qdisc(draws, path)
    lines = ["[path]", f'rate = "{path.rate_bps}bps"', f'rtt = "{path.rtt_us}us"', f'buffer = "{path.buffer_bytes}B"']
    lines += [f"qdisc = {qdisc}"] if qdisc else []
    lines += [f'loss = "{draws.log(0.01, 3):.4f}%"'] if draws.chance(0.15) else []
    if draws.chance(0.08):
        spread, reorder = round(path.rtt_us * draws.log(0.02, 0.4)), str(draws.chance(0.5)).lower()
        lines.append(f'jitter = {{ kind = "uniform", spread = "{spread}us", reorder = {reorder} }}')
    lines += ["", "[host]", f'qdisc = "{"fq" if draws.chance(0.8) else "pfifo"}"']
    lines += [f"arp = {str(draws.chance(0.5)).lower()}", f"ecn = {str(is_ecn).lower()}", 'start_jitter = "5ms"']
    duration_s = _duration_s(path, is_short=is_short)
    return "\n".join(
        [f'duration = "{duration_s}s"', "", *lines, *_flows(draws, path, duration_s, is_short=is_short), ""]
    )


def _path(draws: _Draws) -> _Path:
    rate_bps, rtt_us = round(draws.log(1e6, 500e6), -3), round(draws.log(2e3, 300e3))
    buffer_bytes = round(rate_bps / 8 * rtt_us / 1e6 * draws.log(0.05, 20))
    return _Path(int(rate_bps), rtt_us, min(max(buffer_bytes, 4 * 1514), BUFFER_BYTES))


def _qdisc(draws: _Draws, path: _Path) -> tuple[str, bool]:
    """A queue discipline as the file has it, none for drop tail; and whether the flows negotiate ECN."""
    if not draws.chance(0.25):
        return "", False
    kind, is_ecn = draws.one(QDISCS), draws.chance(0.4)
    if kind == "red":
        least = min(max(path.buffer_bytes // 12, 3 * 1514), 250_000)  # tc holds no larger averages
        ecn = str(is_ecn).lower()
        return (
            f'{{ kind = "red", limit = "{12 * least}B", min = "{least}B", max = "{3 * least}B", ecn = {ecn} }}',
            is_ecn,
        )
    if kind in ("cake", "fq"):
        return f'"{kind}"', is_ecn
    return f'{{ kind = "{kind}", ecn = {str(is_ecn).lower()} }}', is_ecn


def _duration_s(path: _Path, *, is_short: bool) -> int:
    """At least 10 s and 40 RTTs; up to a minute and 200 RTTs while these are at most `PACKETS`."""
    least = max(10.0, 40 * path.rtt_us / 1e6)
    if is_short:
        return math.ceil(least + 20)
    wanted = min(max(15.0, 200 * path.rtt_us / 1e6), 60.0)
    return math.ceil(max(least, min(wanted, wanted * PACKETS / path.packets(wanted))))


def _flows(draws: _Draws, path: _Path, duration_s: int, *, is_short: bool) -> list[str]:
    """One or two [[flow]] tables; no flow has less than 100 kbit/s of the bottleneck."""
    most = 4 if is_short else max(1, min(40, path.rate_bps // 100_000))
    count = round(draws.log(1, most))
    first = draws.one(CONTROLLERS)
    if count == 1 or draws.chance(0.35):
        return _flow(draws, path, first, count, is_short=is_short)
    second = draws.one(CONTROLLERS)
    lines = _flow(draws, path, first, count - count // 2, is_short=is_short)
    lines += _flow(draws, path, second, count // 2, is_short=is_short)
    if draws.chance(0.25):
        lines.append(f'rtt = "{round(min(max(path.rtt_us * draws.log(0.25, 4), 2e3), 300e3))}us"')
    start_ms = 300 * duration_s if draws.chance(0.15) and not is_short else round(draws.log(20, 400))
    return [*lines, f'start = "{start_ms}ms"']


def _flow(draws: _Draws, path: _Path, cca: str, count: int, *, is_short: bool) -> list[str]:
    lines = ["", "[[flow]]", f'cca = "{cca}"']
    if count > 1:
        lines += [f"count = {count}", f'spacing = "{round(draws.log(5, 200))}ms"']
    if is_short:
        most = max(40_000, min(20_000_000, path.rate_bps / 8 * 4))  # each alone takes some seconds
        lines.append(f'size = "{round(draws.log(20_000, most))}B"')
    return lines
