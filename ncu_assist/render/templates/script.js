// What a page can do beyond being read: theme, sorting, filters, tooltips, keyboard. Without it everything is there.
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const first = (selector, within = document) => within.querySelector(selector);
  const announce = (text) => { first("[data-announce]").textContent = text; };

  // theme: auto follows the system; set before the first paint
  const THEMES = ["auto", "light", "dark"];
  const KEY = "ncu-assist-theme";
  const remembered = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem(KEY, theme); } catch { /* for this page only, then */ } };
  const theme = () => root.dataset.theme || "auto";
  const showTheme = () => all("[data-theme-button]").forEach((one) => { one.textContent = `Theme: ${theme()}`; });
  const setTheme = (wanted) => {
    if (wanted === "light" || wanted === "dark") root.dataset.theme = wanted;
    else delete root.dataset.theme;
  };
  const nextTheme = () => {
    setTheme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
    remember(theme());
    showTheme();
    announce(`Theme: ${theme()}`);
  };
  root.classList.add("js");
  setTheme(remembered());

  // sorting: a header says data-sort="number", "plain" (a number as it is written) or "text", a cell data-key where its
  // text is not what it sorts by
  const keyOf = (row, column, kind) => {
    const cell = row.cells[column];
    if (!cell) return NaN;  // a gap
    const text = cell.dataset.key ?? cell.textContent.trim();
    if (kind === "hex") return parseInt(text, 16);
    if (kind === "shown") {  // as it is read: 12.5 %, 49.2 k
      const [, number, scale] = text.match(/^<?([\d.,]+) ?([kMGT]?)/) ?? [];
      return Number(number?.replaceAll(",", "")) * 1000 ** " kMGT".indexOf(scale || " ");
    }
    if (kind === "plain") return text ? Number(text.replaceAll(",", "")) : NaN;
    if (kind === "number") return cell.dataset.key === undefined ? NaN : Number(text);
    return text === "-" ? "" : text;
  };
  const absent = (key) => key === "" || Number.isNaN(key);
  const order = (a, b, sign) => {
    if (absent(a) || absent(b)) return absent(a) - absent(b);
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  };
  const sort = (header) => {
    const body = header.closest("table").tBodies[0];
    const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const rows = [...body.rows].map((row) => [keyOf(row, header.cellIndex, header.dataset.sort), row]);
    rows.sort((one, other) => order(one[0], other[0], sign));
    body.append(...rows.map(([, row]) => row));
    all("th[data-sort]", header.closest("thead")).forEach((one) => one.setAttribute("aria-sort", "none"));
    const direction = sign > 0 ? "ascending" : "descending";
    header.setAttribute("aria-sort", direction);
    announce(`Sorted by ${header.dataset.title}, ${direction}`);
  };
  const makeSortable = (header) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    header.dataset.title = (first(".term", header) ?? header).textContent.trim();
    header.setAttribute("aria-sort", "none");
    if (first(".term", header)) button.setAttribute("aria-label", `Sort by ${header.dataset.title}`);
    else button.append(...header.childNodes);
    button.addEventListener("click", () => sort(header));
    header.append(button);
  };

  // filters: every word must stand somewhere in the row, or in what one of its terms means; a table may have several
  // bodies, where rows are grouped
  const tipOf = (term) => document.getElementById(term.getAttribute("aria-describedby"));
  const ofName = (row, word) => {  // a row NAME.* stands for every NAME.rollup
    const name = row.cells[0]?.textContent.toLowerCase();
    return name?.endsWith(".*") && word.startsWith(name.slice(0, -1));
  };
  const textOf = (row) => [row, ...all(".term", row).map(tipOf)].map((one) => one.textContent).join(" ").toLowerCase();
  const filter = (input) => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = all(":scope > tbody > tr", document.getElementById(input.dataset.filter));
    let left = 0;
    for (const row of rows) {
      const text = textOf(row);
      row.hidden = !words.every((word) => text.includes(word) || ofName(row, word));
      left += row.hidden ? 0 : 1;
    }
    const output = first(`output[for="${input.id}"]`);
    output.dataset.all ??= output.textContent;
    const some = left ? `${left} of ${rows.length} rows` : `nothing matches, of ${rows.length} rows`;
    output.textContent = words.length ? some : output.dataset.all;
  };

  // what terms mean: by hover and focus, stays while the pointer is on it, leaves with Esc
  let named = null;
  const close = () => {
    if (named && tipOf(named).matches(":popover-open")) tipOf(named).hidePopover();
    named = null;
  };
  const open = (term) => {
    const tip = tipOf(term);
    if (named !== term) close();
    if (!tip.matches(":popover-open")) tip.showPopover();
    named = term;
    const at = term.getBoundingClientRect(), { width, height } = tip.getBoundingClientRect(), room = 8;
    const isFree = !term.closest("dt") && at.bottom + height + room < innerHeight;  // below a dt is its figure
    const below = isFree || at.top < height + room;
    tip.style.left = `${Math.max(room, Math.min(at.left, root.clientWidth - width - room))}px`;
    tip.style.top = `${below ? at.bottom + 1 : at.top - height - 1}px`;
  };
  const onTerm = (event) => {
    const term = event.target.closest?.(".term");
    if (term) open(term);
    else if (named && named !== document.activeElement && !event.target.closest?.("[popover]")) close();
  };
  const followTerm = () => {  // focus scrolls to a term that is out of sight: its tip goes along
    if (named === document.activeElement && named) open(named);
    else close();
  };
  const makeTips = () => {
    for (const one of all(".term")) {
      one.setAttribute("aria-describedby", one.getAttribute("popovertarget"));
      one.removeAttribute("popovertarget");
    }
    for (const one of all("[popover]")) {
      one.popover = "manual";
      one.role = "tooltip";
    }
    for (const kind of ["pointerover", "focusin", "click"]) document.addEventListener(kind, onTerm);
    document.addEventListener("focusout", close);
  };

  // boxes that scroll sideways show a shadow at the side where there is more
  const showMore = () => {
    const boxes = all(".scroll, .source-box, .sections");
    const more = boxes.map((one) => one.scrollWidth > one.clientWidth + 1);
    boxes.forEach((one, place) => one.classList.toggle("more", more[place]));
  };
  let frame = 0;
  const showMoreSoon = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(showMore); };

  // folded parts
  const FOLDED = "main details";
  const expand = () => {
    const wanted = all(FOLDED).some((one) => !one.open);
    all(FOLDED).forEach((one) => { one.open = wanted; });
    if (wanted) unfoldLines();
    all("[data-expand]").forEach((one) => { one.textContent = wanted ? "Fold all" : "Expand all"; });
  };

  // cold lines: behind a button that shows them
  const unfold = (button) => {
    button.closest("tbody").nextElementSibling.hidden = false;
    button.closest("tbody").hidden = true;
  };
  const unfoldLines = () => all("tbody:not([hidden]) > tr > td > [data-unfold]").forEach(unfold);

  // launches of a report, and pages of a bundle: the one that is picked is shown
  const pick = (part) => {
    if (part.classList.contains("shown")) return;
    all(":scope > .shown", part.parentElement).forEach((one) => one.classList.remove("shown"));
    part.classList.add("shown");
    showPicked();
    hot = -1;
    showMore();
    announce(first(".launch-title, h1", part).textContent);
  };
  const showPicked = () => {
    const shown = all(".launch.shown").map((one) => `#${one.id}`);
    for (const one of all(".pick a")) {
      if (shown.includes(one.hash)) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
    for (const launch of all(".launch.shown")) {  // a bundle has several pages with launches, their ids with a prefix
      const page = launch.closest(".leaf") ?? document, said = first("[data-picked]", page);
      if (said) showColumn(launch.id.replace(/.*launch-/, ""), first("table.metrics", page), said);
    }
  };
  const showColumn = (launch, table, said) => {  // of all metrics: that of the launch stands behind "together"
    const head = first(`th[data-launch="launch-${launch}"]`, table), place = 3, at = head?.cellIndex ?? place;
    table.classList.toggle("picked", !!head);
    first("b", said).textContent = `#${launch}`;
    all("span", said).forEach((one, which) => { one.hidden = !head === !which; });
    if (at !== place) for (const row of table.rows) row.insertBefore(row.cells[at], row.cells[place]);
  };
  const pickNext = (step, focus = false) => {
    const links = all(".pick tbody tr:not([hidden]) a").filter((one) => one.checkVisibility());
    const at = links.findIndex((one) => one.hasAttribute("aria-current"));
    const next = links[Math.min(Math.max(at + step, 0), links.length - 1)];
    if (!next) return false;
    const part = document.getElementById(next.hash.slice(1));
    pick(part);
    if (part.getBoundingClientRect().top > innerHeight) next.scrollIntoView({ block: "nearest" });  // else one reads it
    if (focus) next.focus();
    return true;
  };

  // a line and its instructions: a click on either marks both
  const lineOf = (row) => first("a", row)?.hash.slice(1);
  const correlate = (row) => {
    const line = row.closest(".sass") ? lineOf(row) : row.id;
    all("tr.same").forEach((one) => one.classList.remove("same"));
    if (!line) return;
    const same = all(`.sass a[href="#${line}"]`).map((one) => one.closest("tr"));
    for (const one of [document.getElementById(line), ...same]) one?.classList.add("same");
    if (same.length) announce(`${same.length} instructions of one line`);
    if (!row.closest(".sass")) markFolded(row);
  };
  const markFolded = (row) => {  // its instructions in folds: each line there is offset, FILE:LINE or LINE, instruction
    const file = row.closest(".file")?.querySelector("summary strong")?.textContent, line = row.cells[0].textContent.trim();
    if (!file) return;  // lines of a diff
    for (const pre of all(".sass pre", row.closest("section"))) {
      let named = "";
      const lines = pre.textContent.split("\n").map((text) => {
        const [, name, number] = text.match(/^\w+\t(?:(.+):)?(\d*)\t/) ?? [];
        named = name ?? named;
        return [text, number === line && named === file];
      });
      if (!lines.some(([, own]) => own)) { if (first("mark", pre)) pre.textContent = pre.textContent; continue; }
      pre.closest("details").open = true;
      pre.replaceChildren(...lines.flatMap(([text, own], place) => {
        const marked = own ? Object.assign(document.createElement("mark"), { textContent: text }) : text;
        return place ? ["\n", marked] : [marked];
      }));
    }
  };
  const onCode = (event) => {
    const row = event.target.closest?.("table.source tbody tr[id]");
    if (row) correlate(row);
  };

  // hot lines, the hottest first
  let hot = -1;
  const goHot = (step) => {
    const lines = all("[data-hot]").filter((one) => one.closest("details")?.checkVisibility() ?? one.checkVisibility());
    if (!lines.length) return false;
    lines.sort((one, other) => other.dataset.hot - one.dataset.hot);
    hot = (Math.max(hot, step < 0 ? 0 : -1) + step + lines.length) % lines.length;
    const id = lines[hot].id;
    if (location.hash === `#${id}`) unfoldTarget();
    else location.hash = id;
    announce(`Hot line ${hot + 1} of ${lines.length}: ${(100 * lines[hot].dataset.hot).toFixed(1)} % of samples`);
    return true;
  };

  const copy = async (button) => {
    const text = button.dataset.copy;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    announce("Copied");
    button.textContent = "Copied";
  };

  const help = () => { const box = first("[data-help]"); if (!box.open) box.showModal(); };
  const focusFilter = () => {  // the next one from where one reads, of those that are not folded away
    const boxes = all("[data-filter]").filter((one) => one.checkVisibility());
    const box = boxes.find((one) => one.getBoundingClientRect().bottom > 0) ?? boxes.at(-1);
    if (box) { box.focus(); box.select(); }
    return !!box;
  };
  const SHORTCUTS = { "/": focusFilter, t: nextTheme, e: expand, "?": help, n: () => goHot(1), p: () => goHot(-1), j: () => pickNext(1),
    k: () => pickNext(-1) };
  const pressed = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "f") unfoldLines();  // the browser finds no hidden line
    if (event.key === "Escape") {
      close();
      const box = event.target.closest?.("[data-filter]");
      if (box) { box.value = ""; filter(box); }
      return;
    }
    const typing = event.target.closest?.("input, textarea, select, dialog[open]");  // closed, it has the focus a moment
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps && event.target.closest?.(".pick a")) {
      pickNext(steps[event.key], true);
      event.preventDefault();
    }
    const action = SHORTCUTS[event.key];
    if (action && action() !== false) event.preventDefault();
  };

  // a link into a folded part opens it
  const unfoldTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let one = target; one; one = one.parentElement) if (one.matches(".launch, .leaf")) pick(one);
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    const cold = target?.closest("tbody.cold");
    if (cold?.hidden) unfold(first("[data-unfold]", cold.previousElementSibling));
    if (target?.matches("table.source tr")) correlate(target);
    if (target) target.scrollIntoView();
  };

  document.addEventListener("DOMContentLoaded", () => {
    const keys = { "launch-keys": ".pick a", "hot-keys": "[data-hot]", "filter-keys": "[data-filter]" };  // of what is here
    for (const [name, of] of Object.entries(keys)) if (!first(of)) first(`[data-${name}]`).remove();
    showTheme();
    all("th[data-sort]").forEach(makeSortable);
    makeTips();
    showPicked();
    all("[data-filter]").forEach((one) => one.addEventListener("input", () => filter(one)));
    all("[data-theme-button]").forEach((one) => one.addEventListener("click", nextTheme));
    all("[data-help-button]").forEach((one) => one.addEventListener("click", help));
    all("[data-close]").forEach((one) => one.addEventListener("click", () => one.closest("dialog").close()));
    all("tbody.cold").forEach((one) => { one.hidden = true; });
    all("[data-unfold]").forEach((one) => one.addEventListener("click", () => unfold(one)));
    all("[data-copy]").forEach((one) => one.addEventListener("click", () => copy(one)));
    all("[data-expand]").forEach((one) => {
      one.hidden = all(FOLDED).length === 0;
      one.addEventListener("click", expand);
    });
    document.addEventListener("keydown", pressed);
    document.addEventListener("click", onCode);
    document.addEventListener("scroll", followTerm, { capture: true, passive: true });
    addEventListener("hashchange", unfoldTarget);
    document.addEventListener("toggle", showMoreSoon, { capture: true });
    addEventListener("resize", showMoreSoon);
    showMore();
    if (location.hash) unfoldTarget();
  });
})();
