"""``ncu-assist ceilings``: measure what this GPU can reach, say what is known, send it and take it in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import STDOUT, check_output, progress, write, write_bytes, write_json, write_result
from ncu_assist.errors import EnvironmentProblem, StageFailed, UsageProblem


@click.command("ceilings")
@click.argument("reference", required=False)
@click.option("--show", is_flag=True, help="Show what is stored, and measure nothing.")
@click.option("--quick", is_flag=True, help="Use fewer sizes and repeats.")
@click.option(
    "--export",
    "exported",
    type=click.Path(path_type=Path),
    help="Write the ceilings to one file, to send; - is stdout.",
)
@click.option("--import", "imported", type=click.Path(path_type=Path), help="Check and store a file from --export.")
@click.option("--gpu", metavar="NAME", help="GPU to export.  [default: the one here]")
@click.option("--force", is_flag=True, help="Replace an existing file, or the stored ceilings of this GPU.")
@options.as_json
def command(
    reference: str | None,
    show: bool,
    quick: bool,
    exported: Path | None,
    imported: Path | None,
    gpu: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Measure what this GPU can reach, once, and store it under reports/ceilings.

    Measures DRAM by read:write mix and size, under ncu with the flags of `profile` and by events with the flush of
    `bench`; then L2, shared memory, host link, instruction pipes and tensor cores. Takes about a minute and a half.
    Without a GPU, shows the stored ceilings and those that came with the tool. Exit code 5 if a part failed; the others
    are stored.

    With REFERENCE, a run or a report as for `show`: shows what is known of its GPU, measured or assumed, with the
    source of each number.

    --export writes the measurements, the method and the GPU model to one JSON file. --import stores such a file, for
    reports of that model. Exit code 7 if the file was changed, or contains impossible values.
    """
    _check({"REFERENCE": reference, "--export": exported, "--import": imported}, show, quick)
    if gpu is not None and exported is None:
        raise UsageProblem("--gpu needs --export", "--export FILE")
    if reference is not None:
        return _known(reference, as_json)
    if exported is not None:
        return _export(exported, gpu, force)
    return _import(imported, force, as_json) if imported is not None else _measure(show, quick, as_json)


def _check(given: Mapping[str, object], show: bool, quick: bool) -> None:
    """Raise UsageProblem for options of two answers; --show beside a reference only says what is meant anyway."""
    chosen = [name for name, value in given.items() if value is not None]
    chosen += ["--quick"] if quick else []
    chosen += ["--show"] if show and chosen != ["REFERENCE"] else []
    if len(chosen) > 1:
        raise UsageProblem(f"{' and '.join(chosen)} exclude each other", "keep one of them")


def _known(reference: str, as_json: bool) -> int:
    from ncu_assist.pipeline.ceilings import known_of
    from ncu_assist.render.json.machine import known_json
    from ncu_assist.render.terminal.machine import known_text

    found = known_of(options.current_project(), reference)
    write_result(found, as_json, known_json, known_text)
    return 0


def _export(path: Path, gpu: str | None, force: bool) -> int:
    from ncu_assist.ceilings import encode
    from ncu_assist.pipeline.ceilings import ceilings_to_export

    target = None if path == STDOUT else path
    check_output(target, force, binary=False)
    write_bytes([encode(ceilings_to_export(options.current_project(), gpu))], target)
    return 0


def _import(path: Path, force: bool, as_json: bool) -> int:
    from ncu_assist.pipeline.ceilings import import_ceilings
    from ncu_assist.render.json.machine import ceilings_json
    from ncu_assist.render.terminal.machine import imported_text

    ceilings, stored_at, was_there = import_ceilings(options.current_project(), path, force)
    if as_json:
        write_json(ceilings_json([(ceilings, stored_at)]))
    else:
        write(imported_text(ceilings, stored_at, was_there))
    return 0


def _measure(show: bool, quick: bool, as_json: bool) -> int:
    """Measure, or show what is known: where that was asked for, and where there is no GPU."""
    from ncu_assist.executors import EXECUTORS
    from ncu_assist.pipeline.ceilings import known, measure_ceilings, why_no_gpu
    from ncu_assist.render.json.machine import ceilings_json
    from ncu_assist.render.terminal.machine import ceilings_text

    project = options.current_project()
    why = None if show else why_no_gpu()
    with progress() as reporter:
        if show or why is not None:
            found = known(project)
            if why is not None and not found:
                raise EnvironmentProblem(f"{why.message}, and no ceilings are stored here", why.hint)
            if why is not None:
                reporter.note(
                    f"Nothing was measured here: {why.message}. These ceilings are stored or came with the tool."
                )
        else:
            found = (measure_ceilings(project, EXECUTORS["local"], quick, reporter),)
    write_result(found, as_json, ceilings_json, ceilings_text)
    failed = not show and why is None and any(stage.problem for one, _ in found for stage in one.stages)
    return StageFailed.exit_code if failed else 0
