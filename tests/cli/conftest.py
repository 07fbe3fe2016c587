"""The fixtures of commandline.py, for every test here."""

from commandline import live_project, live_root, no_gpu, recorded, run

__all__ = ["live_project", "live_root", "no_gpu", "recorded", "run"]
