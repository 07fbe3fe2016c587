"""A draft proven or rejected by measurement: built, checked, timed and profiled in a sandbox, graded outside."""
