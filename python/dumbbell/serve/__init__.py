"""`dumbbell serve`: the live page, and the small server behind it.

The server is that of the standard library: what it needs beyond HTTP (token, Host and Origin, limits, the folder) would
be our own code on any framework. It runs nothing itself. A scenario is checked here (`check.py`), and run by the
ordinary runner in a process of its own (`worker.py`), which tells line by line what the page draws (`live.py`).
"""
