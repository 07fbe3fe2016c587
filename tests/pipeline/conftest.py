"""The fixtures of measured.py, for every test here."""

from measured import job, notes

__all__ = ["job", "notes"]
