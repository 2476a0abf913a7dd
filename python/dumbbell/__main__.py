"""The program ``dumbbell``, also as ``python -m dumbbell``.

From here until a command has something to clean up, Ctrl-C ends the process at once, as it ends any program: imports would answer it with a traceback.
"""

import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def program() -> None:
    """Run the command line and end the process with its status."""
    from .cli import main

    sys.exit(main())


if __name__ == "__main__":
    program()
