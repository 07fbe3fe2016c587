"""A cluster of real processes: what is measured comes back whole, whatever happens to scheduler, workers and disks."""

from __future__ import annotations

import asyncio
import datetime
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from cli.commandline import Run, measure_here, run
from fakes.fake_gpu import FakeGpu
from patience import CEILING_S, has_ended, soon
from pipeline.clusters import H100, H200, Cluster, cluster_in
from pipeline.measured import Notes
from pipeline.shared_out import assert_whole, make_jobs

from ncu_assist.errors import DamagedData, EnvironmentProblem, NcuAssistError, UsageProblem
from ncu_assist.executors import EXECUTORS
from ncu_assist.pipeline import gpu_workers
from ncu_assist.pipeline.cluster import cluster_workers
from ncu_assist.pipeline.gpu_workers import TICK_S
from ncu_assist.pipeline.measuring import MeasureJob, measure_all
from ncu_assist.pipeline.work_units import OneGpu, bundle_of, unpacked
from ncu_assist.spec_file import read_kernel
from ncu_assist.store import Store, machine_hash

__all__ = ["run"]


def measured(cluster: Cluster, jobs: list[MeasureJob], notes: Notes, is_chatty: bool = False) -> list[int]:
    """Measure on a cluster; if ``is_chatty``, with a worker that reports all the while, as many do together."""
    with cluster_workers(cluster.where, False, notes) as place:
        over = threading.Event()

        def chat() -> None:
            while is_chatty and not over.wait(TICK_S / 4):
                place._heard.put(("event", ("status", "GPU 9", "at work")))

        threading.Thread(target=chat).start()
        try:
            return [one.exit_code for one in measure_all(jobs, notes, place=place)]
        finally:
            over.set()


def test_a_bundle_is_named_by_what_it_holds(tmp_path: Path) -> None:
    job = make_jobs(tmp_path, ["one"], FakeGpu())[0]
    shared = tmp_path / "kernels" / "shared.py"
    shared.write_text("ONE = 1\n")
    (job.kernel.folder / "shared.py").symlink_to(shared)
    (job.kernel.folder / "__pycache__").mkdir()
    (job.kernel.folder / "__pycache__" / "x.pyc").touch()
    bundle = bundle_of(job.kernel)
    assert set(bundle.files) == {
        f"kernels/one/{name}" for name in ("kernel.toml", "reference.py", "shared.py", "v0_naive.py", "v1_shared.py")
    }
    kernel = unpacked(bundle, tmp_path / "there")
    assert [version.name for version in kernel.versions] == ["v0_naive", "v1_shared"]
    assert bundle_of(kernel).sha256 == bundle.sha256
    (kernel.folder / "shared.py").write_text("ONE = 2\n")  # stale
    assert bundle_of(unpacked(bundle, tmp_path / "there")).sha256 == bundle.sha256
    shared.write_text("ONE = 3\n")
    assert bundle_of(read_kernel(job.kernel.folder)).sha256 != bundle.sha256
    bundle.files["kernels/one/shared.py"] = b"ONE = 4\n"  # type: ignore[index]
    with pytest.raises(DamagedData):
        unpacked(bundle, tmp_path / "there")


