"""Training of policies: scenarios whose keys are drawn for each episode, recipes, and evolution strategies
(docs/policies.md).
"""
