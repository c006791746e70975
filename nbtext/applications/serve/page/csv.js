// CSV without loss: records keep their own text, so that quotes, delimiters and line ends stay as they are.

// The records of a text: their fields, and the text of each with its line end apart.
export function parseCsv(text, delimiter) {
  const records = [];
  let fields = [], field = "", start = 0, at = 0, quoted = false;
  const finish = (end, next) => {
    fields.push(field);
    records.push({ fields, raw: text.slice(start, end), end: text.slice(end, next) });
    fields = []; field = ""; start = next;
  };
  while (at < text.length) {
    const c = text[at];
    if (quoted) {
      if (c === '"' && text[at + 1] === '"') { field += '"'; at += 2; continue; }
      if (c === '"') { quoted = false; at += 1; continue; }
      const close = text.indexOf('"', at);
      const stop = close === -1 ? text.length : close;
      field += text.slice(at, stop); at = stop;
    } else if (c === '"' && field === "" && (at === start || text[at - 1] === delimiter)) {
      quoted = true; at += 1;
    } else if (c === delimiter) {
      fields.push(field); field = ""; at += 1;
    } else if (c === "\n" || c === "\r") {
      const next = c === "\r" && text[at + 1] === "\n" ? at + 2 : at + 1;
      finish(at, next); at = next;
    } else {
      field += c; at += 1;
    }
  }
  if (start < text.length) finish(text.length, text.length);
  return records.filter(record => record.raw !== "");
}

// The delimiter that occurs most in the first line, outside quotes.
export function findDelimiter(text) {
  const line = text.split(/[\r\n]/, 1)[0].replace(/"[^"]*"/g, "");
  const counts = [",", ";", "\t"].map(each => [line.split(each).length, each]);
  return counts.sort((a, b) => b[0] - a[0])[0][1];
}

// A value as a field; a spreadsheet would take a label that begins with one of these signs for a formula.
export function toField(value, delimiter) {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// The name of a new column: with a prefix where the table has such a column already.
export function newName(name, taken) {
  let found = name;
  while (taken.includes(found)) found = `predicted_${found}`;
  return found;
}
