"""Colours and markers as data, found by `tools/palette.py`, which says how: a contrast of 3:1 or more to white, far
apart for colour-blind readers too, and the famous ones and a user's own far apart in grey.

They stand here and not with each controller, because a colour is chosen against all others.
"""

from __future__ import annotations

#: Colour and marker of the built-in controllers and of quinn's: a letter of matplotlib, or sides, style and angle of a
#: polygon.
CONTROLLERS: dict[str, tuple[str, str | tuple[int, int, int]]] = {
    "cubic": ("#005ac9", "o"),
    "bbr": ("#da7c03", "s"),
    "bbr3": ("#124a18", "D"),
    "bbr-draft": ("#1100cc", "8"),
    "reno": ("#0395bc", "^"),
    "bbr2": ("#7c007d", "v"),
    "vegas": ("#226666", "<"),
    "htcp": ("#666600", "h"),
    "dctcp": ("#551155", "*"),
    "bbr2plus": ("#8877ee", "P"),
    "bbrplus": ("#aa8866", "X"),
    "bbr-drain": ("#887733", ">"),
    "bbr-hsr": ("#993399", "d"),
    "prague": ("#aa4444", (5, 0, 0)),
    "tsunami": ("#995599", "p"),
    "tsunami-zhang": ("#cc7799", (4, 1, 45)),
    "quinn:cubic": ("#7766bb", "o"),
    "quinn:bbr": ("#bb6699", "s"),
    "quinn:newreno": ("#555500", "^"),
}

#: Of controllers that are none of these: those of the user, which pictures are about.
OWN = ("#cd166a", "#990044", "#662299")
OWN_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "d", "p")

#: What differs and is no controller: categories, in this order; numbers, dark to light, the part of a colour map of
#: matplotlib that has enough contrast to white.
CATEGORIES = ("#005ac9", "#da7c03", "#124a18", "#0395bc", "#7c007d", "#cd166a", "#666600", "#8877ee")
RAMP, RAMP_ENDS = "plasma", (0.02, 0.62)

#: Contrast to white of everything that a picture draws.
CONTRAST = 3.0

#: States of controllers, which fill bands: paler than any line, after Paul Tol's "light" (SRON/EPS/TN/09-002, 2021).
#: What states do has the same colour in BBR and in its successors.
STATES = {
    "STARTUP": "#ee8866",
    "SLOW_START": "#f4b8a0",
    "DRAIN": "#99ddff",
    "PROBE_BW": "#44bb99",
    "PROBE_BW_UP": "#eedd88",
    "PROBE_BW_DOWN": "#77aadd",
    "PROBE_BW_CRUISE": "#7fd3b8",
    "PROBE_BW_REFILL": "#bbcc33",
    "PROBE_BW_PRE_UP": "#f7f0b5",
    "PROBE_BW_GUARD": "#5e8c7f",
    "PROBE_BW_POST_UP": "#d9b44a",
    "PROBE_BW_DOWN_SLIGHTLY": "#b3cde8",
    "PROBE_RTT": "#222222",
    "CONCAVE": "#ffaabb",
    "CONVEX": "#aaaa00",
    "RENO_FRIENDLY": "#cccccc",
    "RENO": "#b8b8b8",
    "AVOIDANCE": "#c8b59a",
    "LOW_SPEED": "#c9a6d8",
    "HIGH_SPEED": "#cc9944",
    "RATE": "#9fd39f",
    "LOSS": "#b05a5a",
    "CLASSIC": "#dddddd",
}
OTHER_STATES = ("#d6a5c9", "#a8c66c", "#c79b6b", "#8fb8a8", "#b7a9d6", "#e3c16f")
