"""Why a flow got what it got: rules over the tables of a run, and the runs that prove them (docs/explain.md)."""
