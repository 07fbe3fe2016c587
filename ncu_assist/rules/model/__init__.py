"""What rules share: the facts of a launch, its limits and waste, ranking, source lines, warnings."""
