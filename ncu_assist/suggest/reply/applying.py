"""The file that a reply means: its source, or its parent's with every edit applied; and its entry point."""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice

from ncu_assist.backends.torch_extension import TORCH_HEADER
from ncu_assist.sources import HEADER_COMMENT
from ncu_assist.spec import Kernel
from ncu_assist.suggest.reply.form import Edit, MismatchedEdit, ParsedReply, UnusableReply

SOURCE_LIMIT = 256 * 1024  # bytes: the longest hand-written attention kernels have half of that
MOST_QUOTED = 2_000  # characters of an edit that are told back
AROUND = 2  # lines shown before and after
MOST_SHOWN = 40  # lines
MOST_COMPARED, LONGEST = 2_000, 300  # lines, and letters of one: comparing two takes the product of their lengths
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


def apply(reply: ParsedReply, parent_source: str, suffix: str, kernel: Kernel | None = None) -> str:
    """Return the draft's source: line ends and the last one as in ``parent_source``, which is its bytes decoded.

    Edits are of the parent's source, each of a place of its own, spaces and all. With ``kernel`` the entry point must
    be as the harness calls it. Raises MismatchedEdit for an edit that does not apply, UnusableReply for a source that
    is the parent's, too long, no text, or of another signature; nothing is applied in part.
    """
    parent = _with_plain_ends(parent_source)
    source = _with_plain_ends(reply.source) if reply.source is not None else _edited(parent, reply.edits)
    _check_text(source)
    source = source.rstrip("\n") + ("\n" if parent.endswith("\n") or not parent else "")
    if _code(source, suffix) == _code(parent, suffix):
        raise UnusableReply("it changes nothing of its parent's code")
    check_entry_point(source, parent, suffix, kernel)
    return source.replace("\n", "\r\n") if _has_windows_ends(parent_source) else source


def _edited(parent: str, edits: tuple[Edit, ...]) -> str:
    """Return the parent's source with all edits applied; each is looked for in what the parent is, not what it becomes.

    A missing line end at the end of the file is filled in, so that the last line is found as any other.
    """
    whole = parent if parent.endswith("\n") else f"{parent}\n"
    spans = sorted(_span(edit, number, len(edits), whole) for number, edit in enumerate(edits, 1))
    result, end = [], 0
    for start, stop, number, replacement in spans:
        if start < end:
            raise MismatchedEdit(f"edit {number} changes lines that another edit changes too; nothing was applied")
        result += [whole[end:start], replacement]
        end = stop
    return "".join((*result, whole[end:]))


def _span(edit: Edit, number: int, count: int, whole: str) -> tuple[int, int, int, str]:
    """Return where an edit applies; raises MismatchedEdit where that is no place, or several."""
    search, named = _with_plain_ends(edit.search), f"edit {number} of {count}"
    if not search.strip():
        raise MismatchedEdit(f"{named} looks for nothing; to add lines, look for the lines beside them")
    places = places_of(search, whole)
    if len(places) == 1:
        return places[0], places[0] + len(search), number, _with_plain_ends(edit.replace)
    looked = f"It looks for:\n{search[:MOST_QUOTED]}"
    if places:
        lines = ", ".join(str(whole.count("\n", 0, place) + 1) for place in places[:10])
        reason = f"{named} matches {len(places)} places, at lines {lines}; it must match one"
        raise MismatchedEdit(f"{reason}; nothing was applied", f"{looked}\nGive more of the lines around it.")
    near = nearest_lines(search, whole)
    said = f"The nearest lines of the source are:\n{near}" if near else "No line of the source is like it."
    raise MismatchedEdit(f"{named} matches nothing in the source; nothing was applied", f"{looked}\n{said}")


def _check_text(source: str) -> None:
    if "\0" in source:
        raise UnusableReply("its source has NUL bytes, which no source has")
    try:
        size = len(source.encode())
    except UnicodeEncodeError as error:
        raise UnusableReply("its source has characters that are none (lone surrogates)") from error
    if size > SOURCE_LIMIT:
        raise UnusableReply(f"its source has {size:,} bytes, and {SOURCE_LIMIT:,} are the most")


def _code(source: str, suffix: str) -> bytes:
    """Return a source without the comment at its top and without spaces at the ends of lines."""
    code = HEADER_COMMENT[suffix].sub(b"", source.encode("utf-8", "replace"), count=1)
    return b"\n".join(line.rstrip() for line in code.splitlines()).strip()


def _has_windows_ends(text: str) -> bool:
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _with_plain_ends(text: str) -> str:
    """Return a text whose lines all end in \\r\\n with \\n alone; a text of both kinds stays as it is."""
    text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n") if _has_windows_ends(text) else text


def nearest_lines(search: str, source: str) -> str:
    """Return the part of a source where most lines are those of ``search``, numbered from 1.

    Spaces at both ends are not compared: they are what goes wrong most often. Where no line is the same, it is the
    place of the line most like the longest one of ``search``; empty where none is like it.
    """
    wanted, lines = search.splitlines(), source.splitlines()
    start = _nearest_start([line.strip() for line in wanted], [line.strip() for line in lines])
    if start is None:
        return ""
    first, last = max(0, start - AROUND), min(len(lines), start + min(len(wanted), MOST_SHOWN) + AROUND)
    return "\n".join(f"{number + 1:5}  {lines[number]}" for number in range(first, last))


def places_of(search: str, source: str) -> list[int]:
    """Return the offsets at which a text stands, overlapping ones too; whole lines only at the start of a line."""
    found, place = [], source.find(search)
    while place >= 0:
        if not search.endswith("\n") or place == 0 or source[place - 1] == "\n":
            found.append(place)
        place = source.find(search, place + 1)
    return found


def _nearest_start(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the line at which what is wanted would start, by the most lines that are equal, else by one alike."""
    votes: dict[int, int] = {}
    numbers: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        numbers.setdefault(line, []).append(number)
    for offset, line in enumerate(wanted):
        for number in numbers.get(line, ()) if len(line) > 2 else ():  # a lone brace is everywhere
            votes[number - offset] = votes.get(number - offset, 0) + 1
    if votes:
        return max(0, max(votes, key=lambda start: (votes[start], -start)))
    longest = max(wanted, key=len, default="")
    known = [line for line in numbers if len(line) <= LONGEST][:MOST_COMPARED]
    alike = difflib.get_close_matches(longest, known, n=1, cutoff=0.4) if 0 < len(longest) <= LONGEST else []
    return max(0, numbers[alike[0]][0] - wanted.index(longest)) if alike else None


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
