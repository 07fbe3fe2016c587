"""``ncu-assist verify``: check the archive for damage."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import progress, write, write_json


@click.command("verify")
@options.as_json
def command(as_json: bool) -> int:
    """Read every file of the archive, and check it against the hashes, counts and schema of its run.

    Also checks drafts and baselines, and that each file below kernels/ can be read. Exit code 7 if anything is damaged
    or unreadable, 6 if everything unreadable was written by a newer ncu-assist. Each such run, draft, file or folder is
    named.
    """
    from ncu_assist.store import Store
    from ncu_assist.store.baselines import baseline_damages
    from ncu_assist.store.drafts import DraftArchive
    from ncu_assist.store.folders import unreadable_sources

    project = options.current_project()
    store = Store(project.reports)
    with progress() as reporter:
        reporter.status("reading the archive")
        archive = DraftArchive(project.reports)
        found = [*store.verify(), *baseline_damages(store), *archive.verify(), *unreadable_sources(project)]
        damages = list(dict.fromkeys(found))
        broken = {damage.path for damage in damages}
        runs, drafts = (
            sum("/".join(folder.parts[-3:]) not in broken for folder in every)
            for every in (store.folders(), (one.folder for one in archive.drafts()))
        )
    if as_json:
        from ncu_assist.render.json.archive import verify_json

        write_json(verify_json(damages, runs, drafts))
    else:
        from ncu_assist.render.terminal.archive import verify_text

        write(verify_text(damages, runs, drafts))
    return max((damage.exit_code for damage in damages), default=0)
