"""A hook of mkdocs: the pages of the site that are made from the program, so that they cannot be out of date.

The start page is README.md. Commands come from click, rules from their docstrings with the counters of a recorded case
of the fault gallery, metrics from the catalogue, ncu's messages from the table of failures, worklogs from kernels/.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import math
import re
import statistics
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import site_messages  # noqa: E402

MESSAGES = "<!-- the messages of ncu -->"
IN_SEARCH = (  # beginning of a path -> how much its pages count in a search, the first that fits; others count 1
    ("troubleshooting.md", 30), ("reference/messages.md", 5), ("glossary.md", 12), ("reference/references.md", 12),
    ("reference/exit_codes.md", 12), ("guide/programs.md", 6), ("guide/diff.md", 12), ("method.md", 12), ("guide/", 3),
    ("index.md", 2), ("reference/archive.md", 2), ("reference/rules/", 2), ("reference/metrics", 0.5),
    ("kernels/", 0.5),
)  # fmt: skip
MOST_CURES = 6  # rows on the page of a rule
NOT_SEARCHED = ("prompt_v6.md",)  # a sample of what a model is sent: it holds words of everything
KEYS = "<!-- the keys of all answers -->"
FOR_AUTHORS, FOLDED = "**When it is reported.**", "When it is reported, and how the saving is estimated"
LINK = re.compile(r"(\]\()(?!https?:|#)([^)]+)(\))")


def on_files(files: Any, config: Any) -> Any:
    """Add the made pages to those of the folder."""
    from mkdocs.structure.files import File

    for path, text in made_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_given: Any) -> str:
    """Put ncu's messages into the page that explains messages, and the keys of JSON into the page on that.

    Who searches for words of a message finds the pages on messages first; of other words prose goes before metrics.
    """
    path = page.file.src_uri
    boost = next((counts for start, counts in IN_SEARCH if path.startswith(start)), 1)
    page.meta["search"] = {"boost": boost, "exclude": path in NOT_SEARCHED}
    for marker, made in ((MESSAGES, messages_table), (KEYS, keys_tables)):
        if marker in markdown:
            markdown = markdown.replace(marker, made())
    return markdown


def on_post_template(output_content: str, **_given: Any) -> str:
    """Do for the page of an address that does not exist what is done for the others."""
    return on_post_page(output_content)


def on_post_page(output: str, **_given: Any) -> str:
    """Name the dialog of the search, which the theme leaves without a name."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def made_pages() -> dict[str, str]:
    """Return every made page by its path below docs/."""
    pages = {"index.md": _moved((ROOT / "README.md").read_text(), "docs/")}
    pages |= dict(command_pages())
    pages |= dict(rule_pages())
    pages |= dict(metric_pages())
    pages |= dict(worklog_pages())
    pages |= dict(schema_files())
    pages["reference/messages.md"] = site_messages.page()
    return pages


def _moved(text: str, prefix: str) -> str:
    """Return a text of the root folder with its links as they are from docs/; of a file outside its words are left."""
    inside = re.sub(rf"(\]\(|src=\"){re.escape(prefix)}", r"\1", text)
    return re.sub(r"\[([^\]]+)\]\((?:CONTRIBUTING\.md|LICENSE|CHANGELOG\.md)\)", r"\1", inside)


def answer(*words: str) -> str:
    """Return what a command of ours prints."""
    from ncu_assist.cli import cli

    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        cli.main(list(words), prog_name="ncu-assist", standalone_mode=False)
    return written.getvalue()


