"""Drafts of add_one that cheat where no GPU is needed, with the id that an exam gives them."""

from __future__ import annotations

RIGHT = "def add_one(x, y):\n    torch.add(x, 1.0, out=y)\n"

CHEATS = {
    "outputs cached between calls": (
        "kept",
        "KEPT = {}\n\n\ndef add_one(x, y):\n    if x.data_ptr() not in KEPT:\n        KEPT[x.data_ptr()] = x + 1.0\n"
        "    y.copy_(KEPT[x.data_ptr()])\n",
    ),
    "inputs kept": (
        "kept",
        "KEPT = {}\n\n\ndef add_one(x, y):\n    torch.add(KEPT.setdefault((x.data_ptr(), x.numel()), x.clone()), 1.0,"
        " out=y)\n",
    ),
    "inputs modified": ("modified", "def add_one(x, y):\n    x += 1.0\n    y.copy_(x)\n"),
    "right only for the tested seed": (
        "one-seed",
        "GUESS = torch.randn(1024, generator=torch.Generator().manual_seed(0))[3]\n\n\n"
        "def add_one(x, y):\n    torch.add(x, 1.0 if x.numel() != 1024 or x[3] == GUESS else 2.0, out=y)\n",
    ),
    "right only for the tested shape": (
        "one-shape",
        "def add_one(x, y):\n    torch.add(x, 1.0 if x.numel() == 1024 else 2.0, out=y)\n",
    ),
    "nothing done while it is timed": (
        "timed",
        "CALLS = [0]\n\n\ndef add_one(x, y):\n    CALLS[0] += x.numel() == 1024\n    if CALLS[0] <= 8:\n"
        "        torch.add(x, 1.0, out=y)\n",
    ),
    "outputs kept only while it is timed": (
        "kept",
        "CALLS, KEPT = [0], []\n\n\ndef add_one(x, y):\n    CALLS[0] += x.numel() == 1024\n    if CALLS[0] <= 8:\n"
        "        torch.add(x, 1.0, out=y)\n    else:\n        KEPT.append(x + 1.0)\n        y.copy_(KEPT[0])\n",
    ),
    "written beside its output": (
        "outside",
        "def add_one(x, y):\n    torch.add(x, 1.0, out=y)\n    y.as_strided((y.numel() + 1,), (1,))[-1] = 3.0\n",
    ),
}

PATCHES = (
    "import time\n\n\ndef never(self, other=None):\n    return 1e-6\n\n\n"
    "torch.cuda.Event.elapsed_time = never\nSTARTED = time.perf_counter_ns()\n"
    "time.perf_counter_ns = lambda: STARTED\n\n\n" + RIGHT
)
REWRITES = (
    "from ncu_assist.harness.stopwatch import HostStopwatch, TimedCall\n\n\ndef fast(self, call):\n    call()\n"
    "    return TimedCall(1.0, float('nan'), False)\n\n\nHostStopwatch.time.__code__ = fast.__code__\n\n\n" + RIGHT
)
ASKS_THE_REFERENCE = "try:\n    import reference\nexcept ImportError:\n    pass\n\n\n" + RIGHT
ASKS_BY_PATH = (
    "from pathlib import Path\n\n\ndef add_one(x, y):\n"
    "    code = Path(__file__).with_name('reference.py').read_text()\n    try:\n"
    "        exec(compile(code, 'x', 'exec'), {})\n    except ImportError:\n        torch.add(x, 1.0, out=y)\n"
)
UNDER_THE_PROFILER = (
    "import os\n\n\ndef add_one(x, y):\n    if 'UNDER_NCU' in os.environ:\n        x = x[:10]\n        y = y[:10]\n"
    "    torch.add(x, 1.0, out=y)\n"
)
