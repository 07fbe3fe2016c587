"""``ncu-assist new``: a kernel folder to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write_new
from ncu_assist.errors import UsageProblem
from ncu_assist.render.escape import plain
from ncu_assist.store.report_names import as_word


@click.command("new")
@click.argument("kernel")
@click.option(
    "--from", "source", type=click.Path(path_type=Path), metavar="FILE.cu", help="Use this file as the first version."
)
@click.option(
    "--like",
    "other",
    metavar="KERNEL",
    help="Use another kernel as a template: one of the project, or one that comes with the tool, such as softmax.",
)
@click.option("--torch", "with_torch", is_flag=True, help="With --from: make v0 call torch, and the file v1.")
@click.option("--next", "is_next", is_flag=True, help="With --from: add the file as the next version of KERNEL.")
@options.as_json
def command(kernel: str, source: Path | None, other: str | None, with_torch: bool, is_next: bool, as_json: bool) -> int:
    """Create the folder of KERNEL with kernel.toml, reference.py and a first version, and say what is left to do.

    The arguments are read from the launcher in FILE.cu, an extern "C" function named KERNEL. If there is none, they are
    read from the __global__ function, and a launcher is written. Const arguments are inputs; other pointers are
    outputs. FILE.cu itself is not changed.
    """
    from ncu_assist.pipeline.new_kernel import add_version, new_from, new_like

    if (source is None) == (other is None):
        said = "--from and --like exclude each other" if source else "no source was named"
        if source is None and Path(kernel).suffix == ".cu" and Path(kernel).is_file():
            from ncu_assist.spec_file import function_name

            name = function_name(Path(kernel).stem)
            raise UsageProblem(
                f"{kernel} is a file, but no kernel was named", f"ncu-assist new {name} --from {as_word(kernel)}"
            )
        raise UsageProblem(said, f"ncu-assist new {plain(kernel)} --from FILE.cu, or --like KERNEL")
    if with_torch and source is None:
        raise UsageProblem("--torch needs --from", "drop --torch")
    if is_next and (source is None or with_torch):
        raise UsageProblem(
            "--next needs --from, without --torch", f"ncu-assist new {plain(kernel)} --from FILE.cu --next"
        )
    project = options.current_project()
    if is_next and source:
        write_new(add_version(project, kernel, source), "new", as_json, project.root)
        return 0
    made = new_from(project, kernel, source, with_torch) if source else new_like(project, kernel, other or "")
    write_new(made, "new", as_json, project.root)
    return 0
