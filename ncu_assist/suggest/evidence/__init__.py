"""What a good kernel engineer would look at, from stored runs alone: the parent, its counters, what was tried."""
