"""What the tool says when something is wrong, read from its source: every error with what to do about it.

A message is a text with values filled in. A value that is a text itself, of this function or this module, is put in its
place; any other is named in capitals, as KERNEL in *there is no kernel 'KERNEL'*.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "ncu_assist"
KINDS = {  # class of errors.py -> exit code
    "UsageProblem": 2, "NoSuchPlace": 2, "NoSuchName": 2, "StageFailed": 5, "EnvironmentProblem": 6,
    "NoTorch": 6, "NoTorchHeaders": 6, "NewerData": 6, "DamagedData": 7, "ModelProblem": 8, "ReaderBug": 1,
}  # fmt: skip
MISTAKES = ("wrong.add", "wrong.of_folder")
AREAS = (  # title, and where its messages are raised; the first that fits has them
    ("Names, options and references", ("cli/", "store/references", "store/choosing", "project", "store/baselines")),
    ("Kernel folders and kernel.toml", ("spec", "sources", "versions", "pipeline/new_kernel", "record")),
    ("Building, checking, timing", ("backends/", "harness/", "executors/", "process", "pipeline/measuring")),
    ("Profiling kernels and programs", (
        "pipeline/planning", "pipeline/programs", "pipeline/profiling", "pipeline/ncu_stage", "pipeline/callables",
        "ncu/command", "ncu/failures", "pipeline/watching",
    )),
    ("Reports and exports that are read", ("ncu/",)),
    ("Launches, workloads and comparisons", ("analysis/", "frame/", "pipeline/reading", "pipeline/opened_reports")),
    ("Traces of whole programs", ("trace/", "pipeline/triaging")),
    ("Ceilings", ("ceilings/", "pipeline/ceilings")),
    ("Gates, history and commits", (
        "pipeline/gat", "pipeline/history", "pipeline/trend", "pipeline/changed", "pipeline/bisecting", "commits",
        "pipeline/baselines",
    )),
    ("The archive", ("store/", "pipeline/")),
    ("Drafts and models", ("suggest/",)),
    ("Agents", ("agents/",)),
    ("Python, pages and exports that are written", ("",)),
)  # fmt: skip
SAME = ("str", "one_line", "plain", "shown")  # functions that return the value that they are given
ANCHOR_WORDS = 8
MOST_WAYS = 6  # texts of one message: more are one pattern with a value left open
OPEN = "…"
OF_NO_MEANING = ("error", "words", "said", "what", "why", "self", "one")  # names of values that say nothing of them


@dataclass(frozen=True)
class Message:
    """What an error says, what it tells to try, its exit code and the module that raises it."""

    text: str
    hint: str
    exit_code: int
    module: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """What it looks like with its values filled in."""
        return re.compile(
            ".*?".join(re.escape(part) for part in re.split(rf"{OPEN}|\b[A-Z][A-Z_]+\b", self.text)), re.S
        )


@functools.cache
def messages() -> tuple[Message, ...]:
    """Return every message of an error that a user can act on, each once, in the order of the source."""
    found: dict[tuple[str, int], Message] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").as_posix()
        for one in _of_module(name, ast.parse(path.read_text(encoding="utf-8"))):
            known = found.get((one.text, one.exit_code))
            if known is None or (one.hint and not known.hint):
                found[one.text, one.exit_code] = one
    return tuple(found.values())


def page() -> str:
    """Return the page that lists them by what they are about."""
    rows: dict[str, list[str]] = {title: [] for title, _ in AREAS}
    anchors: set[str] = set()
    for one in sorted(messages(), key=lambda one: one.text.lower()):
        area = next(title for title, starts in AREAS if one.module.startswith(starts))
        rows[area].append(f"| {_anchor(one.text, anchors)}{cell(one.text)} | {cell(one.hint)} | {one.exit_code} |")
    head = "| it says | try | exit code |\n|---|---|--:|\n"
    parts = [f"## {title}\n\n{head}" + "\n".join(some) for title, some in rows.items() if some]
    return (
        "# All messages\n\nThe errors that commands end with, by what they are about. What is filled in stands in "
        f"capitals, as KERNEL; {OPEN} is any text. To find a row, search this page (Ctrl-F) for two or three words of "
        "the message that are no names of yours.\n\n"
        "[Troubleshooting](../troubleshooting.md) says why the frequent ones come, and has those of misspelt commands "
        "and options, and what ncu itself says. A message that is put together while the program runs, as of several "
        "mistakes in one kernel.toml, may be missing here.\n\n" + "\n\n".join(parts) + "\n"
    )


def _anchor(text: str, taken: set[str]) -> str:
    """Return a link to the row itself, by the message's own words: ``#there-is-no-kernel``."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"\b[A-Z][A-Z_]+\b", "", text).lower())
    wanted = "-".join(words[:ANCHOR_WORDS])
    numbered = (f"{wanted}-{number}" for number in itertools.count(2))
    name = next(one for one in itertools.chain([wanted], numbered) if one not in taken)
    taken.add(name)
    return f'<a class="row-link" id="{name}" href="#{name}" title="Link to this message">#</a> '


