"""Borgli and Misund: `entries.toml` has the report's experiments, `claims.toml` what it claims."""
