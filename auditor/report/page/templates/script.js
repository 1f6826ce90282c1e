"use strict";
// To sort, fold and copy. Whatever it adds is not there without it.
(() => {
  const make = (parent, words, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", () => act(button));
    parent.append(button);
    return button;
  };

  // Numbers by size, whatever stands before or after them; anything else by its letters.
  const value = (row, column) => row.cells[column].textContent.trim();
  const number = (text) => (/\d/.test(text) ? parseFloat(text.replace(/,/g, "").replace(/^[^\d.+-]+/, "")) : NaN);
  const compare = (a, b) => {
    const x = number(a), y = number(b);
    if (/^[\d<>=~.+-]/.test(a) && /^[\d<>=~.+-]/.test(b) && x === x && y === y) return x - y;
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const sort = (table, column) => {
    const heads = [...table.tHead.rows[0].cells], head = heads[column];
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => (down ? -1 : 1) * compare(value(a, column), value(b, column)));
    table.tBodies[0].append(...rows);
  };
  for (const table of document.querySelectorAll("table")) {
    if (table.tBodies[0].rows.length < 3) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (head.classList.contains("plain") || head.querySelector(".unseen")) return;
      const words = head.textContent;
      head.textContent = "";
      make(head, words, () => sort(table, column)).className = "sort";
    });
  }

  const copied = (button, done) => {
    button.textContent = done ? "copied" : "press Ctrl+C";
    setTimeout(() => (button.textContent = "copy"), 2000);
  };
  const select = (element) => getSelection().selectAllChildren(element);
  for (const block of document.querySelectorAll("pre[data-copy]")) {
    const code = block.querySelector("code");
    const button = make(block.parentElement, "copy", () => {
      const write = navigator.clipboard ? navigator.clipboard.writeText(code.textContent) : Promise.reject();
      write.then(() => copied(button, true), () => {
        select(code);
        copied(button, document.execCommand("copy"));
      });
    });
    button.className = "copy";
    button.setAttribute("aria-live", "polite");
  }

  const folds = [...document.querySelectorAll("details.subject")];
  const reveal = () => {
    const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (found && found.tagName === "DETAILS") {
      found.open = true;
      found.scrollIntoView();
    }
  };
  addEventListener("hashchange", reveal);
  reveal();
  if (folds.length > 1) {
    const bar = document.createElement("p");
    bar.className = "folds";
    folds[0].before(bar);
    make(bar, "open all", () => folds.forEach((one) => (one.open = true)));
    make(bar, "fold all", () => folds.forEach((one) => (one.open = false)));
  }

  // Paper has nothing to unfold.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((one) => (one.open = true));
  });
  addEventListener("afterprint", () => closed.forEach((one) => (one.open = false)));
})();
