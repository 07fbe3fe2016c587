"""Making a draft the next version of its kernel: a new file under a comment of ours, and never over another."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.project import Project
from ncu_assist.quantity import duration
from ncu_assist.sources import COMMENT_SIGNS, HEADER_COMMENT, SOURCES, VERSION_FILE
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.drafts import RUNS, Claim, Draft, DraftArchive, MetricPrediction, Proof, StoredDraft, source_name
from ncu_assist.store.writing import write_file, write_hint
from ncu_assist.versions import short_name

SLUG = re.compile(r"[a-z0-9_]{1,40}")
WIDTH = 105  # letters of a line beside its sign
NUMBERED = re.compile(r"v\d+", re.ASCII)
LONGEST = 500  # letters of one text of a model
# Lines of a comment that mean something to a reader other than a person: `dtypes:`, `packages:`, `draws:`, `parent:`
# to this tool, `coding:` to Python. What a draft draws is held against the reference, so its `draws:` is not kept.
_MEANT = re.compile(r"(dtypes|packages|draws|parent|coding)(\s*[:=])", re.IGNORECASE)
_KEPT = re.compile(rb"^(?:#!.*|(?://|#)\s*(?:dtypes|packages):.*)\r?\n?", re.MULTILINE)


def make_version(project: Project, folder: Path, stored: StoredDraft) -> tuple[StoredDraft, Path]:
    """Write a draft as the next version of the kernel in ``folder``, with the runs of its proof if it has one."""
    archive = DraftArchive(project.reports)
    path, accepted = accept(archive, stored, folder)
    adopted = {one.run.version: one for one in adopt(accepted, Store(project.reports))}
    own = adopted.get(path.stem)
    if own is None or accepted.draft.proof is None:
        return accepted, path
    proof = replace(accepted.draft.proof, run=own.reference)
    return archive.update(accepted, replace(accepted.draft, proof=proof)), path


def adopt(stored: StoredDraft, store: Store) -> tuple[StoredRun, ...]:
    """Copy the runs of a draft that became a version into the archive and return them; those of its parent too.

    Raises DamagedData for files that were changed since.
    """
    own = Store(stored.folder / RUNS)
    return tuple(
        store.save(run.run, {name: run.read(name) for name in run.run.files}) for run in own.runs(stored.draft.kernel)
    )


def accept(archive: DraftArchive, stored: StoredDraft, folder: Path) -> tuple[Path, StoredDraft]:
    """Write a draft as ``v<N+1>_<slug>.<ext>`` into its kernel's ``folder``; return the file and the draft, updated.

    N is the highest number there. The comment at its top is ours, see ``with_header``. Raises UsageProblem for a draft
    without a source or one that is a version already, DamagedData for one whose source was changed, EnvironmentProblem
    when the disk refuses; no file is left behind then.
    """
    draft = stored.draft
    if draft.version:
        raise UsageProblem(f"{stored.reference} is {draft.version} already", f"ncu-assist list {draft.kernel}")
    if draft.claim is None or draft.suffix not in SOURCES or source_name(draft.suffix) not in stored.files:
        raise UsageProblem(f"{stored.reference} has no source: {draft.reason}", f"ncu-assist ledger {draft.kernel}")
    slug = draft.claim.slug if SLUG.fullmatch(draft.claim.slug) else "draft"
    path = folder / f"v{_highest(folder) + 1}_{slug}{draft.suffix}"
    _create(path, with_header(stored.read(source_name(draft.suffix)), draft))
    try:
        return path, archive.update(stored, replace(draft, version=path.stem))
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _highest(folder: Path) -> int:
    """Return the highest number of a version in a folder, -1 where there is none."""
    found = (VERSION_FILE.fullmatch(path.name) for path in folder.iterdir())
    return max((int(match[1]) for match in found if match), default=-1)


def _create(path: Path, source: bytes) -> None:
    try:
        write_file(path, source)  # which opens for exclusive creation
    except FileExistsError as error:
        raise UsageProblem(f"{path.name} appeared in between; nothing was written over it", "try it again") from error
    except OSError as error:
        path.unlink(missing_ok=True)
        hint = write_hint(error, "the kernel's folder", "see that the kernel's folder may be written to")
        raise EnvironmentProblem(f"{path.name} could not be written: {error.strerror or error}", hint) from error


def with_header(source: bytes, draft: Draft) -> bytes:
    """Return a draft's source with its own comment at the top in place of the one that it brought.

    That one is its parent's, of another change, or the model's word for what was measured. Lines of it that say
    dtypes or packages stay. No line of code changes, and ``spec.source_sha256`` with it: a header does not count there.
    """
    own = HEADER_COMMENT[draft.suffix].match(source)
    header = own[0] if own else b""
    kept = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in _KEPT.findall(header))
    end = "\r\n" if b"\r\n" in source else "\n"
    said = end.join(_lines(draft)).encode()
    return kept + said + end.encode() + source[len(header) :]


def _lines(draft: Draft) -> Iterator[str]:
    sign = COMMENT_SIGNS[draft.suffix]
    for text in _paragraphs(draft):
        # In C a backslash at the end of a line draws the next one into the comment.
        wrapped = [line.rstrip("\\ ") for line in textwrap.wrap(text, WIDTH, subsequent_indent="  ")]
        yield from (f"{sign} {line}" for line in wrapped or [""])


def _paragraphs(draft: Draft) -> Iterator[str]:
    claim, proof = draft.claim, draft.proof
    if claim is not None:
        yield f"Changes: {_inert(claim.change)}"
        yield f"expected: {_expected(claim)}"
    parent = short_name(draft.parent.rpartition("/")[2].partition("@")[0])
    if NUMBERED.fullmatch(parent):
        yield f"parent: {parent}"
    yield f"measured: {_measured(draft, proof)}"
    who = f"the model {_inert(draft.model, 80)}" if draft.model else "a model"
    yield f"Drafted by {who} from {_inert(draft.parent)}, as draft {draft.id}; no person wrote this version."


def _expected(claim: Claim) -> str:
    parts = [_inert(claim.bottleneck), *(_predicted(one) for one in claim.predictions[:8])]
    parts += [f"{claim.expected_speedup:.3g}x faster"] if claim.expected_speedup else []
    return "; ".join(part.rstrip(".;") for part in parts if part)


def _predicted(one: MetricPrediction) -> str:
    return f"{_inert(one.metric, 80)} {one.direction}" + (f" to {one.factor:.3g} of it" if one.factor else "")


def _measured(draft: Draft, proof: Proof | None) -> str:
    if proof is None or proof.speedup is None:
        why = f" ({_inert(draft.reason)})" if draft.reason else ""
        return f"nothing; the draft was {'not proved' if draft.fate == 'drafted' else draft.fate}{why}"
    text = f"{proof.speedup:.3g}x on {_inert(proof.workload, 80)}"
    if proof.parent_ns and proof.draft_ns:
        text += f", {duration(proof.draft_ns)} against {duration(proof.parent_ns)} of its parent"
    judged = [one for one in proof.scores if one.came_true is not None]
    text += f"; {sum(bool(one.came_true) for one in judged)} of {len(judged)} predictions came true" if judged else ""
    why = f": {_inert(draft.reason)}" if draft.fate != "kept" and draft.reason else ""
    return text.replace("µ", "u") + f"; {draft.fate}{why}"


def _inert(text: str, limit: int = LONGEST) -> str:
    """Return text from outside as one line of what can be seen, without what a tool would read in a comment."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = _MEANT.sub(r"\1 -", line).replace("??/", "?? /")
    return line if len(line) <= limit else f"{line[: limit - 3]}..."
