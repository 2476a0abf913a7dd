"""`dumbbell report`: result folders as one page in one file.

Python reads the results and makes the page's data (`document.py`); the page, bundled from `web/`, only draws them.
Every number comes from `results` and `plots`, so that page, tables and pictures say the same.
"""
