"""The fixtures of commandline.py, for every test here."""

from commandline import family, live_project, live_root, no_gpu, recorded, run

__all__ = ["family", "live_project", "live_root", "no_gpu", "recorded", "run"]
