"""``python -m ncu_assist`` is ``ncu-assist``."""

from ncu_assist.cli import main

if __name__ == "__main__":
    main()
