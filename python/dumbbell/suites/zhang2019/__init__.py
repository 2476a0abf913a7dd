"""Zhang 2019: `entries.toml` has the paper's experiments, `claims.toml` what it claims."""
