"""``ncu-assist new``: a kernel folder to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write_new
from ncu_assist.errors import UsageProblem
from ncu_assist.render.escape import plain


@click.command("new")
@click.argument("kernel")
@click.option(
    "--from", "source", type=click.Path(path_type=Path), metavar="FILE.cu", help="The first version, to be read."
)
@click.option(
    "--like",
    "other",
    metavar="KERNEL",
    help="In the form of another kernel: the project's, or one that comes with the tool, such as softmax.",
)
@click.option("--torch", "with_torch", is_flag=True, help="With --from: v0 calls torch, and the file becomes v1.")
@click.option("--next", "is_next", is_flag=True, help="With --from: the file becomes the next version of KERNEL.")
@options.as_json
def command(kernel: str, source: Path | None, other: str | None, with_torch: bool, is_next: bool, as_json: bool) -> int:
    """Write the folder of KERNEL to begin with: kernel.toml, reference.py and a first version; say what is left to do.

    Arguments are read from the launcher of FILE.cu, extern "C" and called like KERNEL; where it has none, from its
    __global__ function, and a launcher is written. What is const is an input, other pointers are outputs. FILE.cu
    itself stays as it is.
    """
    from ncu_assist.pipeline.new_kernel import add_version, new_from, new_like

    if (source is None) == (other is None):
        said = "both --from and --like were given" if source else "what to begin with was not named"
        raise UsageProblem(said, f"ncu-assist new {plain(kernel)} --from FILE.cu, or --like KERNEL")
    if with_torch and source is None:
        raise UsageProblem("--torch is for --from", "drop --torch")
    if is_next and (source is None or with_torch):
        raise UsageProblem("--next is for --from alone", f"ncu-assist new {plain(kernel)} --from FILE.cu --next")
    project = options.current_project()
    if is_next and source:
        write_new(add_version(project, kernel, source), "new", as_json, project.root)
        return 0
    made = new_from(project, kernel, source, with_torch) if source else new_like(project, kernel, other or "")
    write_new(made, "new", as_json, project.root)
    return 0