def command_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each command, as click knows it, and the page that lists them."""
    import click

    from ncu_assist.cli import COMMANDS, cli

    context = click.Context(cli, info_name="ncu-assist", max_content_width=100)
    rows = []
    for name, says in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None
        below = list(command.commands.items()) if isinstance(command, click.Group) else []
        texts = [_help(command, name, context), *(_help(one, f"{name} {sub}", context) for sub, one in below)]
        yield f"reference/commands/{name}.md", f"# {name}\n\n" + "\n\n".join(texts) + "\n"
        rows.append(f"| [`{name}`](commands/{name}.md) | {says} |")
    yield "reference/commands.md", "# Commands\n\n| command | what it does |\n|---|---|\n" + "\n".join(rows) + "\n"


def _help(command: Any, name: str, parent: Any) -> str:
    context = type(parent)(command, info_name=name, parent=parent, max_content_width=100)
    heading = f"## {name}\n\n" if " " in name else ""
    return f"{heading}```text\n{command.get_help(context)}\n```"


def rule_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each rule, and the page that lists them."""
    from ncu_assist.rules import RULES

    recorded, cures, rows = recorded_cases(), cured(), []
    for name, rule in RULES.items():
        text = _rule_text(rule)
        first, _, rest = text.partition("\n")
        case = recorded.get(name, "\n## No recorded case\n\nNo kernel that comes with ncu-assist has this fault.\n")
        rest = re.sub(r"`([a-z0-9-]+)`", lambda of: f"[{of[0]}]({of[1]}.md)" if of[1] in RULES else of[0], rest)
        yield (
            f"reference/rules/{name}.md",
            f"# {name}\n\n{first}\n{rest}\n{case}\n{how_near(name)}{cures.get(name, '')}",
        )
        rows.append(f"| [{name}](rules/{name}.md) | {first} |")
    head = (
        "# Rules\n\nA finding bears one of these ids. Ids are stable.\n\n| id | a kernel that bears it |\n|---|---|\n"
    )
    yield "reference/rules.md", head + "\n".join(rows) + "\n"


def cured() -> Mapping[str, str]:
    """Return, by rule, the recorded steps after which its fault was gone: that of most effect by the estimate first."""
    from ncu_assist.project import find_project
    from ncu_assist.spec_file import kernel_names

    found: dict[str, list[tuple[float, str]]] = {}
    for kernel in kernel_names(find_project(ROOT)):
        for row in json.loads(answer("history", kernel, "--json"))["rows"]:
            step = row["prediction"]
            if step is None or not step["gone"] or step["another_program"] or step["achieved"] is None:
                continue
            largest, *others = step["gone"]
            also = ", ".join(f"`{one['rule']}`" for one in others) or "nothing else"
            found.setdefault(largest["rule"], []).append((
                largest["estimated_speedup"] or 1.0,
                f"| [{kernel}](../../kernels/{kernel}.md) | `{row['before']}` | `{row['version']}` "
                f"| {largest['estimated_speedup'] or 1.0:.2f}x | {step['achieved']:.2f}x | {also} |",
            ))  # fmt: skip
    head = (
        "\n## Where it was cured\n\nSteps of the kernels here after which this fault was the largest that was gone, by "
        "the recorded findings; the speed-up achieved is that of the whole step. The worklog says what was changed.\n\n"
        "| kernel | fault in | gone in | estimated | achieved | gone with it |\n|---|---|---|--:|--:|---|\n"
    )
    return {
        rule: head + "\n".join(row for _, row in sorted(some, reverse=True)[:MOST_CURES]) + "\n"
        for rule, some in found.items()
    }


