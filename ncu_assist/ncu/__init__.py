"""Everything that changes with an Nsight Compute release: its command, its messages, its reports, its metrics."""
