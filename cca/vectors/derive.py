"""Derives expected values of the vectors from the formulas, independently of the C sources.

    python3 derive.py            print every value that a vector says comes from here

CUBIC is written from RFC 9438 and the rounding rules of Linux, in Python's unbounded integers and
with a cube root by bisection; BBR's quantities are exact fractions, rounded where BBR rounds.
"""

from fractions import Fraction
from math import ceil, floor

HEADER = 320  # MAX_TCP_HEADER, bytes


def cube_root(a: int) -> int:
    """Return floor(a ** (1/3)), by bisection."""
    low, high = 0, 1 << 22
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= a else (low, middle - 1)
    return low


class Cubic:
    """CUBIC in congestion avoidance after a reduction; time in ms, HZ ticks a second."""

    def __init__(self, cwnd, w_max, *, hz=1000, friendly=True, rtt_ms=0, beta=717, flows=1):
        self.cwnd, self.w_max, self.hz, self.friendly = cwnd, w_max, hz, friendly
        self.rtt_ticks = ceil(Fraction(rtt_ms * hz, 1000))
        self.flows = flows
        self.alpha_count = 8 * (1024 + beta) // 3 // (1024 - beta)
        self.credit = self.acked_unseen = self.looked_cwnd = self.looked_at = 0
        self.epoch = None

    def target(self, tick):
        """Window that the curve gives at `tick`."""
        t = (tick - self.epoch + self.rtt_ticks) * 1024 // self.hz
        distance = 410 * abs(t - self.k) ** 3 // 2**40
        return self.origin - distance if t < self.k else self.origin + distance

    def look_up(self, tick, acked):
        """Read the curve again: the count of segments per one of growth."""
        if self.epoch is None:
            self.epoch, self.acked_unseen, self.reno = tick, acked, self.cwnd
            below = self.w_max > self.cwnd
            self.k = cube_root(2**40 // 410 * (self.w_max - self.cwnd)) if below else 0
            self.origin = self.w_max if below else self.cwnd
        target = self.target(tick)
        self.count = self.cwnd // (target - self.cwnd) if target > self.cwnd else 100 * self.cwnd
        if self.w_max == 0:
            self.count = min(self.count, 20)

    def idle(self, ms):
        """Shift the epoch by an idle time."""
        self.epoch += ms * self.hz // 1000

    def ack(self, ms, acked):
        """Deliver `acked` segments at `ms`."""
        tick = ms * self.hz // 1000
        self.acked_unseen += acked
        if not (self.looked_cwnd == self.cwnd and tick - self.looked_at <= self.hz // 32):
            if self.epoch is None or tick != self.looked_at:
                self.looked_cwnd, self.looked_at = self.cwnd, tick
                self.look_up(tick, acked)
            if self.friendly:
                per_segment = self.cwnd * self.alpha_count // 8 // self.flows**2
                while self.acked_unseen > per_segment:
                    self.acked_unseen -= per_segment
                    self.reno += 1
                if self.reno > self.cwnd:
                    self.count = min(self.count, self.cwnd // (self.reno - self.cwnd))
            self.count = max(self.count, 2)
        if self.credit >= self.count:
            self.credit, self.cwnd = 0, self.cwnd + 1
        self.credit += acked
        self.cwnd += self.credit // self.count
        self.credit %= self.count


def cubic_growth(cwnd, w_max, *, every_ms, acked, seconds, **options):
    """Window after each whole second of one ACK of `acked` segments per `every_ms`."""
    flow, windows = Cubic(cwnd, w_max, **options), []
    for ms in range(1000, 1000 + seconds * 1000, every_ms):
        flow.ack(ms, acked)
        if (ms + every_ms) % 1000 == 0:
            windows.append(flow.cwnd)
    return windows


def cubic_growth_with_idle_second(idle_ms):
    """Window after 1 s of ACKs, an idle time, and 1 s more."""
    flow = Cubic(700, 1000, friendly=False)
    for ms in range(1000, 2000, 10):
        flow.ack(ms, 100)
    before = flow.cwnd
    flow.idle(idle_ms)
    for ms in range(2000 + idle_ms, 3000 + idle_ms, 10):
        flow.ack(ms, 100)
    return before, flow.cwnd


def cubic_throttled():
    """Windows after ACKs at 0, 31 and 32 ms; the last of these looks the curve up."""
    flow, windows = Cubic(70000, 100000, friendly=False), []
    for ms, acked in ((1000, 1), (1031, 1060), (1032, 1)):
        flow.ack(ms, acked)
        windows.append((flow.cwnd, flow.credit, flow.count))
    return windows


def bw(delivered, interval_us):
    """Bandwidth sample in BBR's unit, segments/us * 2**24."""
    return delivered * 2**24 // interval_us


def bytes_per_s(bandwidth, mss=1448):
    """Payload bytes per second of a bandwidth in BBR's unit."""
    return bandwidth * mss * 10**6 // 2**24


def pacing(bandwidth, gain, mss=1448):
    """Pacing rate in bytes/s: 1 % below gain x bandwidth."""
    return bandwidth * mss * gain // 256 * 990000 // 2**24


def bdp(bandwidth, min_rtt_us, gain=256):
    """Bandwidth-delay product in segments, rounded up."""
    return ceil(Fraction(bandwidth * min_rtt_us * gain // 256, 2**24))


def tso_goal(rate, mss=1448):
    """Segments of a burst at a pacing rate."""
    segments = min(rate // 1024, 65535 - HEADER) // mss
    return min(127, max(segments, 1 if rate < 150000 else 2))


def quantised(segments, rate, *, probing=False):
    """Segments with room for bursts, even, two more while probing."""
    segments += 3 * tso_goal(rate)
    return segments + segments % 2 + (2 if probing else 0)


def target(bandwidth, min_rtt_us, gain, rate, *, probing=False, extra=0):
    """Window (or inflight) that BBR aims for at pacing rate `rate`."""
    return quantised(bdp(bandwidth, min_rtt_us, gain) + extra, rate, probing=probing)


def random_below(seed, draws, bound):
    """The first draws of the simulator's random numbers (SplitMix64, upper half, scaled)."""
    mask, found = 2**64 - 1, []
    for _ in range(draws):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        found.append(((z ^ z >> 31) >> 32) * bound >> 32)
    return found


def print_cubic():
    """What the CUBIC vectors expect."""
    print("growth_table_after_loss", cubic_growth(700, 1000, every_ms=10, acked=100, seconds=14, friendly=False))
    print(
        "growth_table_small_window", cubic_growth(70, 100, every_ms=20, acked=20, seconds=8, friendly=False, rtt_ms=20)
    )
    print(
        "growth_depends_on_hz 1000:", cubic_growth(700, 1000, every_ms=1, acked=10, seconds=3, friendly=False, rtt_ms=1)
    )
    print(
        "growth_depends_on_hz 100:",
        cubic_growth(700, 1000, every_ms=1, acked=10, seconds=3, friendly=False, hz=100, rtt_ms=1),
    )
    print("friendly_to_reno on", cubic_growth(14, 20, every_ms=10, acked=10, seconds=4, rtt_ms=10))
    print("friendly_to_two_flows", cubic_growth(16, 20, every_ms=10, acked=10, seconds=4, rtt_ms=10, beta=870, flows=2))
    print("friendly_to_reno off", cubic_growth(14, 20, every_ms=10, acked=10, seconds=4, rtt_ms=10, friendly=False))
    print("growth_beyond_the_maximum", cubic_growth(100, 80, every_ms=10, acked=20, seconds=4, friendly=False))
    print("K for 1, 10, 100, 1000:", [cube_root(2**40 // 410 * d) for d in (1, 10, 100, 1000)])
    print("idle_time_is_not_on_the_curve", cubic_growth_with_idle_second(5000))
    print("curve_is_looked_up_32_times_a_second", cubic_throttled())
    print(
        "growth_is_at_most_half_of_what_is_delivered",
        cubic_growth(10, 100000, every_ms=500, acked=10, seconds=2, friendly=False),
    )


def print_bbr():
    """What the BBR vectors expect."""
    print(
        "first PROBE_BW phases (8 - draw) by seed",
        {seed: [(8 - draw) % 8 for draw in random_below(seed, 2, 7)] for seed in range(1, 20)},
    )
    one = bw(10, 10000)  # 10 segments in 10 ms
    print("bw 10/10ms", one, bytes_per_s(one), "bw 100/10ms", bw(100, 10000), bytes_per_s(bw(100, 10000)))
    print("init, no rtt", pacing(bw(10, 1000), 739), "srtt 20ms", pacing(bw(10, 20000), 739))
    for segments in (10, 20, 100, 101, 112, 125, 90):
        b = bw(segments, 10000)
        print(
            segments,
            "per 10 ms: bw",
            b,
            bytes_per_s(b),
            "pacing 739/88/320/192/256",
            [pacing(b, g) for g in (739, 88, 320, 192, 256)],
            "bdp at 10 ms",
            bdp(b, 10000),
            "x2",
            bdp(b, 10000, 512),
            "goal at 256",
            tso_goal(pacing(b, 256)),
            "inflight(256) at 256/320/192/88/739",
            [target(b, 10000, 256, pacing(b, g)) for g in (256, 320, 192, 88, 739)],
            "cwnd2 at 256, probing at 320",
            target(b, 10000, 512, pacing(b, 256)),
            target(b, 10000, 512, pacing(b, 320), probing=True),
            "inflight(320) probing at 320",
            target(b, 10000, 320, pacing(b, 320), probing=True),
        )


def print_bbr_variants():
    """Pacing rates and inflight at 100 segments per 10 ms, RTT 10 ms, for the gains of the variants."""
    b = bw(100, 10000)
    for gain, share in ((512, 200), (384, 150), (320, 125), (288, 113), (192, 100), (128, 100), (106, 100), (64, 100)):
        goal = tso_goal(pacing(b, gain))
        print(
            "gain",
            gain,
            "pacing",
            pacing(b, gain),
            "burst",
            goal,
            "inflight not rounded",
            share + 3 * goal,
            "even",
            quantised(share, pacing(b, gain)),
            "probing",
            quantised(share, pacing(b, gain), probing=True),
        )
    print(
        "bbrplus cycle lengths (8 - draw; the first draw is the phase) by seed",
        {seed: [8 - draw for draw in random_below(seed, 3, 7)[1:]] for seed in range(1, 20)},
    )


def htcp_growth(seconds):
    """H-TCP's f(D), segments per round trip, as Linux rounds it."""
    return 1 if seconds <= 1 else 1 + floor(10 * Fraction(seconds - 1) + Fraction(seconds - 1) ** 2 / 4)


def print_htcp():
    """What the H-TCP vectors expect."""
    print("f at 1, 1.1, 3 s:", [htcp_growth(d) for d in (1, Fraction(11, 10), 3)])
    print(
        "f at 3 s scaled for RTT 50, 1, 400 ms:",
        [floor(htcp_growth(3) * min(2, max(Fraction(1, 10), Fraction(r, 100)))) for r in (50, 1, 400)],
    )
    for rtts in ((50, 80), (50, 150), (50, 50), (50, 70)):
        kept = rtts[0] + (rtts[1] - rtts[0]) * 95 // 100
        beta = min(102, max(64, 128 * rtts[0] // kept))
        print("RTTs", rtts, "Rmax kept", kept, "beta", beta, "100 becomes", 100 * beta // 128)


if __name__ == "__main__":
    print_cubic()
    print_bbr()
    print_bbr_variants()
    print_htcp()
