"""Kfoury, Gomez, Crichigno and Bou-Harb 2020: `entries.toml` has its experiments, `claims.toml` what it claims."""
