"""The drafts of an archive, ``reports/<kernel>/suggest/<id>/``: what is kept of one, saved whole, listed, verified."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from ncu_assist import schema
from ncu_assist.errors import DamagedData, NewerData, UsageProblem, did_you_mean
from ncu_assist.record import FileFact, Source, content_digest
from ncu_assist.store import Damage, new_run_id
from ncu_assist.store.folders import DRAFTS, foreign_files, is_folder_name, run_folders, unreadable
from ncu_assist.store.reading import file_problem, record_of
from ncu_assist.store.writing import (
    ArchivePlace,
    check_names,
    environment_problem,
    sync_folder,
    write_file,
    write_whole,
)

SCHEMA = "ncu-assist.draft/1"
PROMPT, BUILD_LOG = "prompt.md", "build.log"
REFUSAL = "refusal.txt"  # what to tell the author of a reply that cannot be used: the nearest lines of an edit
TOOLS = "tools.jsonl"  # the tools that a model called before it replied, with what they answered
RUNS = "runs"  # what proving a draft measured: an archive of its own below its folder
DRAFT_JSON = "draft.json"
HINT = "ncu-assist verify"
NOT_BUILT = "it does not build"  # the reason of a draft that a compiler rejected
Direction = Literal["up", "down"]
FateWord = Literal["drafted", "kept", "rejected", "unproven"]


@dataclass(frozen=True)
class QuotedEvidence:
    """A piece of evidence that a reply cites, and the number that it quotes of it, None where it quotes none."""

    id: str  # E3
    value: float | None = None


@dataclass(frozen=True)
class MetricPrediction:
    """What a reply says a metric will do; ``metric`` as the evidence names it, ``factor`` after over before."""

    metric: str
    direction: Direction
    factor: float | None = None


@dataclass(frozen=True)
class Claim:
    """What a reply says beside its source: what binds, the one change, and what it will do."""

    bottleneck: str
    change: str
    slug: str  # of the version's file name: lower case, digits, underscores
    evidence: tuple[QuotedEvidence, ...] = ()
    predictions: tuple[MetricPrediction, ...] = ()
    expected_speedup: float | None = None


@dataclass(frozen=True)
class ModelCost:
    """What the replies to one draft cost, repairs included. ``estimated``: tokens are characters over four."""

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    seconds: float = 0.0
    estimated: bool = False

    @classmethod
    def of_all(cls, costs: Iterable[ModelCost]) -> ModelCost:
        """Return what several questions cost together."""
        every = tuple(costs)
        return cls(
            calls=sum(one.calls for one in every),
            prompt_tokens=sum(one.prompt_tokens for one in every),
            reply_tokens=sum(one.reply_tokens for one in every),
            seconds=sum(one.seconds for one in every),
            estimated=any(one.estimated for one in every),
        )


@dataclass(frozen=True)
class Score:
    """A prediction held against what was measured; ``came_true`` is None where the metric could not be compared."""

    prediction: MetricPrediction
    before: float | None
    after: float | None
    came_true: bool | None


@dataclass(frozen=True)
class ProofStage:
    """A step of a proof: build, sanitize, check, bench, profile, diff. ``said`` is why it failed, or what it found."""

    name: str
    passed: bool
    seconds: float
    said: str = ""


@dataclass(frozen=True)
class Proof:
    """What measuring a draft against its parent gave. Times in nanoseconds on ``workload``, the default one.

    ``speedup`` is parent over draft with its interval; ``verdict`` the word of the bench. ``sandbox`` is how the draft
    was run: bwrap, unshare, or none. ``run`` is the reference of the draft's archived run, once it is kept.
    """

    stages: tuple[ProofStage, ...]
    sandbox: str
    workload: str
    verdict: str = ""
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    parent_ns: float | None = None
    draft_ns: float | None = None
    scores: tuple[Score, ...] = ()
    run: str = ""


@dataclass(frozen=True)
class Draft:
    """One draft of a kernel's next version. ``fate`` and ``reason`` say what became of it, in that order.

    ``parent`` is the run that the prompt was built from, ``diagnosis`` the id of its first finding, ``flaws`` what is
    wrong with the reply's citations and predictions in words, ``version`` the file it was written to once accepted.
    """

    id: str
    kernel: str
    parent: str  # kernel/version@run
    created: str  # ISO 8601, UTC
    model: str  # empty for a reply from a file
    origin: str  # model, or file
    round: int
    candidate: int
    diagnosis: str
    claim: Claim | None  # None where no reply could be used
    suffix: str  # .cu or .py
    prompt_sha256: str
    source_sha256: str  # of the draft's bytes; empty where there is none
    fate: FateWord
    reason: str
    flaws: tuple[str, ...] = ()
    cost: ModelCost = ModelCost()
    proof: Proof | None = None
    version: str = ""
    source: Source = "live"  # recorded: measured elsewhere and shipped, as a run's
    prompt: str = ""  # the id of the prompt that it answers; empty for an older draft
    schema: str = SCHEMA


def new_draft_id(told_by: str, now: datetime | None = None) -> str:
    """Return an id that sorts by time; ``told_by`` is any text that tells drafts of one moment apart."""
    return new_run_id(now or datetime.now(UTC), told_by)


def reply_name(number: int) -> str:
    """Return the name of the file of a raw reply, counted from 1: repairs come after."""
    return f"reply-{number}.txt"


def source_name(suffix: str) -> str:
    """Return the name of the file that is the draft itself; ``suffix`` as ``Draft.suffix``."""
    return f"draft{suffix}"


def runs_below(archive: Path) -> dict[str, bytes | Path]:
    """Return the files of an archive of runs by the names that they have in the folder of a draft."""
    found = (path for path in sorted(archive.rglob("*")) if path.is_file())
    return {f"{RUNS}/{path.relative_to(archive).as_posix()}": path for path in found}


@dataclass(frozen=True)
class DraftArchive:
    """The folder ``reports/`` of a project, as far as it holds drafts; it need not exist before the first save."""

    reports: Path

    def save(self, draft: Draft, files: Mapping[str, bytes | Path]) -> StoredDraft:
        """Write a draft with its files and return it as it reads back.

        Raises EnvironmentProblem when the disk refuses (nothing is left behind), UsageProblem for an id that exists.
        """
        check_names({"kernel": draft.kernel, "draft": draft.id}, files)
        if DRAFT_JSON in files:
            raise UsageProblem(f"'{DRAFT_JSON}' cannot be the name of a file of a draft")
        folder = self.reports / draft.kernel / DRAFTS / draft.id
        place = ArchivePlace(self.reports, folder, DRAFT_JSON, "draft", f"{draft.kernel}/{DRAFTS}/{draft.id}")
        write_whole(place, files, lambda facts: encode_record(draft, facts))
        return open_draft(folder)

    def update(self, stored: StoredDraft, draft: Draft, files: Mapping[str, bytes | Path] = {}) -> StoredDraft:
        """Replace the record of a draft, as its fate after the proof, and add ``files``; none may be there already.

        The record is written whole and renamed last: before that it is the old one. Raises EnvironmentProblem when the
        disk refuses, UsageProblem for another draft's record or a file that is there already.
        """
        check_names({"draft": draft.id}, files)
        if (draft.kernel, draft.id) != (stored.draft.kernel, stored.draft.id):
            raise UsageProblem(f"{stored.reference} is another draft than {draft.kernel}/{DRAFTS}/{draft.id}")
        taken = next((name for name in files if (stored.folder / name).exists() or name == DRAFT_JSON), None)
        if taken:
            raise UsageProblem(f"{stored.reference} has a file {taken} already, which is never overwritten")
        try:
            _replace(stored, draft, files)
        except OSError as error:
            raise environment_problem(error, "draft") from error
        return open_draft(stored.folder)

    def find(self, kernel: str | None, id: str) -> StoredDraft:
        """Return the draft that an id, or the beginning of one, names, of all kernels where ``kernel`` is None.

        Raises UsageProblem where none or several are meant, DamagedData for one that cannot be read.
        """
        folders = list(self._folders(kernel))
        meant = [folder for folder in folders if id and folder.name.startswith(id)]
        if len(meant) == 1:
            return open_draft(meant[0])
        whose = f" of {kernel}" if kernel else ""
        said = f"'{id}' begins {len(meant)} drafts{whose}" if meant else f"there is no draft '{id}'{whose}"
        known = did_you_mean(id, [folder.name for folder in meant or folders])
        raise UsageProblem(f"{said}; {known}", f"ncu-assist ledger {kernel or ''}".rstrip())

    def everything(self, kernel: str | None = None) -> tuple[list[StoredDraft], list[Damage]]:
        """Return the drafts that can be read, oldest first, and those that cannot, each with why."""
        found, damaged = [], []
        for folder in self._places(kernel):
            if isinstance(folder, Damage):
                damaged.append(folder)
                continue
            try:
                found.append(open_draft(folder))
            except DamagedData as error:
                damaged.append(Damage(_path(folder), error.message, isinstance(error, NewerData)))
        return sorted(found, key=lambda one: (one.draft.created, one.draft.id)), damaged

    def drafts(self, kernel: str | None = None) -> list[StoredDraft]:
        """Return the drafts that can be read, oldest first. Damaged ones are left out."""
        return self.everything(kernel)[0]

    def verify(self, deep: bool = True) -> list[Damage]:
        """Return every draft that is not as it was written; ``deep`` reads every file.

        Folders that cannot be looked into are among them, also where they may hold runs.
        """
        found = []
        for folder in self._places(None):
            if isinstance(folder, Damage):
                found.append(folder)
            else:
                found += [Damage(_path(folder), said, is_newer) for said, is_newer in problems_of(folder, deep)]
        return found

    def _folders(self, kernel: str | None) -> Iterator[Path]:
        return (folder for folder in self._places(kernel) if isinstance(folder, Path))

    def _places(self, kernel: str | None) -> Iterator[Path | Damage]:
        """Yield the folders of drafts, and what of the archive cannot be looked into."""
        if kernel is None or is_folder_name(kernel):
            yield from run_folders(self.reports, kernel, DRAFTS)


def _replace(stored: StoredDraft, draft: Draft, files: Mapping[str, bytes | Path]) -> None:
    facts = dict(stored.files)
    temporary = stored.folder / f".{DRAFT_JSON}-{secrets.token_hex(4)}"
    written: list[Path] = []
    try:
        for name, content in files.items():
            path = stored.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            written.append(path)
            facts[name] = write_file(path, content)
        write_file(temporary, encode_record(draft, facts))
        temporary.replace(stored.folder / DRAFT_JSON)
    except BaseException:
        for path in (*written, temporary):
            path.unlink(missing_ok=True)
        raise
    sync_folder(stored.folder)


def _path(folder: Path) -> str:
    return "/".join(folder.parts[-3:])


@dataclass(frozen=True)
class DraftRecord:
    """What ``draft.json`` holds; ``digest`` is over all of it, itself left empty."""

    draft: Draft
    files: dict[str, FileFact] = field(default_factory=dict)
    digest: str = ""


@dataclass(frozen=True)
class StoredDraft:
    """A draft in the archive."""

    draft: Draft
    folder: Path
    files: dict[str, FileFact]

    @property
    def reference(self) -> str:
        """``kernel/suggest/id``, where it lies below reports/."""
        return f"{self.draft.kernel}/{DRAFTS}/{self.draft.id}"

    def read(self, name: str) -> bytes:
        """Return one file of the draft; raises DamagedData for one that it has not, or that was changed."""
        if name not in self.files:
            raise DamagedData(f"{self.reference} has no file {name}", HINT)
        problem = file_problem(self.folder, name, self.files[name]) or self._changed(name)
        if problem:
            raise DamagedData(f"{self.reference}: {name} {problem}", HINT)
        return (self.folder / name).read_bytes()

    def _changed(self, name: str) -> str:
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            return unreadable(error)
        same = hashlib.sha256(data).hexdigest() == self.files[name].sha256
        return "" if same else "was changed after it was written (its hash differs)"


def encode_record(draft: Draft, files: dict[str, FileFact]) -> bytes:
    """Return ``draft.json``, its digest filled in. Raises ValueError for a draft that would not read back."""
    record = DraftRecord(draft, files)
    sealed = replace(record, digest=content_digest(msgspec.json.encode(record)))
    data = msgspec.json.format(msgspec.json.encode(sealed), indent=1) + b"\n"
    try:
        _decoded(data)
    except DamagedData as error:
        raise ValueError(f"this draft would not read back: {error.message}") from error
    return data


def open_draft(folder: Path) -> StoredDraft:
    """Return the draft in ``folder``; raises DamagedData for a record that is missing, changed or of another place.

    Sizes of its files are compared, hashes only when a file is read.
    """
    record = _decoded(record_of(folder, DRAFT_JSON))
    if (record.draft.kernel, DRAFTS, record.draft.id) != folder.parts[-3:]:
        raise DamagedData(f"{DRAFT_JSON} belongs to {record.draft.kernel}/{DRAFTS}/{record.draft.id}", HINT)
    for name, fact in record.files.items():
        if problem := file_problem(folder, name, fact):
            raise DamagedData(f"{name} {problem}", HINT)
    return StoredDraft(record.draft, folder, record.files)


def problems_of(folder: Path, deep: bool) -> Iterator[tuple[str, bool]]:
    """Yield what is wrong with the draft in ``folder``, and whether that is only that a newer version wrote it."""
    try:
        stored = open_draft(folder)
        known = {DRAFT_JSON, *stored.files}
        yield from ((problem, False) for problem in foreign_files(folder, known, "draft"))
        for name in stored.files if deep else ():
            stored.read(name)
    except DamagedData as error:
        yield error.message.partition(f"{folder.name}: ")[2] or error.message, isinstance(error, NewerData)


@dataclass(frozen=True)
class _Head:
    draft: schema.Named


READERS: schema.Readers[DraftRecord] = {1: msgspec.json.Decoder(DraftRecord).decode}


def _decoded(data: bytes) -> DraftRecord:
    try:
        said = msgspec.json.decode(data, type=_Head).draft.schema
        record = schema.reader_of(said, SCHEMA, READERS, DRAFT_JSON, HINT)(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedData(f"{DRAFT_JSON} cannot be read: {error}", HINT) from error
    if record.digest != content_digest(data):
        raise DamagedData(f"{DRAFT_JSON} was changed after it was written", HINT)
    return record
