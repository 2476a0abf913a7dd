"""The page: its file, and the facts that it has before it asks for anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell import controllers
from dumbbell.report import html, looks
from dumbbell.results.catalogue import figure, shown
from dumbbell.scenario import gallery
from dumbbell.scenario.qdiscs import Qdisc

from .recordings import FILE_MAX, FILES_MAX

if TYPE_CHECKING:
    from .check import Desk
    from .limits import Keep


def html_of(token: str) -> tuple[str, str]:
    """The page and its Content-Security-Policy: it runs its own program, and talks to its own server alone."""
    return html.shell("Dumbbell", "live", {"token": token}, connect="connect-src 'self'; frame-ancestors 'none'")


def known(version: str, desk: Desk, keep: Keep, whose: dict[str, Any]) -> dict[str, Any]:
    """Controllers with their parameters, queue disciplines, gallery, limits, what stays on the disk, whose it is."""
    return {
        "version": version,
        "looks": looks.of_page(),
        "controllers": [
            {
                "name": controller.name,
                "summary": controller.summary,
                "params": [param._asdict() for param in controller.params.values()],
                "presets": list(controller.presets),
            }
            for controller in controllers.known().values()
        ],
        "qdiscs": list(Qdisc.FORMS),
        "gallery": [{"name": entry.name, "summary": entry.summary} for entry in gallery.entries()],
        "backends": list(desk.backends),
        "metrics": [
            {"name": name, "title": figure(name).long, "unit": figure(name).axis_unit} for name in shown("sweep")
        ],
        "limits": desk.limits._asdict(),
        "recording": {"bytes": FILE_MAX, "files": FILES_MAX},
        "keep": keep._asdict(),
        "room": whose,
    }
