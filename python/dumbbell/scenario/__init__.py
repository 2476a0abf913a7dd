"""The language of scenarios: the tables of a scenario file, each key declared once, and its values with their units."""