@pytest.mark.slow
def test_workers_measure_what_they_are_sent_on_each_model_of_gpu(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_jobs(tmp_path, ["one", "two"], FakeGpu())
    measure_here(monkeypatch, tmp_path)
    monkeypatch.setitem(EXECUTORS, "local", FakeGpu())
    with cluster_in(tmp_path / "cluster") as cluster:
        cluster.start_workers(1, H200)
        cluster.start_workers(1, H100, first=1)
        with cluster_workers(cluster.where, False, Notes()) as place:
            assert soon(lambda: len(place.chips) == 2)
        done = run("profile", "one", "two", "--workload", "all", "--cluster", cluster.where)
        benched = run("bench", "one", "v0", "v1", "--workload", "w0", "--cluster", cluster.where, "--json")
        assert run("check", "one", "--cluster", cluster.where).code == 0
        shown = run("history", "one")
        asked = ("profile", "one", "two", "--workload", "all", "--cluster", cluster.where)
        assert run(*asked).code == 0  # what the check of one workload has made the newest is no whole run
        before = ids(tmp_path)
        same = run(*asked)
        assert (same.code, ids(tmp_path) - before) == (0, set())
        edited = tmp_path / "kernels" / "one" / "v1_shared.py"
        edited.write_text(f"{edited.read_text()}\n# edited\n")
        part = run(*asked)
        assert part.code == 0
        again = run(*asked[:2], *asked[3:], "--again")
        assert again.code == 0
    for chip in (H100, H200):
        assert f"one v0, v1 on {chip}: measured on 20" in same.err
        assert f"one v1 on {chip}: its source has changed" in part.err
        assert f"two v0, v1 on {chip}: measured on 20" in part.err
    assert "and unchanged" not in again.err
    assert part.out.index("two on 2 GPU models")
    new = [stored.run for stored in Store(tmp_path / "reports").runs() if stored.run.run_id not in before]
    timed = Counter((one.kernel, one.version, one.profile is not None) for one in new)
    assert timed == {
        ("one", "v1_shared", True): 4,  # edited, and --again, on each of two
        ("one", "v0_naive", False): 2,  # beside the one that was edited
        ("one", "v0_naive", True): 2,
    }
    assert done.code == 0, done.err
    table = done.out[done.out.index("one on 2 GPU models") :]
    assert "H100 80GB HBM3" in table
    assert table.count("v1_shared") == 4  # two kernels on two workloads
    assert max(map(len, done.out.splitlines())) <= 80
    assert len(benched.json["kernels"]) == 2
    for kernel in benched.json["kernels"]:
        assert kernel["verdicts"][0]["verdict"] == "faster"
    runs = [stored.run for stored in Store(tmp_path / "reports").runs("one", "v1_shared")]
    assert {run.gpu for run in runs} == {H200, H100}
    assert {run.machine for run in runs} == {machine_hash()}
    assert {len(run.launches) > 0 for run in runs if run.profile} == {True}
    assert shown.code == 0
    assert "H100" in shown.out
    assert "H200" in shown.out
    assert not Store(tmp_path / "reports").damaged()


def ids(root: Path) -> set[str]:
    return {stored.run.run_id for stored in Store(root / "reports").runs()}


def test_no_room_for_the_files_of_a_kernel_is_told(tmp_path: Path) -> None:
    """On the machine that asks: a file stands where its folder of work would be made."""
    job = make_jobs(tmp_path, ["one"], FakeGpu())[0]
    job.project.work.parent.mkdir(exist_ok=True)
    job.project.work.write_text("")
    place = OneGpu(is_away=True)
    with pytest.raises(EnvironmentProblem, match="there is no room to build in"):
        measure_all([job], Notes(), place=place)


CHILD = """
import os, signal, sys, time
from pathlib import Path

signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a program may
here = Path(__file__).parent
(here / f"pid-{os.getpid()}").write_text(str(os.getppid()))
while not (here / "go").exists():
    time.sleep(0.05)
"""


def children(folder: Path) -> dict[int, int]:
    """The programs that were started, with the worker of each."""
    return {int(path.name[4:]): int(path.read_text()) for path in folder.glob("pid-*") if path.read_text()}


def waiting(folder: Path, kernels: list[str]) -> FakeGpu:
    (folder / "child.py").write_text(CHILD)
    return FakeGpu(dict.fromkeys(kernels, 0.1), program=(sys.executable, str(folder / "child.py")))


def beside(work: Callable[[], list[int]]) -> tuple[threading.Thread, list[int]]:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.extend(work()))
    thread.start()
    return thread, codes


