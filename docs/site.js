// A table that is wider than the screen scrolls: by keyboard too. The theme wraps tables after the page has loaded.
document$.subscribe(() => setTimeout(() => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Table");
  }
  // The theme makes a landmark of each block's button, and all of them nameless.
  for (const nav of document.querySelectorAll(".md-code__nav")) nav.setAttribute("role", "none");
}));

// A hit of the search opens its page at the word: the row of a table that begins with it, else the first place.
document$.subscribe(() => setTimeout(() => {
  if (location.hash || !new URLSearchParams(location.search).get("h")) return;
  const rows = [...document.querySelectorAll(".md-content td:first-child > mark, .md-content td:first-child > code > mark")];
  const whole = rows.find(mark => mark.textContent.trim().toLowerCase() === mark.closest("td").textContent.trim().toLowerCase());
  (whole || rows[0] || document.querySelector(".md-content mark"))?.scrollIntoView({block: "center"});
}, 300));
