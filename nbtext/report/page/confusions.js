// The confusion matrix: a heat map that can be sorted and zoomed, with the documents of each cell.
"use strict";

(() => {
  const { labels, documents, cells } = page.data.confusions;
  const find = (id) => document.getElementById(id);
  const UNANSWERED = -1;
  const SIZES = [7, 10, 14, 18, 22, 28, 34, 42, 52];
  const LEGIBLE = 22; // pixels: larger cells show their numbers
  const LEVELS = 7;
  const byRow = labels.map(() => new Map());
  let largest = 1;
  for (const [label, predicted, number, listed] of cells) {
    byRow[label].set(predicted, { number, listed });
    if (predicted !== label) largest = Math.max(largest, number);
  }
  const hasUnanswered = byRow.some((row) => row.has(UNANSWERED));
  const right = labels.map((_, place) => byRow[place].get(place)?.number ?? 0);
  const all = labels.map((_, place) => place);
  const orders = {
    name: () => all,
    documents: () => [...all].sort((a, b) => documents[b] - documents[a] || a - b),
    wrong: () => [...all].sort((a, b) => share(right[a], a) - share(right[b], b) || a - b),
  };
  const matrix = find("matrix");
  let size = 0;
  let chosen = null;

  function share(number, label) {
    return documents[label] ? number / documents[label] : 0;
  }

  function name(predicted) {
    return predicted === UNANSWERED ? "no label" : labels[predicted];
  }

  function percent(value) {
    return `${(100 * value).toFixed(1)}\u202f%`;
  }

  function made(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // the square root makes small shares visible
  function level(label, predicted, number) {
    if (!number) return "";
    const isRight = label === predicted;
    const part = find("shade").value === "share" ? share(number, label)
      : number / (isRight ? Math.max(...right) : largest);
    const scaled = find("shade").value === "share" && !isRight ? Math.sqrt(Math.min(1, part * 2)) : Math.sqrt(part);
    return `${isRight ? "right" : "wrong"}${Math.min(LEVELS, Math.max(1, Math.ceil(scaled * LEVELS)))}`;
  }

  function cell(label, predicted) {
    const number = byRow[label].get(predicted)?.number ?? 0;
    const shown = made("td", { role: "gridcell", tabindex: "-1", "data-label": label, "data-predicted": predicted,
      class: level(label, predicted, number) }, number ? String(number) : "");
    shown.setAttribute("aria-label",
      `${labels[label]} predicted as ${name(predicted)}: ${number} documents, ${percent(share(number, label))}`);
    return shown;
  }

  function build() {
    const order = orders[find("order").value]();
    const columns = hasUnanswered ? [...order, UNANSWERED] : order;
    const head = made("tr", { role: "row" }, made("td", { role: "columnheader", class: "corner" }, "true \\ predicted"),
      ...columns.map((each) => made("th", { role: "columnheader", scope: "col", title: name(each) },
        made("span", {}, name(each)))));
    const rows = order.map((label) => made("tr", { role: "row" },
      made("th", { role: "rowheader", scope: "row", title: labels[label] }, made("span", {}, labels[label])),
      ...columns.map((predicted) => cell(label, predicted))));
    const table = made("table", { role: "grid", class: "heat", "aria-label": "Confusion matrix" },
      made("thead", { role: "rowgroup" }, head), made("tbody", { role: "rowgroup" }, ...rows));
    matrix.replaceChildren(table);
    const first = chosen ? cellAt(...chosen) : table.querySelector("tbody td");
    if (first) first.tabIndex = 0;
    if (chosen) mark(cellAt(...chosen));
    resize(size || fitting());
  }

  function cellAt(label, predicted) {
    return matrix.querySelector(`td[data-label="${label}"][data-predicted="${predicted}"]`);
  }

  function fitting() {
    const width = matrix.clientWidth - Math.min(176, matrix.clientWidth / 3);
    return SIZES.findLast((each) => each * (labels.length + hasUnanswered) <= width && each <= 42) ?? SIZES[0];
  }

  function resize(wanted) {
    size = wanted;
    const table = matrix.firstElementChild;
    table.style.setProperty("--cell", `${size}px`);
    table.classList.toggle("small", size < LEGIBLE);
    find("smaller").disabled = size === SIZES[0];
    find("larger").disabled = size === SIZES.at(-1);
  }

  function mark(shown) {
    matrix.querySelectorAll("td.chosen").forEach((each) => each.classList.remove("chosen"));
    shown.classList.add("chosen");
  }

  function entry([id, probability, text]) {
    const line = made("li", {}, made("span", { class: "mono" }, id), " ",
      made("span", { class: "quiet" }, probability === null ? "" : percent(probability)));
    if (text) line.append(made("br"), made("span", { class: "excerpt" }, text));
    return line;
  }

  function choose(shown) {
    const label = Number(shown.dataset.label);
    const predicted = Number(shown.dataset.predicted);
    const { number = 0, listed = [] } = byRow[label].get(predicted) ?? {};
    chosen = [label, predicted];
    mark(shown);
    const heading = made("h3", {}, `${number.toLocaleString("en")} ${number === 1 ? "document" : "documents"} of `,
      made("b", {}, labels[label]), predicted === label ? ", predicted correctly"
        : predicted === UNANSWERED ? " without a label" : " predicted as ",
      predicted === label || predicted === UNANSWERED ? "" : made("b", { class: "wrong" }, labels[predicted]));
    const isRanked = listed.length > 1 && listed[0][1] !== null;
    const order = listed.length < number && listed.length ? ` ${listed.length} of them${isRanked ? ", the most probable ones" : ""}:`
      : isRanked ? " The most probable first:" : "";
    const parts = [heading, made("p", { class: "quiet" }, `${percent(share(number, label))} of the label's documents.${order}`)];
    if (listed.length) {
      parts.push(made("ol", { class: "documents", tabindex: "0", role: "list", "aria-label": "Documents" },
        ...listed.map(entry)));
    } else if (number) {
      parts.push(made("p", { class: "note" }, "Their names are not on this page."));
    }
    find("cell").replaceChildren(...parts);
  }

  function move(from, event) {
    const row = from.parentElement;
    const place = [...row.children].indexOf(from);
    const to = { ArrowLeft: from.previousElementSibling, ArrowRight: from.nextElementSibling,
      ArrowUp: row.previousElementSibling?.children[place], ArrowDown: row.nextElementSibling?.children[place],
      Home: row.children[1], End: row.lastElementChild }[event.key];
    if (event.key === "Enter" || event.key === " ") choose(from);
    else if (to === undefined) return;
    else if (to && to.matches("td")) {
      from.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    }
    event.preventDefault();
  }

  matrix.addEventListener("click", (event) => {
    const shown = event.target.closest("td[data-label]");
    if (!shown) return;
    matrix.querySelectorAll('td[tabindex="0"]').forEach((each) => { each.tabIndex = -1; });
    shown.tabIndex = 0;
    choose(shown);
  });
  matrix.addEventListener("keydown", (event) => {
    const shown = event.target.closest("td[data-label]");
    if (shown) move(shown, event);
  });
  matrix.addEventListener("mouseover", (event) => {
    const shown = event.target.closest("td[data-label]");
    page.showTip(event, shown ? shown.getAttribute("aria-label") : "");
  });
  matrix.addEventListener("mouseleave", (event) => page.showTip(event, ""));
  for (const id of ["order", "shade"]) find(id).addEventListener("change", build);
  find("smaller").addEventListener("click", () => resize(SIZES[Math.max(0, SIZES.indexOf(size) - 1)]));
  find("larger").addEventListener("click", () => resize(SIZES[Math.min(SIZES.length - 1, SIZES.indexOf(size) + 1)]));
  find("fit").addEventListener("click", () => resize(fitting()));
  document.querySelectorAll("button.choose").forEach((button) => button.addEventListener("click", () => {
    choose(cellAt(button.dataset.label, button.dataset.predicted));
    find("cell").scrollIntoView({ block: "center" });
    find("cell").focus({ preventScroll: true });
  }));
  build();
})();
