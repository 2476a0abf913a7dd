"""Training of policies: scenarios whose keys are drawn anew for each episode, recipes, and evolution strategies
(docs/policies.md).
"""
