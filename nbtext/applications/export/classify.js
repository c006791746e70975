let first = 0; // column of each view
const columns = model.views.map(({ features }) => new Map(features.map((name) => [name, first++])));
const starts = [0]; // of the sparse weights of each row
for (const width of model.widths) starts.push(starts.at(-1) + width);
const stopWords = new Set(model.stop_words);
const space = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";

const size = (word) => new TextEncoder().encode(word).length; // a UTF-16 code unit takes at most three bytes of UTF-8
const isTooLong = (word) => 3 * word.length > model.longest_token && size(word) > model.longest_token;
const isToken = (word) => !stopWords.has(word) && !isTooLong(word);

/** Return the features of a text in a view, one item for each occurrence. */
function find(text, view) {
  if (model.lowercase) text = text.toLowerCase();
  if (model.accents) text = text.normalize("NFKD").replace(new RegExp(model.accents, "gu"), "");
  const [shortest, longest] = view.ngrams, runs = [];
  const collect = (parts, glue, isWhole) => {
    for (let n = shortest; n <= longest; n++) {
      if (isWhole && parts.length <= n) return runs.push(parts.join(glue));
      for (let i = 0; i + n <= parts.length; i++) runs.push(parts.slice(i, i + n).join(glue));
    }
  };
  const words = () => text.split(new RegExp(`${space}+`, "u")).filter(Boolean);
  if (view.analyzer === "char") collect([...text.replace(new RegExp(`${space}{2,}`, "gu"), " ")], "", false);
  else if (view.analyzer === "char_wb") words().forEach((word) => collect([...` ${word} `], "", true));
  else {
    const token = view.marks ? new RegExp(`[\\p{L}\\p{N}_]+|(?!${space})[^\\p{L}\\p{N}_]`, "gu") : /[\p{L}\p{N}_]{2,}/gu;
    collect((text.match(token) ?? []).filter(isToken), " ", false);
  }
  return runs;
}

/** Return the features of a text, one item for each occurrence. */
export const features = (text) => model.views.flatMap((view) => find(text, view));

const softmax = (logits) => {
  const largest = logits.reduce((a, b) => Math.max(a, b)), powers = logits.map((x) => Math.exp(x - largest));
  const total = powers.reduce((a, b) => a + b);
  return powers.map((x) => x / total);
};

/** Return the log-odds of each label against the mean of all others. */
const contrast = (scores) => {
  const best = scores.reduce((best, x, k) => (x > scores[best] ? k : best), 0), n = scores.length;
  const others = scores.filter((_, k) => k !== best), second = others.reduce((a, b) => Math.max(a, b), -Infinity);
  const shares = scores.map((x, k) => (k === best ? 0 : Math.exp(x - scores[best])));
  const total = 1 + shares.reduce((a, b) => a + b), rest = others.reduce((a, x) => a + Math.exp(x - second), 0);
  const mean = Math.log(n - 1);
  return scores.map((x, k) =>
    n < 2 ? 0 : mean + (k === best ? x - second - Math.log(rest) : x - scores[best] - Math.log(Math.max(total - shares[k], 1))));
};

/** Return the probability of each of several labels, from the scores of a text with so many known features. */
const severalProbabilities = (scores, known) => {
  const { mixture, exponent, intercept, prior_weight, slope, priors, biases } = model;
  const power = known ** exponent, baseline = intercept + slope * Math.log(Math.max(known, 1)), total = mixture.reduce((a, b) => a + b, power);
  const contrasts = mixture.length > 1 ? contrast(scores.slice(priors.length)) : null;
  return priors.map((prior, k) => {
    let sum = mixture[0] * scores[k] + power * (baseline + prior_weight * prior + biases[k]);
    if (contrasts) sum += mixture[1] * (contrasts[k] + prior);
    return 1 / (1 + Math.exp(-Math.min(700, Math.max(-700, sum / total))));
  });
};

/**
 * Return the label of a text, and the probability of each label.
 * A multi-label model returns `labels` instead, the most probable one first.
 */
export function classify(text) {
  const scores = [...model.bias], n = scores.length;
  let known = 0;
  model.views.forEach((view, v) => {
    const counts = new Map();
    for (const name of find(text, view)) if (columns[v].has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
    const length = [...counts.values()].reduce((a, b) => a + b, 0);
    const entries = [...counts].map(([name, c]) => [columns[v].get(name), weigh[v](c, length)]);
    if (model.idf) for (const entry of entries) entry[1] *= model.idf[entry[0]];
    const sum = (f) => entries.reduce((a, [, weight]) => a + f(weight), 0);
    const norm = { none: () => 1, l1: () => sum(Math.abs), l2: () => Math.sqrt(sum((x) => x * x)) }[view.norm]() || 1;
    for (const [j, weight] of entries) {
      const x = weight / norm;
      for (let k = 0; k < n; k++)
        scores[k] += x * (model.by_default[v * n + k] + (model.base ? model.base_scale[k] * model.base[j] : 0));
      const row = model.rows ? model.rows[j] : j;
      for (let e = starts[row]; e < starts[row + 1]; e++) {
        const k = model.classes[e];
        scores[k] += x * (model.scales ? model.codes[e] * model.scales[k] : model.deltas[e]);
      }
    }
    known += length;
  });
  const named = (probabilities) => Object.fromEntries(model.labels.map((label, k) => [label, probabilities[k]]));
  if (model.thresholds) {
    const each = severalProbabilities(scores, known);
    const reached = [...each.keys()].filter((k) => each[k] >= model.thresholds[k]);
    reached.sort((a, b) => each[b] - each[a] || a - b);
    return { labels: reached.map((k) => model.labels[k]), probabilities: named(each) };
  }
  const temperature = model.a * Math.max(known, 1) ** model.b;
  let probabilities = softmax(scores.map((s) => s / temperature));
  probabilities = probabilities.map((p) => (1 - model.noise) * p + model.noise / scores.length);
  if (model.prior_adjustment) probabilities = softmax(probabilities.map((p, k) => Math.log(p) + model.prior_adjustment[k]));
  const decisive = probabilities.map((p, k) => Math.log(p) + (model.shift?.[k] ?? 0));
  const best = decisive.reduce((best, x, k) => (x > decisive[best] ? k : best), 0);
  return { label: model.labels[best], probabilities: named(probabilities) };
}
