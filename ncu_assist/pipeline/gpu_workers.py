"""Use several GPUs at once: a Dask scheduler with one worker process per GPU, confined to its GPU and its cores.

Workers on this machine are started here; cluster.py connects to those of a cluster.

Dask hands a task that needs a resource to a worker as soon as it is submitted, whether the worker is free or not. So a
unit is submitted only when a GPU is free for it, the longest first. Dask chooses which GPU takes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.util
import logging
import multiprocessing
import os
import pickle
import queue
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ncu_assist import __version__
from ncu_assist.environment import VISIBLE, Gpu, called, query_gpus, visible_gpus
from ncu_assist.errors import DamagedData, EnvironmentProblem, NcuAssistError, StageFailed, UsageProblem
from ncu_assist.executors.local import Stoppable
from ncu_assist.ncu.command import find_ncu, version_of
from ncu_assist.pipeline.archiving import Need, Setup, setup_here
from ncu_assist.pipeline.work_units import UnitResult, WorkUnit, built, do, settled
from ncu_assist.quantity import number_of
from ncu_assist.steps import Reporter, minutes

CLUSTER_EXTRA = "pip install 'ncu-assist[cluster]'"
# Dask resources of a worker: that it has a GPU, and prefixes for its chip and its releases of ncu and this tool.
RESOURCE, CHIP, NCU, TOOL = "GPU", "chip ", "ncu ", "ncu-assist "
STOPPED = "stopped"
FORK = "forkserver"
EVERY = ""  # topic: the work of every command
CORES = "NCU_ASSIST_CORES"  # environment variable of a worker: the processors near its GPU
TICK_S = 0.5
ANSWER_S = 20.0  # for all workers to report their setup
START_LIMIT_S = 120.0  # until every worker has started, on a busy machine
RESTART_S = 30.0  # until a worker that was lost has started again
GRACE_S = 20.0  # for the children of all workers to end: SIGINT, SIGTERM and SIGKILL take up to 15 s
STATUS_STEP_S = 0.5  # between two live lines of a worker
# Clock limits of a GPU that is too hot or short of power (NVML, clocks event reasons): its times are not typical.
THROTTLED = {"hardware slowdown", "software thermal slowdown", "hardware thermal slowdown", "hardware power brake"}


@dataclass(frozen=True)
class GpuSlot:
    """One GPU for one worker: its number, UUID and model, and the processors reserved for the worker.

    Without ``cores`` the worker may run on all processors.
    """

    index: int
    uuid: str
    cores: tuple[int, ...] = ()
    chip: str = ""

    @property
    def name(self) -> str:
        return f"GPU {self.index}"


def chosen_slots(choice: str, gpus: Sequence[Gpu], visible: str | None) -> tuple[GpuSlot, ...]:
    """Return the visible GPUs that ``choice`` names: ``all``, a count, or a list such as ``0,2``.

    Raises UsageProblem for any other choice, and for more GPUs than there are.
    """
    seen = visible_gpus(gpus, visible)
    first = _first_of_each(seen)
    there = f"here: {', '.join(map(str, first)) or 'none'}"
    if choice == "all":
        slots = first
    elif choice.isascii() and choice.isdigit():
        slots = dict(list(first.items())[: int(choice)])
        if not 0 < int(choice) <= len(first):
            said = f"--gpus {choice} is a number of GPUs, and {len(first)} can be used"
            alone = f"{VISIBLE}={choice} without --gpus, for GPU {choice} alone"
            raise UsageProblem(said, alone if int(choice) in first else "--gpus all")
    else:
        found = []
        for word in filter(None, (word.strip() for word in choice.split(","))):
            meant = called([gpu for gpu in gpus if gpu.index in first], word)
            if meant is not None and visible is not None:  # the instance that is visible, or none
                own = [gpu for gpu in seen if gpu.index == meant.index]
                meant = next((gpu for gpu in own if gpu.uuid == meant.uuid or not word.startswith("MIG-")), None)
            if meant is None:
                raise UsageProblem(f"--gpus {choice}: there is no GPU {word}; {there}", "--gpus all, or nvidia-smi -L")
            found.append(meant)
        slots = _first_of_each(found)
    if not slots:
        raise UsageProblem(
            f"--gpus {choice} names no GPU; {there}", "--gpus all, a number of GPUs, or a list such as 0,1"
        )
    cores = cores_of([gpu.uuid for gpu in slots.values()])
    return tuple(GpuSlot(gpu.index, gpu.uuid, cores.get(gpu.uuid, ()), gpu.name) for gpu in slots.values())


def _first_of_each(gpus: Sequence[Gpu]) -> dict[int, Gpu]:
    """Return the GPUs by index, only the first of two instances of a GPU: they share its clocks."""
    found: dict[int, Gpu] = {}
    for gpu in gpus:
        found.setdefault(gpu.index, gpu)
    return found


def _after(beginning: str, resources: dict[str, float]) -> str:
    """Return the rest of the first resource name with this beginning, empty if there is none."""
    return next((name.removeprefix(beginning) for name in resources if name.startswith(beginning)), "")


def cores_of(uuids: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the processors near each GPU, from NVML; GPUs that are near the same processors share them out.

    Memory comes from the node of the processor that first writes it, so this also fixes the node. The result is empty
    if the system does not report processors, or has fewer processors than GPUs.
    """
    near = {uuid: _near(uuid) for uuid in uuids}
    shared: dict[tuple[int, ...], list[str]] = {}
    for uuid, cores in near.items():
        shared.setdefault(cores, []).append(uuid)
    found: dict[str, tuple[int, ...]] = {}
    for cores, group in shared.items():
        part = len(cores) // len(group)
        if part:
            found |= {uuid: cores[n * part : (n + 1) * part] for n, uuid in enumerate(group)}
    return found


