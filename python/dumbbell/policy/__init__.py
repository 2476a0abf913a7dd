"""Policies: controllers whose window a trained network decides, as files that any host can run (docs/policies.md)."""

#: How the names of such files end.
ENDING = ".safetensors"
