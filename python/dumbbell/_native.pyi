"""The engine: simulated path and transport, in Rust and C."""

from collections.abc import Callable

__all__ = ["PlanError", "controllers", "run", "version"]

class PlanError(ValueError):
    """A plan that the engine cannot run; the message names the field."""

def run(plan_json: str, out_dir: str, progress: Callable[[int, int], None] | None = None) -> str:
    """Run one plan in the calling thread, with the GIL released, and return its summary as JSON.

    Parameters
    ----------
    plan_json
        The plan: absolute, explicit integers (`dumbbell.plan.plan`).
    out_dir
        An existing, empty folder; the Parquet tables (and ``trace.pcap`` if asked for) are written into it.
    progress
        Called about every 50 ms of work with (simulated nanoseconds, delivered packets). An exception that it raises stops the
        run and propagates.

    Raises
    ------
    PlanError
        The plan is refused.
    RuntimeError
        A table could not be written.
    """

def controllers() -> str:
    """The congestion controllers as a JSON list: name, doc, summary, license, params, states, priv_bytes."""

def version() -> str:
    """Version of the engine."""
