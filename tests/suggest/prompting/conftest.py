"""The recorded archive, for every test here."""

from suggest.recorded import recorded_project, v6

__all__ = ["recorded_project", "v6"]
