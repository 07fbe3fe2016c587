"""ncu-assist: versions of a GPU kernel, built, checked, timed, profiled and explained."""

__version__ = "0.1.0"