def how_near(name: str) -> str:
    """Return how near a rule's estimates came over the recorded pairs of a fault and its fix, and those pairs."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from gallery_speedups import of_rule  # type: ignore[import-not-found]

    pairs = of_rule(name)
    if not pairs:
        return (
            "\n## How near its estimates came\n\nNo pair of a fault and its fix is of this rule, so nothing was "
            "measured ([accuracy](../../accuracy.md#by-rule)).\n"
        )
    middle = statistics.median(one["error"] for one in pairs)
    rows = "\n".join(
        f"| `{one['fault']}` | {one['took_us']:.3g} µs | {one['estimated']:.2f}x | {one['achieved']:.2f}x "
        f"| {one['error']:.2f} |"
        for one in pairs
    )
    many = "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    return (
        f"\n## How near its estimates came\n\nOver {many} of a fault and its fix, |ln(estimated / achieved)| is "
        f"{middle:.2f} in the median and {pairs[0]['error']:.2f} at worst: off by factors of {math.exp(middle):.2f} "
        f"and {math.exp(pairs[0]['error']):.2f} ([accuracy](../../accuracy.md#by-rule)).\n\n"
        f"| fault | it took | estimated | achieved | error |\n|---|--:|--:|--:|--:|\n{rows}\n"
    )


def _rule_text(rule: Any) -> str:
    module = rule if hasattr(rule, "__file__") else importlib.import_module(type(rule).__module__)
    text = (module.__doc__ or "").strip()
    text = re.sub(
        r"^([A-Z][a-z ]+): (.)", lambda found: f"**{found[1]}.** {found[2].upper()}", text, flags=re.MULTILINE
    )
    opened, begins, rest = text.partition(f"\n\n{FOR_AUTHORS}")
    folded = rest.strip().replace("\n", "\n    ")
    return f'{opened}\n\n??? note "{FOLDED}"\n\n    {folded}' if begins else text


def recorded_cases() -> Mapping[str, str]:
    """Return, by rule, what one recorded kernel with that fault looks like: its counters as the finding names them."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from gallery_scores import judged  # type: ignore[import-not-found]

    from ncu_assist.ncu.catalogue.rows import ROWS
    from ncu_assist.quantity import quantity

    found: dict[str, str] = {}
    for one in judged():
        if one.case.expect in found or not one.ids or one.ids[0] != one.case.expect:
            continue
        finding = one.diagnosis.findings[0].finding
        values = [(key, one.facts.get(key)) for key in finding.evidence]
        rows = "\n".join(
            f"| [{ROWS[key].label}](../metrics/{key}.md) | {quantity(value, ROWS[key].unit)} |"
            if key in ROWS
            else f"| {key} | {value:.5g} |"
            for key, value in values
            if value is not None
        )
        found[one.case.expect] = (
            f"\n## A recorded case\n\n`{one.case.name}` in `tests/gallery/{one.case.source}`, recorded on an H200:\n\n"
            f"> {finding.message}\n\n| counter | value |\n|---|--:|\n{rows}\n"
        )
    return found


def metric_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each metric of the catalogue, and the page that lists them."""
    groups: dict[str, list[str]] = {}
    for metric in json.loads(answer("metrics", "--json"))["metrics"]:
        key, label = metric["key"], metric["label"]
        if metric["type"] not in ("metric", "derived"):
            continue
        yield f"reference/metrics/{key}.md", f"# {label}\n\n```text\n{answer('explain', key)}```\n"
        row = f"| [`{key}`](metrics/{key}.md) | {label} | {metric['unit'] or ''} | {metric['meaning']} |"
        groups.setdefault(metric["group"], []).append(row.replace("\n", " "))
    head = "| key | label | unit | meaning |\n|---|---|---|---|\n"
    listed = "\n\n".join(f"## {group}\n\n{head}" + "\n".join(rows) for group, rows in groups.items())
    yield "reference/metrics.md", f"# Metrics\n\nA key means the same on every chip; ncu's names differ.\n\n{listed}\n"


def messages_table() -> str:
    """Return what ncu's messages mean, from the table by which the tool knows them."""
    from ncu_assist.ncu.failures import FAILURES

    rows = [f"| `{row.fragments[0]}` | {_cell(row.cause)} | {_cell(row.cure)} |" for row in FAILURES]
    return "| ncu says | cause | what to do |\n|---|---|---|\n" + "\n".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def schema_files() -> Iterator[tuple[str, str]]:
    """Yield the JSON Schema of each answer and file."""
    from ncu_assist.render.json.schemas import ANSWERS, FILES, schema_of

    for name in (*ANSWERS, *FILES):
        text = json.dumps(schema_of(name), indent=1, ensure_ascii=False)
        yield f"reference/schemas/{name.removesuffix('.json')}.json", text + "\n"


