// The page of nbtext serve. Labels and texts come from anywhere: they are set as text, never as markup.
import { findDelimiter, newName, parseCsv, toField } from "/csv.js";

const WAIT = 120;  // milliseconds after a key until the service is asked
const FEW = 6;  // labels that are shown at first
const WORDS = 12;
const ROWS = 200;  // rows of a table in one request
const percent = new Intl.NumberFormat(undefined, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const element = id => document.getElementById(id);
let models = [], token = "", asking = null, timer = 0, showAll = false, table = null, address = "";

function make(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function complain(message) {
  element("error").textContent = message;
  element("error").hidden = message === "";
}

async function ask(path, options = {}) {
  const headers = { ...(options.body ? { "content-type": "application/json" } : {}), ...(token ? { authorization: `Bearer ${token}` } : {}) };
  let response;
  for (let attempt = 0; ; attempt += 1) {
    response = await fetch(path, { ...options, headers, credentials: "omit", redirect: "error" });
    if (response.status !== 503 || attempt === 5) break;
    await new Promise(resolve => setTimeout(resolve, 1000 * (Number(response.headers.get("retry-after")) || 1)));
  }
  if (response.status === 401) {
    element("token-form").hidden = false;
    element("token").focus();
  }
  if (!response.ok) throw new Error((await response.json().catch(() => ({ error: response.statusText }))).error);
  return response.json();
}

const chosen = () => models[element("model").selectedIndex] ?? models[0];
const query = (...pairs) => "?" + new URLSearchParams([["model", chosen().name], ...pairs]);
const areas = () => [...element("fields").querySelectorAll("textarea")];

async function begin() {
  try {
    models = (await ask("/v1/models")).models;
  } catch (error) {
    complain(error.message);
    return;
  }
  complain("");
  element("token-form").hidden = true;
  element("model").replaceChildren(...models.map(model => make("option", model.name)));
  element("model-choice").hidden = models.length < 2;
  chooseModel();
}

function chooseModel() {
  const before = areas().map(area => area.value);
  element("fields").replaceChildren(...chosen().fields.flatMap((name, place) => {
    const label = make("label", chosen().fields.length > 1 ? name : "Text", { for: `field-${place}` });
    const area = make("textarea", null, { id: `field-${place}`, rows: chosen().fields.length > 1 ? 4 : 8, spellcheck: "false" });
    area.value = before[place] ?? "";
    area.addEventListener("input", wait);
    return [label, area];
  }));
  showColumns();
  predict();
}

function wait() {
  clearTimeout(timer);
  timer = setTimeout(predict, WAIT);
}

async function predict() {
  asking?.abort();
  const texts = areas().map(area => area.value);
  if (texts.every(text => text.trim() === "")) {
    element("summary").textContent = "Type or paste a text.";
    element("result").hidden = true;
    return;
  }
  const mine = asking = new AbortController();
  const body = JSON.stringify(Object.fromEntries(chosen().fields.map((name, place) => [name, texts[place]])));
  const options = { method: "POST", body, signal: mine.signal };
  try {
    const [prediction, answer] = await Promise.all([
      ask("/v1/predict" + query(), options),
      ask("/v1/explain" + query(["features", WORDS], ["marks", "true"]), options),
    ]);
    if (mine !== asking) return;
    complain("");
    showPrediction(prediction);
    showExplanations(answer.explanations ?? [answer]);
    element("result").hidden = false;
  } catch (error) {
    if (mine === asking && error.name !== "AbortError") complain(error.message);
  }
}

function bar(share, isAgainst) {
  const cell = make("td", null, { class: "bar" }), span = make("span", null);
  span.classList.toggle("against", isAgainst);
  span.style.inlineSize = `${Math.max(0, Math.min(1, share)) * 100}%`;
  cell.append(span);
  return cell;
}

function row(name, numbers, share, isAgainst = false) {
  const made = document.createElement("tr");
  made.append(make("th", name, { scope: "row" }), ...numbers.map(each => make("td", each, { class: "number" })), bar(share, isAgainst));
  return made;
}

// The predicted labels with their probabilities: one at most, unless the model predicts several.
function labelsOf(prediction) {
  if (prediction.probabilities) return prediction.labels.map((label, place) => [label, prediction.probabilities[place]]);
  return prediction.label === null ? [] : [[prediction.label, prediction.probability]];
}

let last = null;
function showPrediction(prediction) {
  last = prediction;
  const found = labelsOf(prediction).map(([label, probability]) => `${label}: ${percent.format(probability)}`).join("; ");
  element("summary").textContent = found === ""
    ? `No label: ${prediction.reason ?? "no label reaches its threshold"}.`
    : found + (prediction.outlier ? ", but the text is unlike the training texts" : "");
  const scores = Object.entries(prediction.scores ?? {}).sort((a, b) => b[1] - a[1]);
  const shown = showAll ? scores : scores.slice(0, FEW);
  element("labels").tBodies[0].replaceChildren(...shown.map(([label, score]) => row(label, [percent.format(score)], score)));
  element("all-labels").hidden = scores.length <= FEW;
  element("all-labels").textContent = showAll ? "Show fewer labels" : `Show all ${scores.length} labels`;
}

// The explanations of a text: of its label, or of each of several labels, of which one is shown.
let explanations = [];
function showExplanations(found) {
  const before = explanations[element("why-label").selectedIndex]?.label;
  explanations = found.filter(each => each.label !== null);
  element("why").hidden = explanations.length === 0;
  if (explanations.length === 0) {
    element("marked").replaceChildren();
    return;
  }
  element("why-label").replaceChildren(...explanations.map(each => make("option", each.label)));
  element("why-label").selectedIndex = Math.max(0, explanations.findIndex(each => each.label === before));
  element("why-choice").hidden = explanations.length < 2;
  showExplanation(explanations[element("why-label").selectedIndex]);
}

function describe(explanation) {
  const known = `${percent.format(explanation.known)} of the words are known.`;
  const others = explanation.terms.other_labels;
  if (others === undefined)
    return explanation.against === null ? "" : `Words for ${explanation.label}, and (underlined) for ${explanation.against} instead. ${known}`;
  const rest = others === 0 ? "" : ` Other labels add ${others.toFixed(2)} to the log-odds.`;
  return `Words for ${explanation.label}, and (underlined) against it.${rest} ${known}`;
}

function showExplanation(explanation) {
  const words = explanation.contributions;
  element("why-text").textContent = describe(explanation);
  element("marked").replaceChildren(...(explanation.marks ?? []).map(([text, level]) =>
    level === 0 ? document.createTextNode(text) : make("mark", text, { class: `${level > 0 ? "for" : "against"}-${Math.abs(level)}` })));
  const largest = Math.max(...words.map(word => Math.abs(word.log_odds)), 1e-9);
  element("words").tBodies[0].replaceChildren(...words.map(word => row(
    word.feature, [String(word.count), word.log_odds.toFixed(2)], Math.abs(word.log_odds) / largest, word.log_odds < 0)));
}

async function openFile(file) {
  if (!file) return;
  element("download-line").hidden = true;
  const bytes = await file.arrayBuffer();
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    text = new TextDecoder("windows-1252").decode(bytes);
  }
  const mark = text.startsWith("\ufeff") ? "\ufeff" : "";
  const delimiter = findDelimiter(text.slice(mark.length));
  table = { name: file.name, mark, delimiter, records: parseCsv(text.slice(mark.length), delimiter) };
  element("table-status").textContent = table.records.length ? `${file.name}: ${table.records.length} rows` : `${file.name} has no rows`;
  element("table-form").hidden = table.records.length === 0;
  showColumns();
}

function showColumns() {
  if (table === null || table.records.length === 0) return;
  const header = table.records[0].fields;
  element("columns").replaceChildren(...chosen().fields.map((field, place) => {
    const label = make("label", chosen().fields.length > 1 ? `Column of ${field} ` : "Column of the text ");
    const select = make("select", null, { id: `column-${place}` });
    select.append(...header.map((name, number) => make("option", name || `column ${number + 1}`)));
    const named = header.findIndex(name => name.trim().toLowerCase() === field.toLowerCase());
    select.selectedIndex = named >= 0 ? named : longestColumn();
    label.append(select);
    return label;
  }));
}

function longestColumn() {
  const lengths = table.records[0].fields.map((_, column) =>
    table.records.slice(1, 100).reduce((sum, record) => sum + (record.fields[column] ?? "").length, 0));
  return lengths.indexOf(Math.max(...lengths));
}

async function labelRows(event) {
  event.preventDefault();
  const { records, delimiter, mark, name } = table, fields = chosen().fields, where = query();
  const columns = fields.map((_, place) => element(`column-${place}`).selectedIndex);
  const header = element("headerless").checked ? null : records[0], rows = header ? records.slice(1) : records;
  const controller = new AbortController(), lines = [mark];
  element("stop").onclick = () => controller.abort();
  element("start").disabled = true;
  for (const id of ["stop", "progress"]) element(id).hidden = false;
  element("progress").max = rows.length;
  element("download-line").hidden = true;
  const add = (record, values) => lines.push(record.raw, delimiter, values.map(value => toField(value, delimiter)).join(delimiter), record.end || "\n");
  if (header) add(header, ["label", "probability"].map(each => newName(each, header.fields)));
  try {
    for (let start = 0; start < rows.length; start += ROWS) {
      const part = rows.slice(start, start + ROWS);
      const body = JSON.stringify(part.map(record => Object.fromEntries(fields.map((field, place) => [field, record.fields[columns[place]] ?? ""]))));
      const answers = await ask("/v1/predict" + where, { method: "POST", body, signal: controller.signal });
      answers.forEach((answer, place) => {
        const found = labelsOf(answer);
        add(part[place], [found.map(([label]) => label).join("|"), found.map(([, probability]) => String(probability)).join("|")]);
      });
      element("progress").value = start + part.length;
    }
    URL.revokeObjectURL(address);
    address = URL.createObjectURL(new Blob(lines, { type: "text/csv;charset=utf-8" }));
    element("download").href = address;
    element("download").download = name.replace(/(\.[^.]*)?$/, "-labeled$1");
    element("download-line").hidden = false;
    element("table-status").textContent = `${name}: ${rows.length} rows are labeled`;
    element("download").focus();
  } catch (error) {
    element("table-status").textContent = error.name === "AbortError" ? "Stopped." : error.message;
  }
  element("start").disabled = false;
  for (const id of ["stop", "progress"]) element(id).hidden = true;
}

element("token-form").addEventListener("submit", event => {
  event.preventDefault();
  token = element("token").value.trim();
  begin();
});
element("model").addEventListener("change", chooseModel);
element("why-label").addEventListener("change", event => showExplanation(explanations[event.target.selectedIndex]));
element("all-labels").addEventListener("click", () => { showAll = !showAll; showPrediction(last); });
element("file").addEventListener("change", event => openFile(event.target.files[0]));
element("table-form").addEventListener("submit", labelRows);
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, event => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    element("drop").classList.toggle("over", name === "dragover");
    if (name === "drop") openFile(event.dataTransfer.files[0]);
  });
}
begin();