@pytest.mark.slow
def test_neither_a_worker_nor_the_scheduler_takes_work_with_it(tmp_path: Path) -> None:
    """A worker is killed, and its program goes too; then the scheduler is, and both come back."""
    kernels = ["one", "two", "three"]
    jobs = make_jobs(tmp_path, kernels, waiting(tmp_path, kernels))
    notes = Notes()
    with cluster_in(tmp_path / "cluster") as cluster:
        cluster.start_workers(2)
        thread, codes = beside(lambda: measured(cluster, jobs, notes, is_chatty=True))
        assert soon(lambda: len(children(tmp_path)) == 2)
        program, worker = next(iter(children(tmp_path).items()))
        os.kill(worker, signal.SIGKILL)
        assert has_ended(program)
        assert soon(lambda: len(children(tmp_path)) == 3)  # Dask has started another worker
        assert cluster.scheduler is not None
        known = children(tmp_path)
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        assert all(has_ended(program) for program in known)
        cluster.start_scheduler()
        assert soon(lambda: len(children(tmp_path)) >= 5)
        (tmp_path / "go").touch()
        thread.join(120)
    assert codes == [0, 0, 0], (notes.notes, cluster.said("worker"))
    assert_whole(tmp_path, jobs)
    said = "\n".join(notes.notes)
    assert "lost its worker" in said
    assert "the scheduler was lost" in said
    assert "is gone; waiting for it" in cluster.said("worker")


@pytest.mark.slow
def test_a_worker_that_starts_again_gets_what_the_other_failed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker is killed and starts late; the disk of the only other is full meanwhile."""
    monkeypatch.setattr(gpu_workers, "RESTART_S", CEILING_S)
    faults = tmp_path / "faults"
    faults.mkdir()
    jobs = make_jobs(tmp_path, ["one", "two"], replace(waiting(tmp_path, ["one", "two"]), faults=faults))
    notes = Notes()
    with cluster_in(tmp_path / "cluster") as cluster:
        groups = [cluster.start_workers(1), cluster.start_workers(1, first=1)]
        with cluster_workers(cluster.where, False, notes) as place:
            assert soon(lambda: len(place.names) == 2)
        thread, codes = beside(lambda: measured(cluster, jobs, notes))
        assert soon(lambda: len(children(tmp_path)) == 2)
        killed = children(tmp_path).popitem()[1]
        starter = next(one.pid for one in groups if os.getpgid(killed) == one.pid)
        os.kill(starter, signal.SIGSTOP)
        os.kill(killed, signal.SIGKILL)
        assert soon(lambda: "lost its worker" in "\n".join(notes.notes))
        for kernel in ("one", "two"):
            (faults / f"ncu-full.{kernel}").touch()
        (tmp_path / "go").touch()
        assert soon(lambda: "is assigned to another" in "\n".join(notes.notes))
        os.kill(starter, signal.SIGCONT)
        thread.join(120)
    assert codes == [0, 0], (notes.notes, cluster.said("worker"))
    assert_whole(tmp_path, jobs)


@pytest.mark.alone
def test_what_a_worker_fails_at_is_given_to_another(tmp_path: Path) -> None:
    """Twenty faults: 17 at work of their own, then a stale bundle, a version that hangs, a GPU that is throttled."""
    faults = tmp_path / "faults"
    faults.mkdir()
    kernels = [f"k{number}" for number in range(18)]
    # A full disk and a lost GPU cost their worker, of six; one that is killed comes back.
    due = ["full", "child-full", "gone", "ncu-full", "ncu", *6 * ["kill", "ncu-kill"]]
    for kind, kernel in zip(due, kernels[:-1], strict=True):
        (faults / f"{kind}.{kernel}").touch()
    gpu = FakeGpu(dict.fromkeys(kernels, 0.1), dict.fromkeys(kernels, 0.1), faults=faults)
    jobs = make_jobs(tmp_path, kernels, gpu)
    notes = Notes()
    began = time.monotonic()
    with cluster_in(tmp_path / "cluster", TMPDIR=str(tmp_path)) as cluster:
        for number in range(3):
            cluster.start_workers(2, first=2 * number)
        codes = measured(cluster, jobs, notes)
        assert codes == [0] * 18, notes.notes
        # Of any kernel: a worker that is killed later takes its folder along.
        stale = next(tmp_path.glob("ncu-assist-worker-*/**/bundles/*/kernels/k*/v0_naive.py"))
        stale.write_text("not what it was")
        hanging = make_jobs(tmp_path / "more", ["hang"], FakeGpu(faults=faults), limit_s=1.0)
        (faults / "hang.hang").touch()
        hung = measured(cluster, hanging, notes)
        # Apart: a worker that is killed takes along what it would say of its clocks.
        again = kernels.index(stale.parent.name)
        (faults / f"throttled.{kernels[again]}").touch()
        assert measured(cluster, jobs[again : again + 1], notes) == [0]  # sources again, as they were
    took = time.monotonic() - began
    assert [path.name for path in faults.glob("[!d]*")] == []  # each fault was met
    assert hung == [5]
    said = "\n".join(notes.notes)
    for words in ("lost its worker", "is left out", "No space left", "it was throttled", "is assigned to another"):
        assert words in said, said
    store = Store(tmp_path / "reports")
    assert len(store.runs()) == 2 * 18 + 2
    assert not store.damaged()
    assert took < CEILING_S, took


@pytest.mark.slow
def test_two_commands_share_a_cluster(tmp_path: Path) -> None:
    """Each gets what it asked for, once, and neither ends what runs for the other."""
    sides = [tmp_path / "a", tmp_path / "b"]
    kernels = ["one", "two", "three"]
    seconds = dict.fromkeys(kernels, 0.1)
    every = [make_jobs(side, kernels, FakeGpu(seconds, seconds)) for side in sides]
    with cluster_in(tmp_path / "cluster") as cluster:
        cluster.start_workers(2)
        begun = [beside(lambda jobs=jobs: measured(cluster, jobs, Notes())) for jobs in every]
        for thread, _ in begun:
            thread.join(120)
    assert [codes for _, codes in begun] == [[0, 0, 0], [0, 0, 0]]
    for side, jobs in zip(sides, every, strict=True):
        assert_whole(side, jobs)


@pytest.mark.slow
def test_a_frozen_worker_holds_up_no_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ncu_assist.pipeline.gpu_workers.GRACE_S", 2.0)
    jobs = make_jobs(tmp_path, ["one", "two"], waiting(tmp_path, ["one", "two"]))
    with cluster_in(tmp_path / "cluster", DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="300s") as cluster:
        cluster.start_workers(2)
        with cluster_workers(cluster.where, False, Notes()) as place:
            ended: list[NcuAssistError] = []

            def work() -> list[int]:
                try:
                    return [one.exit_code for one in measure_all(jobs, Notes(), place=place)]
                except NcuAssistError as error:
                    ended.append(error)
                    return []

            thread, codes = beside(work)
            assert soon(lambda: len(children(tmp_path)) == 2)
            (frozen, its), (program, _) = children(tmp_path).items()
            os.kill(its, signal.SIGSTOP)
            began = time.monotonic()
            place.close()
            assert time.monotonic() - began < 60
            assert has_ended(program)  # of the worker that hears
            os.kill(its, signal.SIGCONT)
            assert has_ended(frozen)
            thread.join(60)
    assert codes == []
    assert [error.message for error in ended] == ["stopped"]


STUCK = """
import sys
from pathlib import Path

