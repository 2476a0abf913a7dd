"""The program ``dumbbell``, also as ``python -m dumbbell``.

From here until a command has something to clean up, Ctrl-C ends the process at once, as it ends any program: imports
would answer it with a traceback.
"""

import os
import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def program() -> None:
    """Run the command line and end the process with its status."""
    from .cli import main

    status = main()
    threading = sys.modules.get("threading")
    if threading and threading.active_count() > 1:  # the interpreter's end would abort under the engine's threads
        sys.stdout.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    program()
