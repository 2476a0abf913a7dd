"""The worst case inside stated bounds: what breaks an expectation most (docs/search.md)."""

#: Candidates that are tried unless something else is asked for.
BUDGET = 3000
#: Candidates that go at once.
BATCH = 8
