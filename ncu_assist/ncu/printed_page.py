"""Reading the details page as ncu prints it in a terminal, out of the text around it: logs, READMEs, messages.

A row of its tables has a label, a unit and a rounded value. A label is read where it says one metric, whatever release
and chip (``catalogue.labels``), and ncu's own names are. What stands behind a row, as people write there, is passed
over, and so is a prefix that all lines of the page have. Where blanks were lost a row is read by its label, unit and
number. Values in another locale and tables over several kernels are never guessed at, and what may belong to another
kernel belongs to none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.catalogue.labels import OF_SECTIONS, OF_TABLES
from ncu_assist.ncu.contents import Contents, RuleFacts
from ncu_assist.ncu.csv_page import (
    AGAIN,
    BLOCK,
    CHOSEN,
    GRID,
    INVOCATIONS,
    KERNEL,
    METRIC,
    METRIC_NAME,
    NUMBER,
    SUMMARY,
    PrintedLaunch,
    Said,
    contents_of,
    metric_name,
    over_kernels,
    rule_facts,
    sized,
    unread_notes,
)
from ncu_assist.quantity import number_of

SIZE = r"\(\d+, \d+, \d+\)"
WHERE = r"Context (?P<context>\d+), Stream (?P<stream>\d+)(?:, Device (?P<device>\d+), CC (?P<cc>\d+\.\d+))?"
SIZES = rf"(?P<grid>{SIZE})x(?P<block>{SIZE}), {WHERE}"
KERNEL_LINE = re.compile(rf"(?P<name>\S.*) {SIZES}")
KERNEL_LINE_OF_SUMMARY = re.compile(
    rf"(?P<name>\S.*) (?P<grid>{SIZE})x(?P<block>{SIZE})(?:, Device (?P<device>\d+), CC (?P<cc>\d+\.\d+))?, "
    r"Invocations (?P<invocations>\d+)"
)
KERNEL_LINE_UNTIL_2022 = re.compile(rf"(?P<name>\S.*), \d{{4}}-\w{{3}}-\d{{2}} [\d:]{{8}}, {WHERE}")
KERNEL_LINE_CUT = re.compile(rf"(?P<name>\S+|(?!.*<<<)\S.*\)) (?P<grid>{SIZE})x(?P<block>{SIZE})")  # by people
END_OF_KERNEL_LINE = re.compile(SIZES)  # of one that a terminal wrapped
COLUMNS = {  # of a raw page, by what the line of a kernel says
    "name": KERNEL, "grid": GRID, "block": BLOCK, "context": "Context", "stream": "Stream", "device": "Device",
    "cc": "CC", "invocations": INVOCATIONS,
}  # fmt: skip
FORM = "NAME (64, 1, 1)x(256, 1, 1)"
PROCESS = re.compile(r"\[(?P<pid>\d+)\] (?P<program>.+)@(?P<host>[\w.:-]+)")
# A kernel in another form than ncu's, another process or command, a heading: what follows may be of another launch.
ANOTHER = re.compile(
    rf"==[A-Z]+==|#{{1,6}} (?!SMs|TPCs|Pass Groups)|```|~~~|[$>] .*\bncu\b|.*{SIZE}x{SIZE}|.*\bContext \d+, Stream \d+"
)
SECTION = re.compile(r"Section: (\S.*)")
TABLE = re.compile(r"Table Name : (\S.*)")
RULER = re.compile(r"-{3,}(?: -{3,}){2,}")
RULER_LINE = re.compile(rf"^([^\n]{{0,40}}?)[ \t]*{RULER.pattern}", re.MULTILINE)
NUMBERED = re.compile(r"(\d+)[:|.]?")  # lines, by an editor or grep
COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
SIGNS = str.maketrans({"\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-", "\N{NO-BREAK SPACE}": " "})  # of a web page
_TIME, _BYTES = "[num]?s|[num]?second", "[KMGT]?byte"
_COUNTED = "block|cycle|inst|register|request|sample|sector|thread|warp"
UNIT = rf"%|(?:{_BYTES}|[KMG]?hz|{_TIME}|{_COUNTED})(?:/(?:{_BYTES}|{_TIME}|{_COUNTED}))?"
ROW_OF_WORDS = re.compile(rf"\s*(?P<unit>{UNIT})?(?P<values>(?:\s+{NUMBER.pattern})+)")
WITHOUT_UNIT = {  # labels that never have one
    "Avg. Active Threads Per Warp", "Avg. Not Predicated Off Threads Per Warp", "Block Size", "Cluster Size",
    "Grid Size", "Issued Warp Per Scheduler", "Waves Per SM",
}  # fmt: skip
SCALED = re.compile("byte|time|second")  # in the name of a metric that is no number without its unit
ELIDED = {"...", "\N{HORIZONTAL ELLIPSIS}", "[...]"}
ROW_CELLS, SUMMARY_CELLS = 3, 2 + len(SUMMARY)
RULE = re.compile(r"(OPT|WRN|INF|ERR)(?: +(?=Est\. )| {2,})(\S.*)")  # how a finding of NVIDIA's rules begins
GAIN = re.compile(r"Est\. (Local )?Speedup: (\S+)%(?: (.*))?")
OF_ONE_LINE = re.compile(r"at PC 0x[0-9a-f]+")  # of the code, as until 2022: a report has no such findings
BETWEEN_RULES = re.compile(r"-{5} -{20,}")
OVER_SEVERAL, OF_NO_KERNEL = ("table", "over several kernels"), ("table", "of no kernel line")  # why it is left out
NO_TITLE, MISFIT = ("table", "without a title"), ("row", "outside of its columns")
VALUE_AT_END = re.compile(r"\s-?[\d,]*\d(?:\.\d+)?$")
LEAST_OF_LABEL = 4  # letters
FIRST_ROWS = (
    "ncu prints the first rows of its sections only, unless it is asked for more: --print-details all, "
    "--csv --page raw, or a report (-o)"
)
MOST_WRAPPED = 20  # lines of a terminal that the line of a kernel takes


def is_printed(text: str) -> bool:
    """Tell whether a text holds a table as ncu prints it: behind its title or, on the raw page, behind its kernel."""
    plain = _plain(text)
    return any(_begins_table(plain, found.start()) for found in RULER_LINE.finditer(plain) if not found[1].strip())


def _plain(text: str) -> str:
    """Return a text without colours, and without what stands before each of ncu's rulers: ``> ``, a rank, numbers."""
    text = (COLOUR.sub("", text) if "\x1b" in text else text).translate(SIGNS)
    before = [found[1].strip() for found in RULER_LINE.finditer(text)]
    numbers = [int(found[1]) for one in before if (found := NUMBERED.fullmatch(one))]
    if before and len(numbers) == len(before) and all(one < other for one, other in pairwise(numbers)):
        return re.sub(rf"^[ \t]*{NUMBERED.pattern}", "", text, flags=re.MULTILINE)
    if len({*before} - {""}) != 1:
        return text
    return re.sub(rf"^[ \t]*{re.escape(max(before))}", "", text, flags=re.MULTILINE)