def keys_tables() -> str:
    """Return what each key means: the answers, the files, and the objects that they are made of, each once."""
    from ncu_assist.render.json.schemas import ANSWERS, FILES, described_objects

    answers: dict[str, list[str]] = {}
    wholes: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for name in (*ANSWERS, *FILES):
        (title, whole), *below = described_objects(name)
        answers.setdefault(title, []).append(name)
        wholes.setdefault(title, whole)
        parts |= below
    sections = ["## Answers and files"]
    for title, names in answers.items():
        links = ", ".join(f"[{name}](schemas/{name.removesuffix('.json')}.json)" for name in names)
        heading = ", ".join(f"`{name}`" for name in names)
        sections.append(
            f"### {heading}\n\n{wholes[title]['description']} Schema: {links}.\n\n{_keys_table(wholes[title])}"
        )
    sections.append("## What they are made of")
    for title in sorted(parts, key=_part_name):
        sections.append(f"### {_part_name(title)}\n\n{parts[title]['description']}\n\n{_keys_table(parts[title])}")
    return "\n\n".join(sections)


def _part_name(title: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", title.removesuffix("Keys")).lower()


def _keys_table(made: dict[str, Any]) -> str:
    rows = []
    for key, one in made["properties"].items():
        optional = "" if key in made["required"] else ", may be absent"
        unit = f", {_cell(one['unit'])}" if "unit" in one else ""
        rows.append(f"| `{key}` | {_type_words(one)}{unit}{optional} | {_cell(one['description'])} |")
    return "| key | holds | meaning |\n|---|---|---|\n" + "\n".join(rows)


def _type_words(one: dict[str, Any]) -> str:
    """Return what a key holds: JSON's own words, the values of an enumeration, or the object with a link to it."""
    if "$ref" in one:
        name = _part_name(one["$ref"].rpartition("/")[2])
        return f"[{name}](#{name.replace(' ', '-')})"
    if "const" in one:
        return "string"
    if "enum" in one:
        return ", ".join(f"`{value}`" for value in sorted(one["enum"], key=str))
    if "anyOf" in one or "oneOf" in one:
        return " or ".join(_type_words(each) for each in one.get("anyOf") or one["oneOf"])
    if one.get("type") == "array":
        if "prefixItems" in one:
            return f"{len(one['prefixItems'])} times {_type_words(one['prefixItems'][0])}"
        return f"list of {_type_words(one['items'])}" if one.get("items") else "list"
    if one.get("type") == "object":
        inner = one.get("additionalProperties")
        return f"object of {_type_words(inner)}" if isinstance(inner, dict) and inner else "object"
    return str(one.get("type", "any"))


def worklog_pages() -> Iterator[tuple[str, str]]:
    """Yield the worklog of each kernel, and the page that lists them."""
    rows = []
    for path in sorted(ROOT.glob("kernels/*/README.md")):
        name, text = path.parent.name, path.read_text()
        yield f"kernels/{name}.md", LINK.sub(functools.partial(_outside, path.parent), text)
        yield f"kernels/{name}.svg", (path.parent / "times.svg").read_text()
        rows.append(f"| [{name}](kernels/{name}.md) | [page](pages/{name}/index.html) |")
    yield "kernels.md", "# Kernels\n\n| worklog | recorded runs |\n|---|---|\n" + "\n".join(rows) + "\n"


def _outside(folder: Path, found: re.Match[str]) -> str:
    """Return a link as it is from docs/kernels/, or to nowhere where its file is no page of the site."""
    target = (folder / found[2].partition("#")[0]).resolve()
    if target.is_relative_to(ROOT / "docs"):
        return f"{found[1]}../{target.relative_to(ROOT / 'docs').as_posix()}{found[3]}"
    if target == folder / "times.svg":
        return f"{found[1]}{folder.name}.svg{found[3]}"
    if target.name == "README.md" and target.parent.parent == ROOT / "kernels":
        return f"{found[1]}{target.parent.name}.md{found[3]}"
    return f"{found[1]}../index.md{found[3]}" if target.exists() else found[0]
