"""The worst case inside stated bounds: what breaks an expectation most (docs/search.md)."""