def _begins_table(text: str, ruler: int) -> bool:
    """Tell whether one of the two lines before a ruler says of what the table is: a description may stand between."""
    end_of_heading = ruler
    for _ in range(3):
        end_of_heading = max(text.find("\n", end_of_heading + 1), end_of_heading)
    has_heading = METRIC in text[ruler:end_of_heading]
    for _ in range(2):
        end = max(text.rfind("\n", 0, ruler), 0)
        ruler = text.rfind("\n", 0, end) + 1
        line = text[ruler:end].strip()
        if _kernel_line(line, []):
            return True
        title = SECTION.fullmatch(line) or TABLE.fullmatch(line)
        if title:
            return has_heading or title[1] == CHOSEN or title[1] in OF_SECTIONS or title[1] in OF_TABLES
    return False


def _kernel_line(text: str, before: list[str]) -> re.Match[str] | None:
    """Return the line of a kernel; the end of one that a terminal wrapped with the lines ``before`` it."""
    forms = (KERNEL_LINE, KERNEL_LINE_UNTIL_2022, KERNEL_LINE_OF_SUMMARY, KERNEL_LINE_CUT)
    whole = " ".join([*before, text]) if END_OF_KERNEL_LINE.fullmatch(text) else text
    found = next((found for form in forms if (found := form.fullmatch(whole))), None)
    if found and found["name"].count(")") > found["name"].count("(") and before:
        return _kernel_line(f"{before[-1]} {text}", before[:-1])
    return found


