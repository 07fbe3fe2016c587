"""The parent's side of a measurement: starts children until every version has its results or its failure."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_assist.environment import COUNTED_AS_NVML
from ncu_assist.errors import StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.harness import results
from ncu_assist.harness.events import Event, error_of, parse
from ncu_assist.harness.request import HarnessRequest, write_request
from ncu_assist.process import Completed, module_argv, module_environment
from ncu_assist.record import Bench, Check, Device, HostMemory, Toolchain

if TYPE_CHECKING:
    import pandas

START_TIMEOUT_S = 300.0  # importing torch from a cold disk and opening the GPU, before any version is named
STDERR_TAIL = 2000  # characters
LONGEST_NAME = 100  # letters of a folder's name; a file system takes 255 bytes
MOST_ANNOUNCED = 1000  # versions on workloads that are remembered; a kernel may invent names without end


@dataclass(frozen=True)
class TimeLimits:
    """Seconds for the whole process and for its longest silence."""

    total_s: float
    silence_s: float


@dataclass(frozen=True)
class Measured:
    """What the children left. ``samples`` has the columns of bench.SCHEMA and is None without a bench.

    ``bench`` has no timings: those are each version's own.

    A failed check stands in ``checks``; ``failures`` has the versions that crashed, hung, could not be loaded or did
    not get through the bench, with what happened. By workload, ``took_s`` is how long all versions took together, and
    ``gpus`` the hash of the GPU's UUID.
    """

    checks: dict[str, tuple[Check, ...]]
    samples: pandas.DataFrame | None
    bench: Bench | None
    device: Device | None
    toolchain: Toolchain
    failures: dict[str, str]
    host_memory: HostMemory | None = None
    took_s: Mapping[str, float] = field(default_factory=dict)
    gpus: Mapping[str, str] = field(default_factory=dict)


def measure(
    request: HarnessRequest, executor: Executor, on_event: Callable[[Event], None], version_timeout_s: float
) -> Measured:
    """Run check and bench as asked and return everything that was measured.

    A version that kills the child, or is silent for ``version_timeout_s``, is recorded as failed and left out of the
    next child. Raises EnvironmentProblem without torch or a GPU, StageFailed if a child dies and no version is to
    blame or reference.py is wrong.
    """
    for _ in range(len(request.artifacts) + 1):
        watch = Watch(on_event, version_timeout_s)
        completed = _run_child(request, executor, watch)
        if completed.exit_code == 0:
            break
        _blame(request, completed, watch)
        if len({f.version for f in results.read_failures(Path(request.out)) if f.everywhere}) == len(request.artifacts):
            break
    return collect(request)


def collect(request: HarnessRequest) -> Measured:
    """Return what the children of a request have left so far, also after one was interrupted."""
    out, settings = Path(request.out), request.settings
    facts = results.read_facts(out) or results.MeasurementFacts(Toolchain())
    failures: dict[str, str] = {}
    for failure in results.read_failures(out):
        failures[failure.version] = "; ".join(filter(None, [failures.get(failure.version, ""), str(failure)]))
    reasons = facts.throttle_reasons
    power = facts.power_w, facts.power_limit_w
    bench = Bench(request.bench_id, settings.flush, settings.rounds, facts.temperature_c, reasons, (), *power)
    return Measured(
        checks=results.read_checks(out),
        samples=results.read_samples(out),
        bench=bench if "bench" in settings.stages else None,
        device=facts.device,
        toolchain=facts.toolchain,
        failures=failures,
        host_memory=facts.host_memory,
        gpus=dict.fromkeys(request.workloads, facts.device.uuid_sha256) if facts.device else {},
    )


def merged(parts: Sequence[Measured]) -> Measured:
    """Return what was measured of the same versions on other workloads each, on one GPU or several, as one.

    ``device`` is that of the first part that knows one.
    """
    import pandas

    if len(parts) == 1:
        return parts[0]
    checks: dict[str, tuple[Check, ...]] = {}
    failures: dict[str, str] = {}
    for part in parts:
        for version, found in part.checks.items():
            checks[version] = (*checks.get(version, ()), *found)
        for version, words in part.failures.items():
            known = failures.get(version, "")
            failures[version] = known if words in known else "; ".join(filter(None, [known, words]))
    frames = [part.samples for part in parts if part.samples is not None]
    tools: dict[str, Any] = {}
    for part in parts:
        tools |= {name: value for name, value in asdict(part.toolchain).items() if value}
    return Measured(
        checks=checks,
        samples=pandas.concat(frames, ignore_index=True) if frames else None,
        bench=_bench_of([part.bench for part in parts if part.bench is not None]),
        device=next((part.device for part in parts if part.device is not None), None),
        toolchain=Toolchain(**tools),
        failures=failures,
        host_memory=next((part.host_memory for part in parts if part.host_memory is not None), None),
        took_s={name: seconds for part in parts for name, seconds in part.took_s.items()},
        gpus={name: gpu for part in parts for name, gpu in part.gpus.items()},
    )


def _bench_of(benches: Sequence[Bench]) -> Bench | None:
    """Return how the parts of a bench went, as one: the widest span of temperatures, every reason, the most power."""
    if not benches:
        return None
    spans = [one.temperature_c for one in benches if one.temperature_c is not None]
    reasons = [one.throttle_reasons for one in benches if one.throttle_reasons is not None]
    powers = [one.power_w for one in benches if one.power_w is not None]
    return replace(
        benches[0],
        temperature_c=(min(low for low, _ in spans), max(high for _, high in spans)) if spans else None,
        throttle_reasons=tuple(sorted({reason for found in reasons for reason in found})) if reasons else None,
        power_w=max(powers, default=None),
    )


def profile_command(request_path: Path) -> list[str]:
    """Return the program for ncu to run. Start it with ``child_environment()`` in ``child_folder(request)``."""
    return module_argv("ncu_assist.harness", str(request_path))


def child_environment() -> dict[str, str]:
    """Return this process's environment, in which a child in any folder imports this same package.

    It counts GPUs as we do.
    """
    return {**module_environment(), **COUNTED_AS_NVML}


def on(request: HarnessRequest, workloads: tuple[str, ...]) -> HarnessRequest:
    """Return and write the same request for some of its workloads, with a folder of its own below that of the first."""
    if workloads == request.workloads:
        return request
    part = replace(request, workloads=workloads, out=str(Path(request.out) / f"on-{_joined(workloads)}"))
    write_request(part)
    return part


def child_folder(request: HarnessRequest) -> Path:
    """Return the project root: the source paths in ``-lineinfo`` are relative to it."""
    return Path(request.kernel_folder).parent.parent


def only(request: HarnessRequest, versions: tuple[str, ...]) -> HarnessRequest:
    """Return and write the same request for some of its versions, with a folder of its own below that of the first."""
    artifacts = tuple(a for a in request.artifacts if a.version in versions)
    out = Path(request.out) / _joined(version.split("_")[0] for version in versions)
    part = replace(request, artifacts=artifacts, out=str(out))
    write_request(part)
    return part


def _joined(names: Iterable[str]) -> str:
    """Return names as one of a folder; of those that are too long together a beginning and a hash."""
    whole = "-".join(names)
    return whole if len(whole) <= LONGEST_NAME else f"{whole[:LONGEST_NAME]}-{sha256(whole.encode()).hexdigest()[:8]}"


class Watch:
    """Follows the child's events: who is at work, since when it is silent, what it said before it ended."""

    def __init__(self, on_event: Callable[[Event], None], version_timeout_s: float) -> None:
        self.current: Event | None = None
        self.fatal: Event | None = None
        self.problem: Event | None = None
        self.on_event = on_event
        self.limit_s, self._timeout_s = max(START_TIMEOUT_S, version_timeout_s), version_timeout_s
        self._last = time.monotonic()
        self._announced: set[tuple[str, str]] = set()

    def line(self, line: str) -> None:
        """Take one line of the child's stdout."""
        event = parse(line)
        if event is None:
            return
        self._last = time.monotonic()
        if event.event == "ready":
            self.limit_s = self._timeout_s
        elif event.event == "begin":
            self.current = event
        elif event.event in ("end", "failed", "round"):
            self.current = None
        elif event.event == "fatal":
            self.fatal = event
        elif event.event == "problem":
            self.problem = event
        if not self._is_repeated(event):
            self.on_event(event)

    def _is_repeated(self, event: Event) -> bool:
        """The bench announces every sample; to whoever watches, the first one of a version and workload is news."""
        if (event.event, event.stage) != ("begin", "bench"):
            return False
        key = (event.version, event.workload)
        known = key in self._announced
        if len(self._announced) < MOST_ANNOUNCED:
            self._announced.add(key)
        return known

    def is_stuck(self) -> bool:
        """Return whether nothing was heard for longer than a version may take."""
        return time.monotonic() - self._last > self.limit_s


