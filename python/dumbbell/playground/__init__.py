"""The page of `dumbbell serve` without a server: what plans and tells runs in the browser, by Pyodide, and the engine
there is WebAssembly (docs/playground.md).

`native.py` stands in for `dumbbell._native`; `desk.py` answers what the page asks. Both are called by
`web/src/playground/planner.ts`.
"""