@dataclass
class _Printed:
    """One launch as printed, by a call of ncu that has this number; 0 where no process is named."""

    facts: dict[str, str]
    call: int
    metrics: dict[str, Said] = field(default_factory=dict)
    others: list[Said] = field(default_factory=list)  # again, with another value, from a table of its own
    rules: list[RuleFacts] = field(default_factory=list)
    tables: set[tuple[str, str]] = field(default_factory=set)  # section and table of those that were read


@dataclass
class _Reader:
    """Goes through the lines; ``unread`` counts what stands under labels that do not say one metric, by place."""

    launches: list[_Printed] = field(default_factory=list)
    has_tables: bool = False  # those of --print-details all
    unread: Counter[str] = field(default_factory=Counter)
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)  # tables and rows, by the reason
    process: dict[str, str] = field(default_factory=dict)
    calls: int = 0  # of ncu, by their processes
    section: str = ""
    table: str = ""
    launch: _Printed | None = None
    cells: tuple[slice, ...] = ()  # of the table that is open
    in_heading: bool = False  # the last row was that of the columns' names
    has_averages: bool = False  # those names say that the last column has them
    rule: list[str] = field(default_factory=list)  # kind and words of a finding that is open, by lines
    rule_indent: int = 0
    is_loose: bool = False  # a blank line stood in the table: it may have ended
    is_list: bool = False  # a title, or a row without a ruler above, stands directly before
    is_known: bool = True  # nothing with the last title was read of this launch
    reason: tuple[str, str] | None = None  # why nothing of the last table is read
    wrapped: list[str] = field(default_factory=list)  # the last lines of no known form, since a blank one

    def line(self, text: str, indent: int) -> None:
        """Take a line without the blanks around it; ``indent`` is how many stood before it."""
        lines, self.wrapped = self.wrapped, []
        if not self._goes_on(text, indent):
            self._end_rule()
        if ruler := RULER.match(text):
            self._ruler(ruler.group())
        elif self.launch and self.section and (found := RULE.fullmatch(text)):
            self.cells = ()
            self.rule, self.rule_indent = [found[1], found[2]], indent
        elif found := SECTION.fullmatch(text):
            self._open(found[1])
        elif found := TABLE.fullmatch(text):
            self.has_tables = True
            self._open(self.section, found[1])
        elif found := _kernel_line(text, lines):
            self._kernel(found)
        elif found := PROCESS.fullmatch(text):
            self.process = {"Process ID": found["pid"], "Process Name": found["program"], "Host Name": found["host"]}
            self.calls += 1
            self._end()
        elif not text:
            self.is_loose, self.reason, self.is_list = True, None, False
        elif self.cells and self._row(text):
            pass
        elif ANOTHER.match(text):
            self._end()
            self.wrapped = [text]
        elif self.rule:
            self.rule.append(text)
        elif self.is_list and (text in ELIDED or (not self.reason and self._row_of_words(text))):
            pass
        else:
            self.is_list = False
            is_row = self.reason is None and VALUE_AT_END.search(text) and self._knows(text)
            self.left_out.update([MISFIT] if is_row else [])
            self.wrapped = [*lines[-MOST_WRAPPED:], text]

    def _goes_on(self, text: str, indent: int) -> bool:
        """Tell whether a line goes on with the finding before it: ncu indents its words more, unless none is left."""
        is_other = any(form.fullmatch(text) for form in (BETWEEN_RULES, RULE, SECTION, TABLE, PROCESS))
        return (
            bool(text)
            and not is_other
            and not RULER.match(text)
            and (indent > self.rule_indent or not self.rule_indent)
        )

    def _end_rule(self) -> None:
        if not self.rule:
            return
        (kind, *lines), self.rule = self.rule, []
        words = " ".join(" ".join(lines).split())
        gain = GAIN.fullmatch(words)
        speedup_type, percent = ("local" if gain[1] else "global", gain[2]) if gain else ("", "")
        found = rule_facts("", self.section, kind, gain[3] or "" if gain else words, speedup_type, percent)
        if self.launch and found and found not in self.launch.rules and not OF_ONE_LINE.search(words):
            self.launch.rules.append(found)

    def _open(self, section: str, table: str = "") -> None:
        self.section, self.table, self.cells, self.reason = section, table, (), None
        self.is_list = bool(self.launch and section)
        self.is_known = not (self.launch and (section, table) in self.launch.tables)

    def _end(self) -> None:
        self._end_rule()
        self.launch = None
        self._open("")

    def _kernel(self, found: re.Match[str]) -> None:
        self._end_rule()
        said = {COLUMNS[group]: value for group, value in found.groupdict().items() if value is not None}
        self.launch = _Printed({"ID": str(len(self.launches)), **self.process, **said}, self.calls)
        self.launches.append(self.launch)
        self._open("")

    def _ruler(self, ruler: str) -> None:
        if self.cells:
            self.cells = self.cells if self.in_heading else ()
            self.in_heading = self.is_loose = False
            return
        if self.reason:
            return
        ends = [-1, *(found.start() for found in re.finditer(" ", ruler)), len(ruler)]
        place = self.section, self.table
        is_summary = self.launch is not None and INVOCATIONS in self.launch.facts
        if len(ends) - 1 != (SUMMARY_CELLS if is_summary else ROW_CELLS):
            self.reason = OVER_SEVERAL
        elif self.launch is None:
            self.reason = OF_NO_KERNEL
        elif self.is_known and place in self.launch.tables:  # a second one behind the same title
            self.reason = NO_TITLE
        if self.reason:
            self.left_out[self.reason] += 1
            return
        assert self.launch is not None
        self.launch.tables.add(place)
        self.cells = tuple(slice(start + 1, end) for start, end in pairwise(ends))
        self.is_loose = self.in_heading = self.has_averages = False

    def _row(self, text: str) -> bool:
        """Take a row: cells as wide as the ruler says, with blanks between them; return whether it was one."""
        assert self.launch is not None
        if text.startswith(METRIC):
            self.in_heading, self.has_averages = True, tuple(text.split()[-len(SUMMARY) :]) == SUMMARY
            return True
        label, unit, *others, value = (text[cell].strip() for cell in self.cells)
        if others and not self.has_averages:
            self.cells, self.reason = (), OVER_SEVERAL
            self.left_out[OVER_SEVERAL] += 1
            return False
        if self._is_outside(text) or not value or " " in unit:
            if self._row_of_words(text):
                return True
            if self._knows(text):
                self.left_out[MISFIT] += 1
                return True
            return False
        name = metric_name(self.section, label, self.table, self.launch.facts.get("CC")) if label else None
        if name is None and self.is_loose:
            self.cells = ()
            return False
        if name is None:
            if label:
                self.unread[self.table or self.section] += 1
        else:
            self._metric((name, unit, value))
        return True

    def _is_outside(self, text: str) -> bool:
        return any(text[cell.stop : cell.stop + 1].strip() for cell in self.cells)

    def _row_of_words(self, text: str) -> bool:
        """Take a row whose blanks were lost: a label, a unit right behind it and a number, and nothing else."""
        assert self.launch is not None
        chip, name = self.launch.facts.get("CC"), METRIC_NAME.match(text)
        labels = [name[0]] if name else [label for label in self._labels() if text.startswith(label)]
        label = max(labels, key=len, default="")
        found = ROW_OF_WORDS.fullmatch(text, len(label))
        metric = metric_name(self.section, label, self.table, chip) if found and label else None
        if found is None or metric is None:
            return False
        values, unit = found["values"].split(), found["unit"] or ""
        is_whole = bool(unit) or (not SCALED.search(label) if name else label in WITHOUT_UNIT)
        if not is_whole or len(values) != (len(SUMMARY) if INVOCATIONS in self.launch.facts else 1):
            return False
        self._metric((metric, unit, values[-1]))
        return True

    def _labels(self) -> Iterable[str]:
        return OF_TABLES.get(self.table, {}) if self.table else OF_SECTIONS.get(self.section, {})

    def _metric(self, said: Said) -> None:
        assert self.launch is not None
        known = self.launch.metrics.setdefault(said[0], said)
        if known == said:
            return
        if self.is_known:
            self.launch.others.append(said)
        else:  # the same section again, with other values: of another launch
            self.left_out[OF_NO_KERNEL] += 1
            self._end()
            self.reason = OF_NO_KERNEL

    def _knows(self, text: str) -> bool:
        """Tell whether a line that does not fit the columns begins as a row does."""
        is_label = any(text.startswith(label) for label in self._labels() if len(label) >= LEAST_OF_LABEL)
        return is_label or bool(METRIC_NAME.match(text))


