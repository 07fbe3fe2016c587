"""Damaged reports, thousands of them: refused, told, or counted openly; never less without a word, never a crash.

``python tests/ncu/corruptions.py streams_full bit 12 DAMAGED.ncu-rep`` writes the damaged report of one case.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import pytest
from factories import make_run
from ncu.corruptions import BLIND, CUTS, KINDS, Original, corrupted, recorded
from ncu.judging import LESS, REFUSED, Verdict, facts, judge
from ncu.reader_server import ReaderServer

from ncu_assist import process
from ncu_assist.errors import DamagedData
from ncu_assist.ncu.compressed import compress
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.store import Store, StoredRun

TIMES = int(os.environ.get("NCU_ASSIST_FUZZ_TIMES", "1"))  # `make fuzz` sets it to ten
SEEDS = {"transpose_basic": 45 * TIMES, "triton_full": 5 * TIMES, "streams_full": 4 * TIMES}  # of each kind
CUT_SEEDS = 12 * TIMES
DEEP_EVERY = {"transpose_basic": 3, "triton_full": 4, "streams_full": 4}  # cases in which all frames are made
REAL_CHILD_EVERY = 16  # cases in which the child is started and not forked
WORKERS = 2
# A file that ends between two blocks, or lacks one, is what a shorter run would have written: ncu's log alone tells.
ONLY_THE_LOG_TELLS = ("block lost", "cut between blocks")


@dataclass
class Fuzzed:
    """A report, as it was and as ever so many files."""

    name: str
    original: Original
    intact: Report
    folder: Path

    def seeds(self, kind: str) -> range:
        return range(CUT_SEEDS if kind in CUTS else SEEDS[self.name])


@pytest.fixture(scope="module")
def tally(at_the_end: Callable[[str], None]) -> Iterator[Counter[tuple[str, str]]]:
    """Counts what became of the reports of each kind; printed when all tests are done."""
    found: Counter[tuple[str, str]] = Counter()
    yield found
    words = Counter(word for _, word in found.elements())
    at_the_end(f"{found.total()} damaged reports without a hash: {_counts(words)}")
    for kind in dict.fromkeys(kind for kind, _ in found):
        at_the_end(f"  {kind}: {_counts(Counter({word: n for (k, word), n in found.items() if k == kind}))}")


@pytest.fixture(scope="module")
def hashed(at_the_end: Callable[[str], None]) -> Iterator[Counter[str]]:
    """Counts the damaged reports that a hash refused: all of them."""
    found: Counter[str] = Counter()
    yield found
    at_the_end(f"with the hash of their capture: {_counts(found)}")


def _counts(words: Counter[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in words.most_common())


@pytest.fixture(scope="module")
def servers() -> Iterator[SimpleQueue[ReaderServer]]:
    queue: SimpleQueue[ReaderServer] = SimpleQueue()
    started = [ReaderServer() for _ in range(WORKERS)]
    for one in started:
        queue.put(one)
    yield queue
    for one in started:
        one.close()


@pytest.fixture(scope="module", params=SEEDS)
def fuzzed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fuzzed:
    folder = tmp_path_factory.mktemp(request.param)
    path = folder / "intact.ncu-rep"
    path.write_bytes(recorded(request.param))
    return Fuzzed(request.param, Original(path.read_bytes()), read_report(path), folder)


@pytest.fixture
def forked(servers: SimpleQueue[ReaderServer], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the reader's child be a fork, unless a case asks for a real one by the name of its file."""
    real = process.run

    def run(argv: Sequence[str], timeout_s: float | None = None, **heard: object) -> process.Completed:
        if any("real_child" in word for word in argv):
            return real(argv, timeout_s=timeout_s)
        server = servers.get()
        try:
            code, words, late = server.run(argv[argv.index("ncu_assist.ncu.reader") + 1 :])
        finally:
            servers.put(server)
        return process.Completed(tuple(argv), code, "", words, 0.0, late)

    monkeypatch.setattr(process, "run", run)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("forked")
