"""Exit statuses that scripts rely on: all ran; something failed; bad input; interrupted (128 and the signal, as shells
have it: SIGTERM is 143).
"""

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