def cell(text: str) -> str:
    """Return a text as it stands in a table of Markdown."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _of_module(name: str, tree: ast.Module) -> Iterator[Message]:
    constants = _assigned(tree.body)
    for function in [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]:
        inner = function.body if isinstance(function, ast.FunctionDef) else []
        local = _assigned([node for one in inner for node in ast.walk(one) if isinstance(node, ast.stmt)])
        for call, exit_code in _raised(function):
            given = dict(enumerate(call.args)) | {word.arg: word.value for word in call.keywords}
            if not given or isinstance(given.get(0), ast.Starred):
                continue
            names = {**constants, **local}
            hints = _texts(given.get(1, given.get("hint", ast.Constant(""))), names)
            hint = max(hints, key=_known_letters)
            for text in _texts(given.get(0, given.get("message", ast.Constant(""))), names):
                if _known_letters(text):  # else it is another error's, told once more
                    yield Message(text, hint if _known_letters(hint) else "", exit_code, name)


def _raised(function: ast.AST) -> Iterator[tuple[ast.Call, int]]:
    """Yield the errors that a function itself makes, not those of a function within it, with their exit codes.

    A mistake of a kernel folder is added to those that are told together.
    """
    waiting: list[ast.AST] = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
            yield node, KINDS[node.func.id]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in MISTAKES:
            yield node, KINDS["UsageProblem"]
        waiting[:0] = ast.iter_child_nodes(node)


def _assigned(statements: Sequence[ast.stmt]) -> Mapping[str, list[ast.expr]]:
    """Return what each name is set to, by all statements; of a tuple each to its own."""
    found: dict[str, list[ast.expr]] = {}
    for one in statements:
        if isinstance(one, ast.Assign):
            for target in one.targets:
                pairs = [(target, one.value)]
                if isinstance(target, ast.Tuple) and isinstance(one.value, ast.Tuple):
                    pairs = list(zip(target.elts, one.value.elts, strict=False))
                for name, value in pairs:
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, []).append(value)
        elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            found.setdefault(one.target.id, [])
    return found


def _texts(node: ast.expr, names: Mapping[str, list[ast.expr]], deep: int = 0) -> list[str]:
    """Return the texts that an expression may be."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        ways = [_texts(part, names, deep) for part in node.values]
        if len(list(itertools.islice(itertools.product(*ways), MOST_WAYS + 1))) > MOST_WAYS:
            ways = [some if len(some) == 1 else [OPEN] for some in ways]
        return ["".join(one) for one in itertools.product(*ways)]
    if isinstance(node, ast.FormattedValue):
        return _texts(node.value, names, deep)
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, names, deep), *_texts(node.orelse, names, deep)]
    if isinstance(node, ast.BoolOp):
        return [text for one in node.values for text in _texts(one, names, deep)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [a + b for a in _texts(node.left, names, deep) for b in _texts(node.right, names, deep)]
    if isinstance(node, ast.Name) and deep < 3 and _are_words(names.get(node.id, [])):
        return [text for one in names[node.id] for text in _texts(one, names, deep + 1)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("rstrip", "strip"):
        return _texts(node.func.value, names, deep)
    return [_value(node)]


def _are_words(values: Sequence[ast.expr]) -> bool:
    """Tell whether a name is always set to a text that is written there."""
    return bool(values) and all(
        isinstance(one, ast.JoinedStr | ast.IfExp | ast.BinOp)
        or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in values
    )


def _value(node: ast.expr) -> str:
    """Return a value by its name: KERNEL for ``kernel`` and ``run.kernel``, PATH for ``path.name``."""
    if isinstance(node, ast.Attribute):
        return _value(node.value) if node.attr in ("name", "message", "parent") else _named(node.attr)
    if isinstance(node, ast.Name):
        return _named(node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAME:
        return _value(node.args[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("quote", "join"):
        return _value(node.args[0]) if node.args else OPEN
    return OPEN


def _named(name: str) -> str:
    plain = {"strerror": "reason", "st_size": "size"}.get(name, name)
    return plain.upper().strip("_") if len(plain) > 2 and plain not in OF_NO_MEANING else OPEN


def _known_letters(text: str) -> int:
    return len(re.sub(rf"{OPEN}|\b[A-Z][A-Z_]+\b|\W", "", text))
