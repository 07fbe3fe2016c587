"""The raw page of a report as ncu exports it to CSV."""