def _near(uuid: str) -> tuple[int, ...]:
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no package, no driver
        return ()
    try:
        size = max(allowed, default=0) // 64 + 1
        words = pynvml.nvmlDeviceGetCpuAffinity(pynvml.nvmlDeviceGetHandleByUUID(uuid), size)
    except pynvml.NVMLError:
        return ()
    finally:
        pynvml.nvmlShutdown()
    return tuple(sorted(core for core in allowed if words[core // 64] >> core % 64 & 1))


@contextlib.contextmanager
def gpu_workers(choice: str) -> Iterator[GpuWorkers]:
    """Run a worker for each GPU of ``choice``; meanwhile only these GPUs are visible here, so builds target them.

    Raises UsageProblem for GPUs of several models: a build runs on one model, and versions are compared on one. Raises
    EnvironmentProblem if there is no GPU.
    """
    before = os.environ.get(VISIBLE)
    slots = chosen_slots(choice, query_gpus()[1], before)
    other = next((slot for slot in slots if slot.chip != slots[0].chip), None)
    if other is not None:
        alike = ",".join(str(slot.index) for slot in slots if slot.chip == slots[0].chip)
        said = f"{slots[0].name} is an {slots[0].chip} and {other.name} an {other.chip}: GPUs of one model share work"
        raise UsageProblem(said, f"--gpus {alike}{',' * alike.isdigit()}")  # a number alone is a count
    os.environ[VISIBLE] = ",".join(slot.uuid for slot in slots)
    try:
        with workers_on(slots) as workers:
            yield workers
    finally:
        if before is None:
            del os.environ[VISIBLE]
        else:
            os.environ[VISIBLE] = before


@contextlib.contextmanager
def workers_on(slots: Sequence[GpuSlot]) -> Iterator[GpuWorkers]:
    """Run a worker for each slot; their files are in a folder that is removed at the end.

    Only this process can reach the workers: the scheduler listens on this machine alone, with a certificate that is
    made for it and kept in memory. Otherwise, other users of this machine could run programs through it.
    """
    need_dask()
    import dask
    from distributed import Client, Nanny, Scheduler, Security, SpecCluster

    folder = Path(tempfile.mkdtemp(prefix="ncu-assist-gpus-"))
    security = Security.temporary()
    here = {"host": "127.0.0.1", "protocol": "tls", "security": security}
    workers = {slot.name: {"cls": Nanny, "options": {**worker_options(slot, folder), **here}} for slot in slots}
    scheduler = {"cls": Scheduler, "options": {**here, "dashboard": False, "dashboard_address": "127.0.0.1:0"}}
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        with (
            dask.config.set(dask_settings()),
            SpecCluster(workers, scheduler, security=security, silence_logs=logging.CRITICAL) as cluster,
            Client(cluster, security=security, timeout=START_LIMIT_S) as client,
        ):
            client.wait_for_workers(len(slots), timeout=START_LIMIT_S)
            place = GpuWorkers(client)
            try:
                yield place
            finally:
                place.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def dask_settings() -> dict[str, Any]:
    """Return the Dask settings of a process that starts workers, and prepare for a quick start.

    One process imports the modules that all workers need, and each worker is a fork of it: eight workers that import
    Dask by themselves take seconds of every core. That process never opens a GPU, because no fork would survive it.
    """
    found = {"distributed.worker.profile.enabled": False, "logging": {"distributed": "critical"}}
    if FORK in multiprocessing.get_all_start_methods():
        from distributed import utils

        vars(utils)["_forkserver_preload_set"] = True  # otherwise Dask also makes it import pandas
        multiprocessing.get_context(FORK).set_forkserver_preload(["distributed", __name__])
        found["distributed.worker.multiprocessing-method"] = FORK
    return found


def need_dask() -> None:
    if importlib.util.find_spec("distributed") is None or importlib.util.find_spec("cryptography") is None:
        raise EnvironmentProblem("several GPUs are measured through Dask, which is not installed", CLUSTER_EXTRA)


def worker_options(slot: GpuSlot, folder: Path) -> dict[str, Any]:
    """Return the Dask options of a GPU's worker, and make its own folder below ``folder``."""
    own = folder / slot.name.replace(" ", "-")
    own.mkdir(parents=True, exist_ok=True)
    env = {
        **os.environ,  # as it is now: the process that is forked has the environment of its own start
        VISIBLE: slot.uuid,
        "TMPDIR": str(own),
        CORES: ",".join(map(str, slot.cores)),
        "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
        "DASK_LOGGING__DISTRIBUTED": "critical",
    }
    return {
        "name": slot.name,
        "nthreads": 1,
        "resources": resources_of(slot.chip),
        "memory_limit": 0,  # otherwise Dask would stop a worker that needs more than its share to read a report
        "env": env,
        "local_directory": str(own),
        "preload": [__name__],
        "silence_logs": logging.CRITICAL,
    }


def dask_setup(worker: Any) -> None:
    """Prepare a Dask worker for our units: it ignores Ctrl-C, which the command handles, and stops work on request.

    Dask calls this function in every worker that preloads this module. A worker that was not given a GPU takes the
    first visible one.
    """
    worker.ncu_assist_stopped = set[str]()
    signal.signal(signal.SIGINT, _unheard)  # not SIG_IGN: ncu would inherit it and ignore Ctrl-C
    if RESOURCE not in worker.state.total_resources:
        slot = chosen_slots("1", query_gpus()[1], os.environ.get(VISIBLE))[0]
        os.environ[VISIBLE] = slot.uuid
        worker.state.total_resources.update(resources_of(slot.chip))
        worker.state.available_resources.update(resources_of(slot.chip))


def dask_teardown(worker: Any) -> None:
    """Stop the work of a worker that ends."""
    worker.ncu_assist_stopped.add(EVERY)


def resources_of(chip: str) -> dict[str, float]:
    """Return the Dask resources of a worker with a GPU of this model."""
    try:
        tools = [f"{NCU}{version_of(find_ncu())}", NCU.strip()]
    except EnvironmentProblem:  # without ncu it can still check and time
        tools = []
    return dict.fromkeys((RESOURCE, f"{CHIP}{chip}", f"{TOOL}{__version__}", *tools), 1.0)


def _unheard(*_: object) -> None:
    return


def _stop(topic: str, dask_worker: Any) -> None:
    dask_worker.ncu_assist_stopped.add(topic)


@dataclass
class _Told:
    """Reports from a worker to the command: every note, but at most two live lines a second."""

    worker: Any
    topic: str
    kernel: str
    _last: float = 0.0

    def note(self, text: str) -> None:
        self.worker.log_event(self.topic, ("note", self.worker.name, text))

    def status(self, text: str) -> None:
        if time.monotonic() - self._last >= STATUS_STEP_S:
            self._last = time.monotonic()
            self.worker.log_event(self.topic, ("status", self.worker.name, f"{self.kernel}: {text}"))


def on_worker(unit: WorkUnit, topic: str) -> tuple[str, str, bytes, str]:
    """Work on a unit in a worker; return the worker's address and name, the pickled result and its hash."""
    from distributed import get_worker

    worker: Any = get_worker()
    task = worker.get_current_task()

    def is_stopped() -> bool:
        state = worker.state.tasks.get(task)
        return bool(worker.ncu_assist_stopped & {topic, EVERY}) or state is None or state.state == "cancelled"

    _keep_to_cores()
    unit = replace(unit, executor=Stoppable(unit.executor, is_stopped))
    told = _Told(worker, topic, Path(unit.request.kernel_folder).name)
    try:
        result = do(unit.apart(), told) if unit.bundle is None else _do_sent(unit, worker, told)
    except KeyboardInterrupt:
        result = UnitResult(error=StageFailed(STOPPED))
    except NcuAssistError as error:
        result = UnitResult(error=error)
    except OSError as error:
        result = UnitResult(error=EnvironmentProblem(f"the working folder cannot be created: {error}", "df -h"))
    uuid = os.environ.get(VISIBLE, "")
    known = hashlib.sha256(uuid.encode()).hexdigest() if uuid.startswith("GPU-") else ""
    data = pickle.dumps(replace(result, gpu_sha256=known))
    return worker.address, str(worker.name), data, hashlib.sha256(data).hexdigest()


def _do_sent(unit: WorkUnit, worker: Any, told: _Told) -> UnitResult:
    """Work on a unit that came with its files, and keep only its build."""
    started = time.monotonic()
    told.status(f"building {number_of(len(unit.versions), 'version')}")
    unit, made = settled(unit, Path(worker.local_directory).absolute() / "bundles")
    unit = unit.apart()
    try:
        return replace(do(unit, told), built=made, seconds=time.monotonic() - started)
    finally:
        shutil.rmtree(unit.request.out, ignore_errors=True)


def _call(work: Callable[..., Any], arguments: tuple[Any, ...], kernel: str, topic: str) -> Any:
    """Call ``work`` in a worker with a reporter as last argument; return any NcuAssistError if it is raised."""
    from distributed import get_worker

    worker: Any = get_worker()
    _keep_to_cores()
    try:
        return work(*arguments, _Told(worker, topic, kernel))
    except NcuAssistError as error:
        return error


async def _setup_there(needs: Collection[Need]) -> Setup:
    """Return the setup of a worker, even while it measures."""
    return await asyncio.to_thread(setup_here, needs, has_gpu=True, has_ncu=False)


def _keep_to_cores() -> None:
    cores = {int(core) for core in os.environ.get(CORES, "").split(",") if core}
    if cores:
        os.sched_setaffinity(0, cores)  # of this thread, and so of the programs that it starts


@dataclass
class _Flight:
    """A unit with its owner, the workers that must not get it again, and the only allowed ones, if any."""

    owner: Hashable
    unit: WorkUnit
    refused: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()


@dataclass
class GpuWorkers:
    """The GPUs of a Dask cluster as a place for units. If a worker fails, its unit goes to another, if there is one."""

    client: Any
    is_away: bool = False
    _waiting: list[_Flight] = field(default_factory=list)
    _flying: dict[Any, _Flight] = field(default_factory=dict)
    _heard: queue.SimpleQueue[tuple[str, Any]] = field(default_factory=queue.SimpleQueue)
    _builder: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _building: int = 0
    _lines: dict[str, str] = field(default_factory=dict)
    _workers: dict[str, tuple[str, dict[str, float]]] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)
    _lost_at: dict[str, float] = field(default_factory=dict)
    _setups: dict[tuple[str, frozenset[Need]], list[Setup]] = field(default_factory=dict)
    _done: int = 0
    _done_s: float = 0.0
    _expected_s: float = 0.0
    _left_out: set[str] = field(default_factory=set)
    _is_lost: bool = False
    _is_loss_told: bool = False
    _is_closed: bool = False

    def __post_init__(self) -> None:
        self._topic = f"ncu-assist-{self.client.id}"
        self._listen()
        self._known = {address: name for address, (name, _) in self._look_again().items()}

    def _listen(self) -> None:
        self.client.subscribe_topic(self._topic, lambda event: self._heard.put(("event", event[1])))

    @property
    def gpus(self) -> int:
        return max(1, len(self._look_again()))

    def wait(self, seconds: float) -> None:
        """Wait up to ``seconds`` for a usable worker."""
        until = time.monotonic() + seconds
        while not self._look_again() and time.monotonic() < until:
            time.sleep(TICK_S)

    def gpus_for(self, on: str) -> int:
        self._look_again()
        return max(1, len(self._able(on)))

    def setups(self, on: str, needs: Collection[Need], has_gpu: bool, has_ncu: bool) -> Sequence[Setup]:
        if not self.is_away:
            return [setup_here(needs, has_gpu, has_ncu)]
        key = on, frozenset(needs)
        if key in self._setups:
            return self._setups[key]
        self._look_again()
        told: dict[str, Any] = {}
        with contextlib.suppress(Exception):  # a connection may break, or a worker be frozen
            asked = {"workers": self._able(on), "on_error": "return", "callback_timeout": ANSWER_S}
            told = self.client.sync(self.client._run, _setup_there, needs, **asked)
        ncu = {address: _after(NCU, resources) for address, (_, resources) in self._workers.items()}
        found = ((ncu.get(address, ""), one) for address, one in told.items())
        self._setups[key] = [replace(one, ncu=release) for release, one in found if isinstance(one, Setup)]
        return self._setups[key]

    @property
    def names(self) -> list[str]:
        """The names of the GPUs, in their order."""
        return sorted((name for name, _ in self._look_again().values()), key=lambda name: (len(name), name))

    @property
    def chips(self) -> dict[str, list[str]]:
        """The GPU models of a cluster, each with the ncu release next to every GPU, empty for a GPU without ncu."""
        found: dict[str, list[str]] = {}
        for _, resources in self._look_again().values():
            found.setdefault(_after(CHIP, resources), []).append(_after(NCU, resources))
        return dict(sorted(found.items()))

    def _look_again(self) -> dict[str, tuple[str, dict[str, float]]]:
        """Return the name and resources of each usable worker, by address.

        The result is empty while the scheduler cannot be reached. Raises EnvironmentProblem once Dask has given it up.
        """
        self._workers = {}
        info: dict[str, Any] | None = None
        if self.client.status == "running":
            with contextlib.suppress(Exception):  # Dask raises many kinds of errors when a connection breaks
                info = self.client.scheduler_info(n_workers=-1)["workers"]
        if info is None:
            if self.client.status in ("closing", "closed") and not self._is_closed:
                raise EnvironmentProblem(
                    "the scheduler is gone, and did not come back", "start it, then run this again"
                )
            self._is_lost = True
            return {}
        if self._is_lost:
            self._is_lost = self._is_loss_told = False
            self._listen()
        for address, one in info.items():
            resources = one.get("resources", {})
            ours = not self.is_away or f"{TOOL}{__version__}" in resources
            if RESOURCE in resources and ours and address not in self._left_out:
                self._workers[address] = str(one["name"]), resources
        return self._workers

    def _able(self, on: str, needs_ncu: bool = False) -> list[str]:
        """Return the workers whose GPU has this name or model (empty: all), only those with ncu if ``needs_ncu``."""
        return [
            address
            for address, (name, resources) in self._workers.items()
            if (not on or name == on or f"{CHIP}{on}" in resources)
            and (not needs_ncu or not self.is_away or _after(NCU, resources))
        ]

    def build(self, owner: Hashable, work: Callable[[], object]) -> None:
        self._building += 1
        building = self._builder.submit(built, work)
        building.add_done_callback(lambda done: self._heard.put(("built", (owner, done))))

    def submit(self, owner: Hashable, unit: WorkUnit) -> None:
        self._waiting.append(_Flight(owner, unit))

    def call(self, kernel: str, work: Callable[..., object], *arguments: object) -> Any:
        """Start ``work`` for a kernel on the first free GPU; it gets a reporter as its last argument."""
        return self.client.submit(_call, work, arguments, kernel, self._topic, pure=False, resources={RESOURCE: 1})

    def result(self, begun: Any, reporter: Reporter) -> Any:
        """Wait for work that ``call`` started, pass on its reports, and return its result or raise its error."""
        while not begun.done():
            with contextlib.suppress(queue.Empty):
                kind, what = self._heard.get(timeout=TICK_S)
                if kind == "event":
                    self._tell(reporter, *what)
        try:
            found = begun.result()
        except Exception as error:
            raise StageFailed(
                f"it killed its worker each time ({type(error).__name__})", "ncu-assist doctor"
            ) from error
        if isinstance(found, NcuAssistError):
            raise found
        return found

    def finished(self, reporter: Reporter) -> Iterator[tuple[Any, WorkUnit | None, UnitResult]]:
        while self._building or self._waiting or self._flying:
            self._look(reporter)
            self._give_out()
            try:
                kind, what = self._heard.get(timeout=TICK_S)
            except queue.Empty:
                self._show(reporter)
                continue
            if kind == "event":
                self._tell(reporter, *what)
            elif kind == "built":
                self._building -= 1
                yield what[0], None, what[1].result()  # raises an unexpected error
            elif what in self._flying:
                flight = self._flying.pop(what)
                result = self._landed(flight, what, reporter)
                if result is not None:
                    self._done += 1
                    yield flight.owner, flight.unit, result

    def _give_out(self) -> None:
        """Submit the longest waiting units, one for each idle GPU."""
        self._waiting.sort(key=lambda flight: -flight.unit.expected_s)
        for flight in list(self._waiting):
            if len(self._flying) >= len(self._workers):
                return
            on = flight.unit.on
            able = self._able(on, flight.unit.options is not None)
            if len([one for one in self._flying.values() if one.unit.on == on]) >= len(able):
                continue
            others = frozenset(able) - flight.refused
            if not others and self._is_one_expected():
                continue
            self._waiting.remove(flight)
            only = frozenset[str]()
            if flight.refused or self._left_out or (on and not self.is_away):
                only = others or frozenset(able)
            future = self.client.submit(
                on_worker,
                flight.unit,
                self._topic,
                pure=False,
                resources=self._needs(flight.unit),
                workers=sorted(only) or None,
            )
            self._flying[future] = replace(flight, only=only)
            future.add_done_callback(lambda done: self._heard.put(("done", done)))

    def _needs(self, unit: WorkUnit) -> dict[str, float]:
        """Return the resources that a unit needs; a worker that joins later with them may take it, too."""
        needs = [RESOURCE]
        if self.is_away:
            needs += [f"{TOOL}{__version__}", *([f"{CHIP}{unit.on}"] if unit.on else [])]
            needs += [NCU.strip()] if unit.options is not None else []
        return dict.fromkeys(needs, 1.0)

    def _landed(self, flight: _Flight, future: Any, reporter: Reporter) -> UnitResult | None:
        """Return the result of a unit, None if it is submitted again."""
        name = flight.unit.name
        if future.status in ("cancelled", "lost") and not self._is_closed:
            if not self._is_loss_told:
                reporter.note("the scheduler was lost; unfinished work is assigned again")
            self._is_lost = self._is_loss_told = True
            self._waiting.append(flight)
            return None
        try:
            address, worker, data, sha256 = future.result()
        except Exception as error:
            said = f"{name} killed its worker each time ({type(error).__name__})"
            return UnitResult(error=StageFailed(said, "ncu-assist doctor"))
        result: UnitResult
        if hashlib.sha256(data).hexdigest() == sha256:
            result = pickle.loads(data)
        else:
            result = UnitResult(error=DamagedData(f"the result of {name} was damaged in transit", "try again"))
        self._lines.pop(worker, None)
        if isinstance(result.error, StageFailed) and result.error.message == STOPPED and not self._is_closed:
            self._waiting.append(flight)  # its worker was asked to end
            return None
        self._done_s, self._expected_s = self._done_s + result.seconds, self._expected_s + flight.unit.expected_s
        able = self._able(flight.unit.on, flight.unit.options is not None)
        others = [one for one in able if one != address and one not in flight.refused]
        why = ""
        if isinstance(result.error, EnvironmentProblem):
            why = result.error.message
            if others:
                reporter.note(f"{worker} is left out: {why}")
                self._known.pop(address, None)
                self._left_out.add(address)
        elif isinstance(result.error, StageFailed | DamagedData) and not flight.refused:
            why = result.error.message
        elif result.measured and result.measured.bench and not flight.refused:
            throttled = THROTTLED & set(result.measured.bench.throttle_reasons or ())
            why = f"it was throttled ({', '.join(sorted(throttled))})" if throttled else ""
        if not why or not (others or self._is_one_expected()):
            return result
        reporter.note(f"{name} failed on {worker} and is assigned to another: {why}")
        self._waiting.append(replace(flight, refused=flight.refused | {address}))
        return None

    def _look(self, reporter: Reporter) -> None:
        """Report the workers that are gone: one may be lost, and another take its place, while others report."""
        now = {address: name for address, (name, _) in self._look_again().items()}
        if self._is_lost:
            return
        for address, name in self._known.items():
            if address not in now:
                self._lines.pop(name, None)
                self._lost_at[name] = time.monotonic()
                reporter.note(f"{name} lost its worker; its unfinished work is assigned again")
        if set(self._known) != set(now):
            self._take_back()
        self._known = now
        for name in now.values():
            self._lost_at.pop(name, None)

    def _is_one_expected(self) -> bool:
        """Tell whether a worker was lost so lately that Dask is still starting it again."""
        return any(time.monotonic() - at < RESTART_S for at in self._lost_at.values())

    def _take_back(self) -> None:
        """Take back units that wait at a busy worker while another is idle, or for workers that are all gone.

        Dask moves a unit to a busy worker when the unit's own worker is lost.
        """
        processing: dict[str, Sequence[str]] = {}
        with contextlib.suppress(Exception):  # the connection may break
            processing = self.client.processing()
        is_idle = any(not processing.get(address) for address in self._workers)
        behind = {key for keys in processing.values() for key in list(keys)[1:]} if is_idle else set[str]()
        for future, flight in list(self._flying.items()):
            if future.key in behind or (flight.only and not flight.only & set(self._workers)):
                self._waiting.append(self._flying.pop(future))
                future.cancel()

    def _tell(self, reporter: Reporter, kind: str, worker: str, text: str) -> None:
        if kind == "note":
            reporter.note(text)
            return
        self._lines[worker] = text
        self._show(reporter)

    def _show(self, reporter: Reporter) -> None:
        """Show the progress, and a line for each GPU."""
        if self._is_lost:
            reporter.status("the scheduler does not answer; waiting for it")
            return
        total = self._done + len(self._waiting) + len(self._flying)
        pace = self._done_s / self._expected_s if self._expected_s else 0.0
        left_s = sum(one.unit.expected_s for one in (*self._waiting, *self._flying.values())) * pace / self.gpus
        left = f", about {minutes(left_s)} left" if left_s >= 1 else ""
        building = ", building" if self._building else ""
        lines = [f"{name}: {text}" for name, text in sorted(self._lines.items())]
        done = [f"{self._done} of {total} done{building}{left}"] if total or building else []
        reporter.status("\n".join([*done, *lines]))

    def close(self) -> None:
        """End the children of all workers, and wait until they are gone."""
        if self._is_closed:
            return
        self._is_closed = True
        self._builder.shutdown(wait=False, cancel_futures=True)
        if self._flying:
            with contextlib.suppress(Exception):  # a frozen worker does not answer
                asked = {"on_error": "return", "callback_timeout": GRACE_S}
                self.client.sync(self.client._run, _stop, self._topic, **asked)
            with contextlib.suppress(Exception):
                from distributed import wait

                wait(list(self._flying), timeout=GRACE_S)
