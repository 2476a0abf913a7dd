"""From a scenario to finished runs: plans, workers, the folder that holds the results, progress and signals."""