from fakes.fake_gpu import FakeGpu
from pipeline.measured import Notes
from pipeline.shared_out import make_jobs
from pipeline.test_cluster import waiting
from ncu_assist.pipeline.cluster import cluster_workers
from ncu_assist.pipeline.gpu_workers import TICK_S
from ncu_assist.pipeline.measuring import measure_all

if __name__ == "__main__":
    root, kernels = Path(sys.argv[1]), ["one", "two"]
    jobs = make_jobs(root, kernels, waiting(root, kernels))
    with cluster_workers(sys.argv[2], False, Notes()) as place:
        measure_all(jobs, Notes(), place=place)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_programs_on_all_workers_end_with_the_command(tmp_path: Path, number: signal.Signals) -> None:
    """With Ctrl-C, and where the command is killed. The workers are there for the next one."""
    (tmp_path / "main.py").write_text(STUCK)
    with cluster_in(tmp_path / "cluster") as cluster:
        cluster.start_workers(2)
        argv = [sys.executable, str(tmp_path / "main.py"), str(tmp_path), cluster.where]
        main = subprocess.Popen(argv, env=cluster.env, stderr=subprocess.PIPE, text=True)
        assert soon(lambda: len(children(tmp_path)) == 2)
        main.send_signal(number)
        main.communicate(timeout=60)
        assert all(has_ended(program) for program in children(tmp_path))
        jobs = make_jobs(tmp_path / "next", ["one"], FakeGpu(), counted=False)
        assert measured(cluster, jobs, Notes()) == [0]


