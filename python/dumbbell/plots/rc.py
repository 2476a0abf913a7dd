"""Matplotlib's settings for pictures: ours, and those of a paper, where the caller has not set them."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.errors import wrong

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Points of text on screens and in papers; other sizes are parts of it.
SIZE, PAPER_SIZE = 9.0, 8.0
#: Part of the size of text that legends have.
_LEGEND = 8 / 9

_COMMON: dict[str, Any] = {
    "axes.titlesize": "medium",
    "axes.grid": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "svg.hashsalt": "dumbbell",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "axes.formatter.useoffset": False,
}
_PAPER: dict[str, Any] = {
    "mathtext.fontset": "stix",
    "lines.linewidth": 1.1,
    "axes.linewidth": 0.6,
    "axes.labelpad": 2.5,
    "grid.linewidth": 0.4,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.pad": 2.5,
    "ytick.major.pad": 2.5,
    "legend.handlelength": 2.2,
    "legend.columnspacing": 1.4,
    "legend.handletextpad": 0.5,
    "savefig.dpi": 300,
}
_FONTS = ("font.family", "font.sans-serif", "font.serif", "font.monospace")

#: Fonts for letters that the first family does not have: the first that is installed.
_FURTHER_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
    "Droid Sans Fallback", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Malgun Gothic", "Arial Unicode MS",
)  # fmt: skip

#: Of a paper: Times in form, and with matplotlib everywhere.
_SERIF = "STIXGeneral"


@cache
def _families(first: str) -> list[str]:
    """A font, and one for letters that it does not have."""
    from matplotlib.font_manager import fontManager

    installed = _installed()
    if first == _SERIF and first not in installed:  # the list of fonts is another installation's
        import matplotlib as mpl

        for file in sorted(Path(mpl.get_data_path(), "fonts/ttf").glob(f"{_SERIF}*.ttf")):
            fontManager.addfont(file)
    return [first, *[name for name in _FURTHER_FONTS if name in installed][:1]]


def _installed() -> set[str]:
    from matplotlib.font_manager import fontManager

    return {font.name for font in fontManager.ttflist}


def _is_callers(key: str) -> bool:
    """True if the caller has set it: in code, in a style, or in a matplotlibrc."""
    import matplotlib as mpl

    now: Any = mpl.rcParams
    usual: Any = mpl.rcParamsDefault
    return bool(now[key] != usual[key])


def _wanted(*, is_paper: bool, ax: Any) -> dict[str, Any]:
    import matplotlib as mpl

    wanted = {**_COMMON, **(_PAPER if is_paper else {})}
    wanted["font.size"] = PAPER_SIZE if is_paper else SIZE
    base = mpl.rcParams["font.size"] if _is_callers("font.size") else wanted["font.size"]
    wanted |= {"legend.fontsize": _LEGEND * base, "legend.title_fontsize": 7 / 9 * base}
    if ax is not None:  # as the texts that are there
        wanted["font.family"] = list(ax.xaxis.label.get_fontfamily())
        if wanted["font.family"] == list(mpl.rcParamsDefault["font.family"]):
            del wanted["font.family"]
    if "font.family" not in wanted and not any(map(_is_callers, _FONTS)):
        wanted["font.family"] = _families(_SERIF if is_paper else "DejaVu Sans")
    return {key: value for key, value in wanted.items() if not _is_callers(key)}


@contextmanager
def settings(*, is_paper: bool = False, ax: Any = None) -> Iterator[None]:
    """Our settings, where the caller has none of his own; with the fonts of axes that are given."""
    import matplotlib as mpl

    if isinstance(ax, (list, tuple)):
        ax = ax[0]
    wanted: Any = _wanted(is_paper=is_paper, ax=ax)
    with mpl.rc_context(wanted):
        yield


def snapshot() -> dict[str, Any]:
    """The settings that make a picture what it is, as they are now."""
    import matplotlib as mpl

    keys = {*_COMMON, *_PAPER, *_FONTS, "font.size", "legend.fontsize", "legend.title_fontsize", "text.usetex"}
    now: Any = mpl.rcParams
    return {key: now[key] for key in sorted(keys)}


@contextmanager
def chosen(
    *, style: str | None = None, font: str | None = None, dpi: float | None = None, tex: bool = False
) -> Iterator[None]:
    """What a person asks for instead of ours: a file of matplotlib's settings, a font, dots per inch, LaTeX; raises
    ScenarioError.
    """
    import matplotlib as mpl

    with mpl.rc_context():
        if style is not None:
            _use(style)
        asked: Any = {
            **({"font.family": _font(font)} if font is not None else {}),
            **({"savefig.dpi": _dots(dpi)} if dpi is not None else {}),
            **({"text.usetex": _latex()} if tex else {}),
        }
        mpl.rcParams.update(asked)
        yield


def _use(style: str) -> None:
    from matplotlib import style as styles

    if not Path(style).is_file() and style not in styles.available:
        raise wrong("--style", style, "a file of matplotlib's settings (.mplstyle) or the name of one of its styles",
                    styles.available)  # fmt: skip
    try:
        styles.use(style)
    except (OSError, ValueError) as error:
        raise wrong("--style", style, f"a file that matplotlib reads ({error})") from None


def _font(name: str) -> list[str]:
    if name in ("serif", "sans-serif", "monospace"):
        return [name]
    _families(_SERIF)
    if name not in (known := sorted(_installed())):
        raise wrong("--font", name, "serif, sans-serif, monospace, or a font that is installed here", known)
    return _families(name)


def _dots(dpi: float) -> float:
    if not 30 <= dpi <= 1200:
        raise wrong("--dpi", dpi, "dots per inch, from 30 to 1200")
    return dpi


def _latex() -> bool:
    from shutil import which

    if missing := [program for program in ("latex", "dvipng") if which(program) is None]:
        raise wrong("--tex", "", f"a machine with LaTeX; {' and '.join(missing)} cannot be found here")
    return True
