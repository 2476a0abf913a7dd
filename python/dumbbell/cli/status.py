"""Exit statuses that scripts rely on: all ran; something failed; bad input; interrupted (128 and the signal, as shells
have it: SIGTERM is 143).
"""

from dumbbell.errors import DumbbellError

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def of(error: DumbbellError) -> int:
    """The status of a command that ends with this error."""
    return BAD_INPUT if error.is_input else FAILED
