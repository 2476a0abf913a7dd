"""Experiments of published papers: their scenarios, and what the papers claim to see in them."""
