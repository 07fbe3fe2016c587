"""What a person wants to know of runs, computed once, as frozen data without words."""
