"""Results as data: typed manifests and plans, tables, and the figures that are computed from them.

Nothing here runs anything.
"""
