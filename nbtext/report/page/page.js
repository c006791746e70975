// The colors and the charts of every page.
"use strict";

const page = {
  data: JSON.parse(document.getElementById("data").textContent),
  views: {}, // Vega views, by the name of the chart
};

(() => {
  const root = document.documentElement;
  const tip = document.getElementById("tip");
  const probe = document.body.appendChild(document.createElement("span"));

  function color(name) {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  }

  function look() {
    const axis = {
      domainColor: color("line"), gridColor: color("grid"), tickColor: color("line"), labelColor: color("quiet"),
      titleColor: color("quiet"), titleFontWeight: 500, labelFontSize: 12, titleFontSize: 12, titlePadding: 8,
    };
    return {
      background: "transparent",
      font: getComputedStyle(document.body).fontFamily,
      axis,
      legend: { labelColor: color("text"), titleColor: color("quiet"), labelFontSize: 12, orient: "top", title: null },
      view: { stroke: null },
      mark: { color: color("blue") },
      range: { category: [color("blue"), color("orange"), color("green"), color("quiet")] },
      text: { color: color("text") },
      rule: { color: color("quiet") },
    };
  }

  // "$blue" in a specification is the color of this name
  function colored(node) {
    if (typeof node === "string" && /^\$[a-z-]+$/.test(node)) return color(node.slice(1));
    if (Array.isArray(node)) return node.map(colored);
    if (node && typeof node === "object") {
      return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, colored(value)]));
    }
    return node;
  }

  page.showTip = (event, value) => {
    if (value === null || value === undefined || value === "") {
      tip.hidden = true;
      return;
    }
    tip.textContent =
      typeof value === "object" ? Object.entries(value).map(([key, each]) => `${key}: ${each}`).join("\n") : `${value}`;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8))}px`;
  };

  async function draw(figure) {
    const name = figure.dataset.chart;
    const { specification, columns, rows } = page.data.charts[name];
    const values = rows.map((row) => Object.fromEntries(columns.map((column, place) => [column, row[place]])));
    const { view } = await vegaEmbed(
      figure.querySelector(".drawing"),
      { width: "container", height: 260, autosize: { type: "fit", contains: "padding" }, ...colored(specification),
        data: { values } },
      { mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false, 
        tooltip: (_, event, item, value) => page.showTip(event, value),
        config: look() },
    );
    if (page.views[name]) page.views[name].finalize();
    page.views[name] = view;
    // the summary and the table describe the drawing
    figure.querySelector(".drawing svg").setAttribute("aria-hidden", "true");
    figure.dataset.drawn = "true";
  }

  function drawAll() {
    return Promise.all([...document.querySelectorAll("figure[data-chart]")].map(draw));
  }

  // a click on a heading sorts a table: text ascending, numbers descending; a second click reverses the order
  function sortable(table) {
    const [head, body] = [table.tHead.rows[0], table.tBodies[0]];
    [...head.cells].forEach((cell, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...cell.childNodes);
      cell.append(button);
      const key = (row) => row.cells[place].innerText.trim();
      const number = (row) => Number.parseFloat(key(row).replaceAll(",", ""));
      const isText = place === 0;
      button.addEventListener("click", () => {
        const isTurned = cell.getAttribute("aria-sort") === (isText ? "ascending" : "descending");
        for (const each of head.cells) each.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", isTurned === isText ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => (isText ? key(a).localeCompare(key(b)) : (number(b) || 0) - (number(a) || 0)));
        body.append(...(isTurned ? rows.reverse() : rows));
      });
    });
  }

  document.querySelectorAll("table.sortable").forEach(sortable);

  const choice = document.getElementById("scheme");
  const wanted = matchMedia("(prefers-color-scheme: dark)");

  function remember(scheme) {
    try {
      if (scheme === undefined) return localStorage.getItem("nbtext-scheme") || "";
      localStorage.setItem("nbtext-scheme", scheme);
    } catch { /* browsers may refuse storage to files */ }
    return scheme || "";
  }

  function setScheme(scheme) {
    if (scheme) root.dataset.scheme = scheme;
    else delete root.dataset.scheme;
  }

  choice.value = remember();
  setScheme(choice.value);
  choice.addEventListener("change", () => {
    setScheme(remember(choice.value));
    page.drawn = drawAll();
  });
  wanted.addEventListener("change", () => { page.drawn = drawAll(); });
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  page.start = () => { page.drawn = drawAll(); };
  document.addEventListener("DOMContentLoaded", page.start);
})();