def _run_child(request: HarnessRequest, executor: Executor, watch: Watch) -> Completed:
    return executor.run(
        profile_command(request.path),
        env=child_environment(),
        cwd=child_folder(request),
        on_line=watch.line,
        is_stuck=watch.is_stuck,
    )


def _blame(request: HarnessRequest, completed: Completed, watch: Watch) -> None:
    """Record the version that ended the child; raise if it was none."""
    if watch.problem is not None:
        raise error_of(watch.problem)
    culprit = watch.fatal or watch.current
    reason = watch.fatal.text if watch.fatal else what_happened(completed, watch.limit_s)
    if culprit is None or culprit.version not in request.versions:
        words = completed.stderr[-STDERR_TAIL:].strip()
        raise StageFailed(f"the measuring process {reason}\n{words}".rstrip(), "ncu-assist doctor")
    out = Path(request.out)
    failure = results.VersionFailure(culprit.version, culprit.stage, culprit.workload, reason, everywhere=True)
    results.append_failure(out, failure)
    if culprit.stage == "check":
        check = Check(culprit.workload, False, reason, request.seeds, None, None)
        results.append_check(out, culprit.version, check)
    if watch.fatal is None:
        watch.on_event(replace(culprit, event="failed", text=reason))


def what_happened(completed: Completed, limit_s: float) -> str:
    """Return in words how a child ended."""
    if completed.timed_out:
        return f"gave no sign of life for {limit_s:g} s and was ended"
    if completed.exit_code < 0:
        try:
            name = signal.Signals(-completed.exit_code).name
        except ValueError:
            name = "unknown"
        cause = ": the machine was out of memory, or somebody killed it" if name == "SIGKILL" else ""
        return f"crashed with signal {-completed.exit_code} ({name}){cause}"
    last = completed.stderr.strip().splitlines()[-1:] or [""]
    return f"ended with exit code {completed.exit_code}: {last[0]}".rstrip(": ")
