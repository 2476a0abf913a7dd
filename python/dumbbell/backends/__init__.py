"""Back ends: each turns a plan into a result folder. None is imported before it is used."""
