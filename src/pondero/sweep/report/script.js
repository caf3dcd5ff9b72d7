"use strict";
// Filters the list of questions, sorts the table of arms, and switches between dark and light. The
// page says the same without it.

const list = [...document.querySelectorAll("#list > details")];
const filters = document.querySelector(".filters");
const search = document.querySelector("#search");
const lost = document.querySelector("#lost");
const kinds = [...document.querySelectorAll(".kinds button")];
const words = new Map(list.map((item) => [item, item.querySelector("summary").textContent.toLowerCase()]));
let kind = "all";

function filter() {
  const wanted = search.value.trim().toLowerCase();
  let shown = 0;
  for (const item of list) {
    item.hidden =
      (kind !== "all" && item.dataset.kind !== kind) ||
      (lost.checked && !("lost" in item.dataset)) ||
      (wanted !== "" && !words.get(item).includes(wanted));
    shown += !item.hidden;
  }
  document.querySelector("#nothing").hidden = shown > 0;
}

for (const button of kinds) {
  button.addEventListener("click", () => {
    kind = button.dataset.kind;
    for (const each of kinds) each.setAttribute("aria-pressed", String(each === button));
    filter();
  });
}
search.addEventListener("input", filter);
lost.addEventListener("change", filter);
filters.hidden = false;

const number = (cell) => (cell.dataset.value === undefined ? -Infinity : Number(cell.dataset.value));

for (const table of document.querySelectorAll(".sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = (one, other) => {
        const [a, b] = [one.cells[column], other.cells[column]];
        const found = number(a) - number(b) || a.textContent.localeCompare(b.textContent);
        return down ? -found : found;
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
}

const theme = document.querySelector("#theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;
theme.addEventListener("click", () => {
  const now = root.dataset.theme || (dark.matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
});
theme.hidden = false;