def read_printed(text: str, file: str) -> Contents:
    """Return the launches of a text; ``file`` is its name, for messages.

    ncu before 2022.2 prints no sizes beside a kernel. Of its launches grid and block are what the section Launch
    Statistics has, their totals, along x, or unknown. Several calls of ncu that count different metrics of the same
    launches are read as one. Raises UsageProblem when no launch can be read, DamagedData for values that are not
    printed in English or no numbers.
    """
    reader = _Reader()
    for line in _plain(text).split("\n"):
        reader.line(stripped := line.strip(), line.find(stripped))
    reader.line("", 0)
    launches, together = _as_passes([one for one in reader.launches if one.metrics])
    idle = [one for one in reader.launches if not one.metrics]
    printed = [PrintedLaunch(one.facts, [*one.metrics.values(), *one.others], one.rules) for one in [*launches, *idle]]
    rows, notes = sized(printed)
    if not rows:
        raise _nothing(reader, file)
    left_out = [f"left out: {number_of(count, what)} {why}" for (what, why), count in sorted(reader.left_out.items())]
    of_sections = any(title not in ("", CHOSEN) for one in reader.launches for title, _ in one.tables)
    first_rows = [FIRST_ROWS] if of_sections and not reader.has_tables else []
    return contents_of(file, rows, (*together, *first_rows, *unread_notes(reader.unread), *notes, *left_out))