@pytest.mark.slow
def test_a_worker_that_is_told_to_end_leaves_nothing(tmp_path: Path) -> None:
    kernels = ["one"]
    jobs = make_jobs(tmp_path, kernels, waiting(tmp_path, kernels), counted=False)
    with cluster_in(tmp_path / "cluster", TMPDIR=str(tmp_path)) as cluster:
        first = cluster.start_workers(1)
        thread, codes = beside(lambda: measured(cluster, jobs, Notes()))
        assert soon(lambda: len(children(tmp_path)) == 1)
        first.terminate()
        assert first.wait(60) == 0
        assert all(has_ended(program) for program in children(tmp_path))
        assert not list(tmp_path.glob("ncu-assist-worker-*"))
        (tmp_path / "go").touch()
        cluster.start_workers(1, first=1)
        thread.join(120)
    assert codes == [0]


@pytest.mark.slow
def test_a_scheduler_that_others_can_reach_is_refused(run: Run) -> None:
    for argv in (["bench", "softmax", "--cluster"], ["worker"]):
        refused = run(*argv, "tcp://192.0.2.1:8786")
        assert refused.code == (6 if argv == ["worker"] and "driver" in refused.err else 2)
    assert "--allow-open-scheduler" in run("bench", "softmax", "--cluster", "tcp://192.0.2.1:8786").err
    assert run("bench", "softmax", "--cluster", "no-such-file.json").code == 6
    assert run("bench", "softmax", "--gpus", "all", "--cluster", "tcp://127.0.0.1:1").code == 2
    assert run("bench", "softmax", "--cluster", "tcp://127.0.0.1:1").code == 6


@pytest.mark.slow
def test_a_tunnel_hides_no_open_scheduler(tmp_path: Path) -> None:
    with cluster_in(tmp_path / "cluster") as cluster:
        assert cluster.scheduler is not None
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        cluster.start_scheduler("--host", "0.0.0.0")

        async def asked() -> None:
            with pytest.raises(UsageProblem, match="anyone who reaches it"):
                cluster_workers(cluster.where, False, Notes()).__enter__()

        with ThreadPoolExecutor(1) as notebook:  # whose thread has a loop that runs
            notebook.submit(asyncio.run, asked()).result()


@pytest.mark.slow
def test_certificates_of_dask_s_own_settings_keep_others_out(tmp_path: Path) -> None:
    import dask

    files = certificates(tmp_path)
    settings = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(path) for name, path in files.items()}
    jobs = make_jobs(tmp_path, ["one"], FakeGpu(), counted=False)
    with cluster_in(tmp_path / "cluster", protocol="tls", **settings) as cluster:
        cluster.start_workers(1)
        with pytest.raises(UsageProblem, match="no certificates"), cluster_workers(cluster.where, False, Notes()):
            pass
        plain = cluster.where.replace("tls:", "tcp:")
        with pytest.raises(EnvironmentProblem), cluster_workers(plain, False, Notes()):
            pass
        known = {
            f"distributed.comm.tls.{name.lower().replace('__', '.').replace('_', '-')}": str(path)
            for name, path in files.items()
        }
        with dask.config.set(known):
            assert measured(cluster, jobs, Notes()) == [0]
    assert_whole(tmp_path, jobs, counted=False)


def certificates(folder: Path) -> dict[str, Path]:
    """Write a certificate that is its own authority, with its key, and return the files by Dask's settings."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "cluster")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    cert, secret = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    no_password = serialization.NoEncryption()
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    secret.write_bytes(key.private_bytes(pem, pkcs8, no_password))
    roles = {
        f"{role}__{what}": path
        for role in ("SCHEDULER", "WORKER", "CLIENT")
        for what, path in (("CERT", cert), ("KEY", secret))
    }
    return {"CA_FILE": cert, **roles}
