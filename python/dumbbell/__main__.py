"""The program ``dumbbell``, also as ``python -m dumbbell``.

From here until a command has something to clean up, Ctrl-C ends the process at once, as it ends any program: imports
would answer it with a traceback.
"""

import atexit
import gc
import os
import signal
import sys

# As `python -m dumbbell`: Python would look for modules in the current folder first, where anybody's json.py may be.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

#: Objects between two searches for cycles. Imports make a fifth as many and leave hardly a cycle; with Python's own 700
#: they are searched some thirty times, which takes a tenth of a short run.
_OBJECTS = 100_000

_status: list[int] = []


def program() -> None:
    """Run the command line and end the process with its status."""
    gc.set_threshold(_OBJECTS)
    atexit.register(_end)  # the first that is registered is called last
    from .cli import main

    _status.append(main())
    threading = sys.modules.get("threading")
    if threading and threading.active_count() > 1:  # the interpreter's end would abort under the engine's threads
        _end()
    sys.exit(_status[0])


def _end() -> None:
    """End here: the interpreter would take all modules apart first, which takes a tenth of a short run."""
    if not _status:
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # as `cli` leaves it where nobody reads it
                stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(_status[0])


if __name__ == "__main__":
    program()
