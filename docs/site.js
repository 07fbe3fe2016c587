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
