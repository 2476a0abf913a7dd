"""What scenario files expect of their runs, judged: `dumbbell test`.

`asked.py` reads the ``[[expect]]`` tables and plans the runs that they need, `places.py` answers their sentences from
runs, `judged.py` makes lines of verdicts, `baselines.py` keeps figures to hold later runs against, `written.py` has
JUnit, Markdown and annotations.
"""