def test_without_a_hash(fuzzed: Fuzzed, kind: str, tally: Counter[tuple[str, str]]) -> None:
    with ThreadPoolExecutor(WORKERS) as pool:
        found = list(pool.map(lambda seed: _verdict(fuzzed, kind, seed), fuzzed.seeds(kind)))
    tally.update((kind, verdict.word) for verdict in found)
    wrong = [f"{fuzzed.name} {kind!r} {i}: {one.why}" for i, one in enumerate(found) if one.word == LESS or _crash(one)]
    assert not wrong


def _crash(verdict: Verdict) -> bool:
    """Tell whether the child died of something that nobody thought of."""
    words = "the reader failed", "a bug in ncu-assist"
    return any(one in verdict.why for one in words) or "could not be read within" in verdict.why


def _verdict(fuzzed: Fuzzed, kind: str, seed: int) -> Verdict:
    child = "real_child" if seed % REAL_CHILD_EVERY == 1 else "fork"
    path = fuzzed.folder / f"{kind} {seed} {child}.ncu-rep"
    path.write_bytes(corrupted(fuzzed.original, kind, seed))
    try:
        verdict = judge(path, fuzzed.intact, deep=seed % DEEP_EVERY[fuzzed.name] == 0)
        if verdict.word == LESS and kind in ONLY_THE_LOG_TELLS:
            return _without_launches(path, fuzzed)
        return verdict
    finally:
        path.unlink()


def _without_launches(path: Path, fuzzed: Fuzzed) -> Verdict:
    """Return the verdict on a report that is shorter and whole: refused where the number of launches is known."""
    all_of_them = len(fuzzed.intact.launches)
    if len(read_report(path).launches) < all_of_them:
        with pytest.raises(DamagedData, match=f"ncu's log says it profiled {all_of_them}"):
            read_report(path, expected_launches=all_of_them)
        return Verdict("refused by ncu's log only")
    return Verdict(LESS, "not of launches")


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_hash(fuzzed: Fuzzed, kind: str, tmp_path: Path, hashed: Counter[str]) -> None:
    stored = _archived(tmp_path, "report.ncu-rep", fuzzed.original.data)
    for seed in fuzzed.seeds(kind):
        _check_refused(stored, "report.ncu-rep", corrupted(fuzzed.original, kind, seed))
        hashed[REFUSED] += 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", BLIND)
def test_a_compressed_one_with_a_hash(fuzzed: Fuzzed, kind: str, tmp_path: Path, hashed: Counter[str]) -> None:
    packed = compress(fuzzed.original.data)
    stored = _archived(tmp_path, "report.ncu-rep.zst", packed)
    for seed in fuzzed.seeds(kind):
        _check_refused(stored, "report.ncu-rep.zst", corrupted(Original(packed), kind, seed))
        hashed[REFUSED] += 1


def _archived(reports: Path, name: str, content: bytes) -> StoredRun:
    stored = Store(reports).save(make_run(), {name: content})
    assert stored.report_bytes() is not None
    return stored


def _check_refused(stored: StoredRun, name: str, content: bytes) -> None:
    (stored.folder / name).chmod(0o644)
    (stored.folder / name).write_bytes(content)
    with pytest.raises(DamagedData, match="report"):
        stored.report_bytes()


def test_there_are_enough_of_them() -> None:
    cuts = CUT_SEEDS * len(CUTS) * len(SEEDS)
    assert cuts >= 50
    assert sum(SEEDS.values()) * (len(KINDS) - len(CUTS)) >= 1000 * TIMES


@pytest.mark.usefixtures("forked")
def test_the_fork_reads_what_the_child_reads(fuzzed: Fuzzed) -> None:
    assert facts(read_report(fuzzed.intact.path)) == facts(fuzzed.intact)