def _as_passes(launches: Sequence[_Printed]) -> tuple[list[_Printed], list[str]]:
    """Return launches with what several calls of ncu counted of them put together, and a note where any were.

    So they are if the calls are of one program with the same kernels in the same order, and no metric has two values:
    what was counted twice differs where it was measured twice. What would fit two of them stays alone: of two versions
    that were counted in turn nothing says which it is of.
    """
    groups: list[list[_Printed]] = []
    places: dict[object, list[int]] = {}  # the groups of a program with its kernels
    counts: dict[int, int] = {}
    for number, found in groupby(launches, lambda one: one.call):
        own = list(found)
        kernels = tuple(tuple(one.facts.get(fact) for fact in (KERNEL, GRID, BLOCK, "CC")) for one in own)
        key = own[0].facts.get("Process Name"), kernels
        fitting = [place for place in places.get(key, ()) if all(map(_fits, groups[place], own))]
        if len(fitting) == 1:
            (place,) = fitting
            adds = any(other.metrics.keys() - one.metrics.keys() for one, other in zip(groups[place], own, strict=True))
            counts[place] = counts.get(place, 1) + adds
            groups[place] = [_both(one, other) for one, other in zip(groups[place], own, strict=True)]
            continue
        if number:
            places.setdefault(key, []).append(len(groups))
        groups.append(own)
    calls = sum(count for count in counts.values() if count > 1)
    notes = [f"put together: {calls} calls of ncu, which counted different metrics of the same launches"]
    return [one for group in groups for one in group], notes if calls else []


def _fits(one: _Printed, other: _Printed) -> bool:
    """Tell whether another call counted something else of a launch, or the same text stands twice."""
    is_same = one.facts["Process ID"] == other.facts["Process ID"]
    both = one.metrics.keys() & other.metrics.keys()
    return (is_same or len(both) < len(other.metrics)) and all(
        one.metrics[name] == other.metrics[name] for name in both
    )


def _both(one: _Printed, other: _Printed) -> _Printed:
    return replace(
        one,
        metrics=one.metrics | other.metrics,
        others=[*one.others, *other.others],
        rules=[*one.rules, *(rule for rule in other.rules if rule not in one.rules)],
        tables=one.tables | other.tables,
    )


def _nothing(reader: _Reader, file: str) -> UsageProblem:
    if reader.left_out[OVER_SEVERAL]:
        return over_kernels(file)
    if not reader.launches:
        words = f"{file} holds tables of ncu, but no line of a kernel: {FORM}"
        return UsageProblem(words, f"put the line of the kernel above its first table, or {AGAIN}")
    if reader.left_out[MISFIT]:
        words = "holds tables of ncu whose columns were lost: cells do not stand below one another"
    elif reader.unread:
        words = "holds tables of ncu, but none of their labels says one metric for certain"
    else:
        words = "names kernels, but has no table of them whose cells stand below one another"
    return UsageProblem(f"{file} {words}", AGAIN)
