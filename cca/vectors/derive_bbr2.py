"""Derives the numbers in the vectors of bbr2, bbr2plus and bbr3 from the formulas, not from the C.

    python3 derive_bbr2.py       print every quantity that a vector's comment names

Quantities are exact fractions, rounded where the published modules round: bandwidth up to a
multiple of 2^-24 segments/us, BDP up, everything else down. Gains are in 1/256.
"""

from fractions import Fraction
from math import ceil, floor

UNIT = 2**24


def bw(delivered, interval_us):
    """Bandwidth sample in 2^-24 segments/us."""
    return ceil(Fraction(delivered * UNIT, interval_us))


def pacing(bandwidth, gain, margin=1, mss=1448):
    """Pacing rate in bytes/s; the product is cut to whole 2^-24 bytes/us before the margin."""
    rate = floor(Fraction(bandwidth * mss * gain, 256))
    return floor(Fraction(rate * (100 - margin) * 10000, UNIT))


def bdp(bandwidth, rtt_us, gain=256):
    """Segments that fill the path `gain` times."""
    return ceil(Fraction(floor(Fraction(bandwidth * rtt_us * gain, 256)), UNIT))


def burst(rate, rtt_us, mss=1448, shift=10):
    """Segments in a burst at a pacing rate: 2^-shift s of it, and 64 KiB halved per 512 us of RTT."""
    return max((floor(Fraction(rate, 2**shift)) + (65536 >> min(rtt_us >> 9, 32))) // mss, 2)


def headroom(inflight_hi):
    """inflight_hi less what is left to others when cruising."""
    return inflight_hi - max(inflight_hi * 38 // 256, 1)


def crossing(tx_in_flight, lost, segs, thresh=5):
    """Inflight at which the prefix of a lost burst made the loss rate reach thresh/256."""
    before, lost_before = tx_in_flight - segs, lost - segs
    budget = ceil(Fraction(before * thresh, 256))
    if lost_before >= budget:
        return before
    return before + floor(Fraction((budget - lost_before) * 256, 256 - thresh))


def less(value, share):
    """Value less a share of it in 1/256, cut."""
    return value * (256 - share) // 256


def main():
    """Print the quantities that the vectors' comments name."""
    b = bw(100, 10000)
    print("bw 100 per 10 ms", b, "in bytes/s", pacing(b, 256, 0))
    print("pacing", {g: pacing(b, g) for g in (739, 710, 320, 281, 256, 232, 230, 192, 88)})
    print("BDP", {g: bdp(b, 10000, g) for g in (739, 576, 512, 320, 256, 128)})
    print("burst", {g: burst(pacing(b, g), 10000) for g in (739, 710, 320, 281, 256, 232, 192)})
    print("initial rate, srtt 10 ms", pacing(10 * UNIT // 10000, 739), pacing(10 * UNIT // 10000, 710))
    print("headroom of 101", headroom(101), "of 119", headroom(119))
    print("crossing of 4 lost of 120", crossing(120, 4, 4), "6 of 120, 2 before", crossing(120, 6, 4))
    print("crossing at 20 %: 40 lost of 120", crossing(120, 40, 40, 51))
    print("0.7 of 201, 101", less(201, 76), less(101, 76), "of the bw", less(b, 76), pacing(less(b, 76), 256, 0))
    for n in (50, 60, 80, 90, 120, 124, 125, 126, 130):
        c = bw(n, 10000)
        print(n, "per 10 ms:", c, pacing(c, 256, 0), "BDP", bdp(c, 10000), bdp(c, 10000, 512))


if __name__ == "__main__":
    main()
