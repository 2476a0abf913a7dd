"""Yang and others 2021: `entries.toml` has the paper's experiments, `claims.toml` what it claims."""
