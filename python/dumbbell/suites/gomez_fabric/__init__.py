"""Gomez, Kfoury and Crichigno, FABRIC: `entries.toml` has its experiments, `claims.toml` what it claims."""
