"""Which GPU a program will use, as a key that does not depend on how the GPU was chosen."""

from __future__ import annotations

from collections.abc import Mapping

VISIBLE = "CUDA_VISIBLE_DEVICES"


def gpu_key(env: Mapping[str, str]) -> str:
    """Return the UUID of the first GPU that ``env`` leaves visible, or what it says of it where NVML cannot tell."""
    chosen = env.get(VISIBLE, "").split(",")[0].strip() or "0"
    if chosen.startswith(("GPU-", "MIG-")):
        return chosen
    return (_uuid(int(chosen)) if chosen.isdigit() else None) or f"gpu-{chosen}"


def _uuid(index: int) -> str | None:
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no package, no driver
        return None
    try:
        uuid = pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(index))
        return uuid.decode() if isinstance(uuid, bytes) else str(uuid)
    except pynvml.NVMLError:
        return None
    finally:
        pynvml.nvmlShutdown()
