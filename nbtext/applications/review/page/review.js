// The decisions of a review: buttons and keys for each document, filters, and the download of the decisions.
"use strict";

(() => {
  // whether documents have lists of labels, and all labels, which the page names by their places
  const { documents, several, labels } = page.data.review;
  const find = (id) => document.getElementById(id);
  const decisions = new Map(); // document number: { decision, label }
  const cards = [...document.querySelectorAll(".reviewed[data-document]")];
  const findings = [...document.querySelectorAll(".finding")];
  let current = null;

  const numberOf = (card) => Number(card.dataset.document);

  const listOf = (label) => [].concat(label ?? []);
  const givenOf = (number) => listOf(documents[number].label);
  const chosenOf = (number) => listOf(decisions.get(number)?.label ?? documents[number].label);

  // Add a label to those of a document, or remove it if it has the label; several findings can be about one document.
  function change(card, label) {
    const number = numberOf(card);
    const chosen = chosenOf(number);
    const changed = chosen.includes(label) ? chosen.filter((each) => each !== label) : [...chosen, label].sort();
    const given = givenOf(number);
    const isGiven = changed.length === given.length && changed.every((each) => given.includes(each));
    decide(card, isGiven ? null : "relabel", isGiven ? null : changed);
  }

  function show(number) {
    const made = decisions.get(number);
    for (const card of cards.filter((each) => numberOf(each) === number)) {
      for (const button of card.querySelectorAll("[data-decision]")) {
        const likely = labels[card.dataset.likely];
        const isLikely = several ? chosenOf(number).includes(likely) !== givenOf(number).includes(likely) : made?.label === likely;
        const isPressed = made?.decision === button.dataset.decision && (made.decision !== "relabel" || isLikely);
        button.setAttribute("aria-pressed", isPressed ? "true" : "false");
      }
      card.querySelector(".other").value = made?.decision === "relabel" && !several ? labels.indexOf(made.label) : "";
      if (several) card.querySelector(".now").textContent = made?.decision === "relabel" ? `now: ${made.label.join(", ") || "no label"}` : "";
    }
    find("progress").textContent = `${decisions.size} of ${documents.length} documents decided`;
  }

  function decide(card, decision, label = null) {
    const number = numberOf(card);
    if (decision === null) decisions.delete(number);
    else decisions.set(number, label === null ? { decision } : { decision, label });
    show(number);
  }

  function toggle(card, decision) {
    const label = decision === "relabel" ? labels[card.dataset.likely] : null;
    if (label === undefined) return;
    if (decision === "relabel" && several) {
      change(card, label);
      return;
    }
    const made = decisions.get(numberOf(card));
    const isSame = made?.decision === decision && (made.label ?? null) === label;
    decide(card, isSame ? null : decision, label);
  }

  function filter() {
    const [kind, label, isOpen] = [find("kind").value, labels[find("of-label").value], find("open-only").checked];
    for (const finding of findings) {
      const inside = [...finding.querySelectorAll(".reviewed")];
      const isOfLabel = label === undefined || inside.some((card) => JSON.parse(card.dataset.labels).includes(label));
      const decidable = inside.filter((card) => card.dataset.document !== undefined);
      const isUndecided = decidable.some((card) => !decisions.has(numberOf(card)));
      finding.hidden = Boolean((kind && finding.dataset.kind !== kind) || !isOfLabel || (isOpen && !isUndecided));
    }
  }

  function go(step) {
    const seen = cards.filter((card) => !card.closest(".finding").hidden);
    if (!seen.length) return;
    const place = seen.indexOf(current);
    const next = place < 0 ? 0 : Math.max(0, Math.min(seen.length - 1, place + step));
    current = seen[next];
    current.querySelector(".text").focus();
  }

  function download() {
    const lines = [...decisions].sort(([a], [b]) => a - b).map(([number, made]) => {
      const { id, place } = documents[number];
      const record = JSON.stringify({ id, place, ...made });
      // some programs end a line at these characters, which JSON allows in a text
      return `${record.replace(/[\u0085\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
    link.download = "decisions.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  for (const card of cards) {
    card.addEventListener("focusin", () => { current = card; });
    for (const button of card.querySelectorAll("[data-decision]")) {
      button.addEventListener("click", () => toggle(card, button.dataset.decision));
    }
    const other = card.querySelector(".other");
    other.addEventListener("change", () => {
      const label = labels[other.value] ?? null;
      if (!several) decide(card, label === null ? null : "relabel", label);
      else if (label !== null) change(card, label);
    });
  }
  for (const id of ["kind", "of-label", "open-only"]) find(id).addEventListener("change", filter);
  find("download").addEventListener("click", download);
  const keys = { a: "keep", r: "relabel", x: "remove" };
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(SELECT|INPUT|TEXTAREA)$/.test(event.target.tagName);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j" || event.key === "k") go(event.key === "j" ? 1 : -1);
    else if (current && event.key === "u") decide(current, null);
    else if (current && keys[event.key]) toggle(current, keys[event.key]);
    else return;
    event.preventDefault();
  });
  find("progress").textContent = `0 of ${documents.length} documents decided`;
})();
