"""Whether a source defines the function that the harness calls, with the parameters that it passes: as text alone."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from itertools import islice

from ncu_assist.backends.torch_extension import TORCH_HEADER
from ncu_assist.spec import Kernel
from ncu_assist.suggest.reply.form import UnusableReply

_CODING = re.compile(r"\A(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
# What is not closed goes on to the end: looking for it again from each later place would take the square of the time.
_COMMENT = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|("(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?)', re.DOTALL)
MOST_PLACES = 50  # at which a name is looked at: a launcher is defined once and called nowhere
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
# A line that goes on, digraphs, what GCC and clang know beside ISO's words. Trigraphs are off in nvcc's dialects.
_CONTINUED = re.compile(r"\\[ \t]*\r?\n")
_DIRECTIVE = re.compile(r"(?:#|%:)[ \t\v\f]*(?:include_next|include|import|embed)\b[ \t\v\f]*([^\n]*)")
_OPERAND = re.compile(r'"[^"]*"?|<[^>]*>?|\S*')
_OF_A_LIBRARY = re.compile(r"<(?!/)(?!.*\.\.)[\w./+-]+>")
_ANY_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)


def check_entry_point(source: str, parent: str, suffix: str, kernel: Kernel | None) -> None:
    """Raise UnusableReply where a source is no Python, is called otherwise than its parent, or has no entry point.

    The entry point is looked at only where the ``kernel`` is given. This is a help for whoever drafts, and no
    protection: what the source does is seen when it runs, in the sandbox.
    """
    if suffix == ".py":
        tree = _parsed(source)
        if kernel is not None:
            _check_python(tree, kernel)
        return
    if bool(TORCH_HEADER.search(source)) != bool(TORCH_HEADER.search(parent)):
        raise UnusableReply("it is called otherwise than its parent: one of the two is a torch extension")
    new = private_includes(source) - private_includes(parent)
    if new:
        raise UnusableReply(f"it includes a file of this machine that its parent does not: {min(new)}")
    if kernel is None:
        return
    if not TORCH_HEADER.search(source):
        _check_launcher(source, kernel)
    elif f'"{kernel.name}"' not in without_comments(source):
        raise UnusableReply(f"it binds no function '{kernel.name}', which is what is called")


def _parsed(source: str) -> ast.Module:
    coding = _CODING.match(source)
    if coding and coding[1].lower().replace("_", "-") not in ("utf-8", "utf8", "ascii"):
        raise UnusableReply(f"it is no UTF-8 by its own words: coding {coding[1]}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in strings: not ours to say
            return ast.parse(source)
    except SyntaxError as error:
        raise UnusableReply(f"its source is no Python: line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnusableReply("its source is no Python that can be read: it is nested too deeply") from error


def _check_python(tree: ast.Module, kernel: Kernel) -> None:
    wanted = (*kernel.inputs, *(output.name for output in kernel.outputs))
    named = [one for one in _top_level(tree.body) if _defined_name(one) == kernel.name]
    if not named:
        raise UnusableReply(f"it defines no function '{kernel.name}', which is what is called")
    last = named[-1]
    if isinstance(last, ast.AsyncFunctionDef | ast.ClassDef):
        raise UnusableReply(f"'{kernel.name}' is no plain function")
    if isinstance(last, ast.FunctionDef) and not _takes(last.args, len(wanted)):
        raise UnusableReply(
            f"'{kernel.name}' has another signature: it is called with {len(wanted)} arguments, {', '.join(wanted)}"
        )


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield what a module defines by name, below ``if`` and ``try`` too."""
    for one in body:
        yield one
        for part in ("body", "orelse", "handlers", "finalbody") if isinstance(one, ast.If | ast.Try | ast.With) else ():
            for inner in getattr(one, part, []):
                yield from _top_level(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def _defined_name(one: ast.stmt) -> str:
    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return one.name
    if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
        return one.targets[0].id  # such as a function compiled: how it is called, only running it tells
    return ""


def _takes(args: ast.arguments, count: int) -> bool:
    most = len(args.posonlyargs) + len(args.args)
    needs_words = any(default is None for default in args.kw_defaults)
    return most - len(args.defaults) <= count and (count <= most or args.vararg is not None) and not needs_words


def _check_launcher(source: str, kernel: Kernel) -> None:
    text = without_comments(source)
    found = launchers(text, kernel.name)
    if not found or 'extern "C"' not in " ".join(text.split()):
        form = f'extern "C" cudaError_t {kernel.name}(..., cudaStream_t stream)'
        raise UnusableReply(f"it defines no launcher '{kernel.name}', which is what is called: {form}")
    tensors = {*kernel.inputs, *(output.name for output in kernel.outputs)} - {*kernel.numbers}
    kinds = [*("*" if name in tensors else "integer" for name in kernel.arguments), "stream"]
    if not any(_fits(parameters, kinds) for parameters in found):
        raise UnusableReply(
            f"'{kernel.name}' has another signature: it is called with {len(kinds)} arguments, "
            f"{', '.join((*kernel.arguments, 'stream'))}, pointers for tensors, long long for integers"
        )


def _fits(parameters: tuple[str, ...], kinds: list[str]) -> bool:
    if len(parameters) != len(kinds):
        return False
    pairs = list(zip(parameters, kinds, strict=True))[:-1]
    return all(("*" in parameter or "[" in parameter) == (kind == "*") for parameter, kind in pairs)


def without_comments(source: str) -> str:
    """Return a source with a space for each comment; what looks like one in a string stays."""
    return _COMMENT.sub(lambda found: found[1] or " ", source)


def launchers(text: str, name: str) -> list[tuple[str, ...]]:
    """Return the parameters of each definition of a function: its name, parameters, and a body behind them."""
    found = []
    for place in islice(re.finditer(rf"\b{re.escape(name)}\s*\(", text), MOST_PLACES):
        end = _closing(text, place.end())
        if end is not None and text[end + 1 :].lstrip()[:1] == "{":
            found.append(_parts(text[place.end() : end]))
    return found


def _closing(text: str, start: int) -> int | None:
    """Return where the parenthesis that was opened before ``start`` is closed; None where it is not."""
    depth = 1
    for place in re.finditer(r"[()]", text[start:]):
        depth += 1 if place[0] == "(" else -1
        if depth == 0:
            return start + place.start()
    return None


def _parts(parameters: str) -> tuple[str, ...]:
    """Return a list of parameters at its outer commas."""
    parts, depth = [""], 0
    for letter in parameters:
        depth += (letter in _PAIRS) - (letter in _PAIRS.values())
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    stripped = tuple(part.strip() for part in parts)
    return () if stripped in (("",), ("void",)) else stripped


def private_includes(source: str) -> set[str]:
    """Return what a source includes in quotes, by a path from the root or upwards, or by the name of a macro.

    By such a name the compiler's words could show a model any file that the compiler can read. Comments are read as
    such and not: what is one within a string is not told apart everywhere. A help, as ``check_entry_point`` is.
    """
    joined = _CONTINUED.sub("", source)
    readings = (joined, without_comments(joined), _ANY_COMMENT.sub(" ", joined))
    named = (_OPERAND.match(rest) for text in readings for rest in _DIRECTIVE.findall(text))
    return {one[0] for one in named if one and not _OF_A_LIBRARY.fullmatch(one[0])}
