/* A token is a run of at least two word characters, in lower case if the model has it; with marks, also a single one, and
   a character that is neither of a word nor white space. The tables above are those of Python's re and str.lower(). */

typedef struct { const char *at; size_t length; } Word;

static int is_in(uint32_t point, const Range *ranges, size_t count) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].last < point) low = middle + 1;
        else high = middle;
    }
    return low < count && ranges[low].first <= point;
}

/* Return the code point at `text`, and set *taken to its number of bytes; for invalid UTF-8, U+FFFD and one byte. */
static uint32_t decode(const unsigned char *text, size_t left, size_t *taken) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80 ? 1 : text[0] < 0xC2 ? 0 : text[0] < 0xE0 ? 2 : text[0] < 0xF0 ? 3 : text[0] < 0xF5 ? 4 : 0;
    uint32_t point = length == 1 ? text[0] : text[0] & (0x7Fu >> length);
    *taken = 1;
    if (length == 0 || length > left) return 0xFFFD;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80) return 0xFFFD;
        point = point << 6 | (text[i] & 0x3F);
    }
    if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return 0xFFFD;
    *taken = length;
    return point;
}

/* Write a code point as UTF-8, and return the end. */
static char *encode(uint32_t point, char *to) {
    if (point < 0x80) { *to++ = (char) point; return to; }
    if (point < 0x800) *to++ = (char) (0xC0 | point >> 6);
    else {
        if (point < 0x10000) *to++ = (char) (0xE0 | point >> 12);
        else { *to++ = (char) (0xF0 | point >> 18); *to++ = (char) (0x80 | (point >> 12 & 0x3F)); }
        *to++ = (char) (0x80 | (point >> 6 & 0x3F));
    }
    *to++ = (char) (0x80 | (point & 0x3F));
    return to;
}

static int compare_points(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *) a, y = ((const uint32_t *) b)[0];
    return (x > y) - (x < y);
}

static uint32_t to_lower(uint32_t point) {
    const Range *pair = bsearch(&point, lower_case, N_LOWER_CASE, sizeof lower_case[0], compare_points);
    return pair ? pair->last : point;
}

/* Whether the sigma at i is final: a cased letter precedes it and none follows; case-ignorable characters are skipped. */
static int is_final(const uint32_t *points, size_t count, size_t i) {
    size_t j = i, k = i + 1;
    while (j > 0 && is_in(points[j - 1], case_ignorable, N_CASE_IGNORABLE)) j--;
    while (k < count && is_in(points[k], case_ignorable, N_CASE_IGNORABLE)) k++;
    return j > 0 && is_in(points[j - 1], cased, N_CASED) && !(k < count && is_in(points[k], cased, N_CASED));
}

/* Decode a text to code points, in lower case if the model has it; `lower` has room for two code points for each byte. */
static size_t read_text(const char *text, size_t length, uint32_t *points, uint32_t *lower) {
    size_t count = 0, n_lower = 0, taken;
    for (size_t i = 0; i < length; i += taken) points[count++] = decode((const unsigned char *) text + i, length - i, &taken);
    for (size_t i = 0; i < count; i++) {
        uint32_t point = points[i];
        if (LOWERCASE && point == 0x3A3) point = is_final(points, count, i) ? 0x3C2 : 0x3C3;
        else if (LOWERCASE && point == 0x130) { lower[n_lower++] = 'i'; point = 0x307; }
        else if (LOWERCASE) point = to_lower(point);
        lower[n_lower++] = point;
    }
    return n_lower;
}

static int compare(const char *a, size_t n, const char *b) {
    size_t m = strlen(b);
    int order = memcmp(a, b, n < m ? n : m);
    return order ? order : (n > m) - (n < m);
}

/* Return the position of these bytes among sorted names, or -1. */
static long find_name(const char *const *names, size_t count, const char *bytes, size_t length) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare(bytes, length, names[middle]);
        if (order == 0) return (long) middle;
        if (order > 0) low = middle + 1;
        else high = middle;
    }
    return -1;
}

static int is_space(uint32_t point) { return is_in(point, white_space, N_WHITE_SPACE); }

/* Write the tokens of a text, without stop words and tokens that are too long, separated by spaces. */
static size_t find_words(const uint32_t *points, size_t count, int has_marks, char *to, Word *words) {
    size_t n_words = 0, stop;
    for (size_t start = 0; start < count; start = stop) {
        for (stop = start; stop < count && is_in(points[stop], word_characters, N_WORD_CHARACTERS); stop++) ;
        int is_token = stop > start + (has_marks ? 0 : 1);
        if (stop == start) is_token = !is_space(points[stop++]) && has_marks;
        if (!is_token) continue;
        char *end = to;
        for (size_t i = start; i < stop; i++) end = encode(points[i], end);
        if (end - to > LONGEST_TOKEN || find_name(stop_words, N_STOP_WORDS, to, (size_t) (end - to)) >= 0) continue;
        words[n_words++] = (Word) {to, (size_t) (end - to)};
        *end++ = ' ';
        to = end;
    }
    return n_words;
}

static int compare_columns(const void *a, const void *b) {
    long x = *(const long *) a, y = *(const long *) b;
    return (x > y) - (x < y);
}

/* Add the columns of the known runs of `shortest` to `longest` parts to those found so far; return the number of all.
   If `is_whole`, parts that are not more than a run are one feature. */
static long add_runs(const View *view, const Word *parts, size_t count, int is_whole, long *columns, long n_known) {
    for (size_t n = (size_t) view->shortest; n <= (size_t) view->longest; n++) {
        int is_last = is_whole && count <= n;
        if (is_last) n = count;
        for (size_t i = 0; i + n <= count; i++) {
            const Word *last = parts + i + n - 1;
            size_t length = (size_t) (last->at + last->length - parts[i].at);
            long place = find_name(features + view->first, (size_t) view->n_features, parts[i].at, length);
            if (place >= 0) columns[n_known++] = view->first + place;
        }
        if (is_last) break;
    }
    return n_known;
}

/* Append a character to the parts of a text; return the end of its bytes. */
static char *append(uint32_t point, char *to, Word *parts, size_t *n) {
    char *end = encode(point, to);
    parts[(*n)++] = (Word) {to, (size_t) (end - to)};
    return end;
}

/* Write the columns of the known features of a view, ascending, one for each occurrence; return their number. */
static long find_columns(const View *view, const uint32_t *points, size_t count, char *letters, Word *parts, long *columns) {
    long n_known = 0;
    size_t n = 0, stop;
    char *to = letters;
    if (view->analyzer == WORD) {
        n = find_words(points, count, view->has_marks, letters, parts);
        n_known = add_runs(view, parts, n, 0, columns, 0);
    } else if (view->analyzer == CHAR) {  /* several white-space characters become one space */
        for (size_t i = 0; i < count; i = stop > i ? stop : i + 1) {
            for (stop = i; stop < count && is_space(points[stop]); stop++) ;
            to = append(stop > i + 1 ? ' ' : points[i], to, parts, &n);
        }
        n_known = add_runs(view, parts, n, 0, columns, 0);
    } else for (size_t i = 0; i < count; i = stop > i ? stop : i + 1) {  /* words with a space on both sides */
        for (stop = i; stop < count && !is_space(points[stop]); stop++) ;
        if (stop == i) continue;
        n = 0;
        to = append(' ', letters, parts, &n);
        for (size_t j = i; j < stop; j++) to = append(points[j], to, parts, &n);
        append(' ', to, parts, &n);
        n_known = add_runs(view, parts, n, 1, columns, n_known);
    }
    qsort(columns, (size_t) n_known, sizeof *columns, compare_columns);
    return n_known;
}

/* Merge equal columns and compute their weights; return the number of distinct columns. */
static size_t weigh(const View *view, long *columns, long n_known, double *weights) {
    size_t n = 0;
    double length = 0;
    for (long i = 0, j; i < n_known; i = j) {
        for (j = i; j < n_known && columns[j] == columns[i]; j++) ;
        columns[n] = columns[i];
        weights[n] = WEIGH(view - views, (double) (j - i), (double) n_known) * (N_IDF ? idf[columns[n]] : 1);
        length += view->norm == L1 ? fabs(weights[n]) : weights[n] * weights[n];
        n++;
    }
    if (view->norm == L2) length = sqrt(length);
    for (size_t i = 0; i < n && view->norm && length > 0; i++) weights[i] /= length;
    return n;
}

static void add_scores(const View *view, const long *columns, const double *weights, size_t n, double *scores) {
    const double *own = by_default + (view - views) * N_BIAS;
    for (size_t i = 0; i < n; i++) {
        long j = columns[i], row = N_ROWS ? (long) rows[j] : j;
        for (int k = 0; k < N_BIAS; k++) scores[k] += weights[i] * (own[k] + (N_BASE ? base_scale[k] * base[j] : 0));
        for (int32_t e = starts[row]; e < starts[row + 1]; e++)
            scores[classes[e]] += weights[i] * (N_SCALES ? codes[e] * scales[classes[e]] : deltas[e]);
    }
}

#ifndef N_THRESHOLDS
static void normalize(double *logs) {
    double top = logs[0], total = 0;
    for (int k = 1; k < N_LABELS; k++) top = fmax(top, logs[k]);
    for (int k = 0; k < N_LABELS; k++) total += logs[k] = exp(logs[k] - top);
    for (int k = 0; k < N_LABELS; k++) logs[k] /= total;
}

/* Convert scores to calibrated probabilities; return the predicted label. */
static int choose_label(double *scores, long n_known) {
    double temperature = A * pow(n_known > 1 ? (double) n_known : 1, B);
    int best = 0;
    for (int k = 0; k < N_LABELS; k++) scores[k] /= temperature;
    normalize(scores);
    for (int k = 0; k < N_LABELS; k++) scores[k] = (1 - NOISE) * scores[k] + NOISE / N_LABELS;
    if (N_PRIOR_ADJUSTMENT) {
        for (int k = 0; k < N_LABELS; k++) scores[k] = log(scores[k]) + prior_adjustment[k];
        normalize(scores);
    }
    for (int k = 1; k < N_LABELS; k++)
        if (log(scores[k]) + (N_SHIFT ? shift[k] : 0) > log(scores[best]) + (N_SHIFT ? shift[best] : 0)) best = k;
    return best;
}
#else
/* Replace N_LABELS scores by the log-odds of each label against the mean of all others. */
static void contrast(double *scores) {
    int best = 0;
    double second = -INFINITY, shares = 1, others = 0, mean = log(N_LABELS - 1.0);
    for (int k = 1; k < N_LABELS; k++) if (scores[k] > scores[best]) best = k;
    double highest = scores[best];
    for (int k = 0; k < N_LABELS; k++) if (k != best) second = fmax(second, scores[k]);
    for (int k = 0; k < N_LABELS; k++) if (k != best) shares += exp(scores[k] - highest), others += exp(scores[k] - second);
    for (int k = 0; k < N_LABELS; k++)
        scores[k] = N_LABELS < 2 ? 0 : mean + (k == best ? highest - second - log(others)
            : scores[k] - highest - log(fmax(shares - exp(scores[k] - highest), 1)));
}

/* Convert N_BIAS scores to the probabilities of the labels; return how many reach their thresholds. */
static int choose_labels(double *scores, long n_known, double *probabilities) {
    double power = pow((double) n_known, EXPONENT), total = power;
    double baseline = INTERCEPT + SLOPE * log(n_known > 1 ? (double) n_known : 1);
    int n = 0;
    for (int i = 0; i < N_MIXTURE; i++) total += mixture[i];
    if (N_MIXTURE > 1) contrast(scores + N_LABELS);
    for (int k = 0; k < N_LABELS; k++) {
        double sum = mixture[0] * scores[k] + power * (baseline + PRIOR_WEIGHT * priors[k] + biases[k]);
        if (N_MIXTURE > 1) sum += mixture[N_MIXTURE - 1] * (scores[N_LABELS + k] + priors[k]);
        probabilities[k] = 1 / (1 + exp(-fmin(700, fmax(-700, sum / total))));
        n += probabilities[k] >= thresholds[k];
    }
    return n;
}
#endif

const char *const *nbtext_labels(void) { return labels; }
#ifdef N_THRESHOLDS
const double *nbtext_thresholds(void) { return thresholds; }
#endif

/* Classify a text in UTF-8: return the number of its label, and write the N_LABELS probabilities. -1: out of memory. Several threads may call it at once.
   A model of several labels returns how many labels reach their thresholds, nbtext_thresholds(), instead. */
int nbtext_classify(const char *text, size_t length, double *probabilities) {
    size_t most = 2 * length + 1, most_features = 0;  /* of a view; with two spaces for each word */
    for (size_t v = 0; v < N_VIEWS; v++) {
        size_t own = 3 * most * (size_t) (views[v].longest - views[v].shortest + 1);
        if (own > most_features) most_features = own;
    }
    uint32_t *points = malloc(most * sizeof *points), *lower = malloc(most * sizeof *lower);
    char *letters = malloc(4 * most + 2);
    Word *words = malloc((most + 2) * sizeof *words);
    long *columns = malloc(most_features * sizeof *columns);
    double *weights = malloc(most_features * sizeof *weights), *scores = malloc(N_BIAS * sizeof *scores);
    int best = -1;
    if (points && lower && letters && words && columns && weights && scores) {
        size_t count = read_text(text, length, points, lower);
        long n_known = 0;
        memcpy(scores, bias, sizeof bias);
        for (const View *view = views; view < views + N_VIEWS; view++) {
            long own = find_columns(view, lower, count, letters, words, columns);
            add_scores(view, columns, weights, weigh(view, columns, own, weights), scores);
            n_known += own;
        }
#ifdef N_THRESHOLDS
        best = choose_labels(scores, n_known, probabilities);
#else
        best = choose_label(scores, n_known);
        memcpy(probabilities, scores, sizeof bias);
#endif
    }
    free(points), free(lower), free(letters), free(words), free(columns), free(weights), free(scores);
    return best;
}

#ifndef NBTEXT_NO_MAIN
/* Print a label as one field of TSV. */
static void put_field(const char *text) {
    static const char special[] = "\\\t\n\r", names[] = "\\tnr";
    for (; *text; text++) {
#ifdef N_THRESHOLDS
        if (*text == '|') putchar('\\');  /* it divides labels */
#endif
        const char *at = strchr(special, *text);
        if (at) putchar('\\');
        putchar(at ? names[at - special] : *text);
    }
}

#ifdef N_THRESHOLDS
/* Print the labels that reach their thresholds, the most probable one first, or their probabilities. */
static void put_labels(const double *probabilities, int n, int has_labels) {
    double last_share = INFINITY;
    for (int i = 0, last = -1; i < n; i++) {
        int next = -1;
        for (int k = 0; k < N_LABELS; k++) {
            if (probabilities[k] < thresholds[k]) continue;
            if (probabilities[k] > last_share || (probabilities[k] == last_share && k <= last)) continue;
            if (next < 0 || probabilities[k] > probabilities[next]) next = k;
        }
        if (i) putchar('|');
        if (has_labels) put_field(labels[next]);
        else printf("%.17g", probabilities[next]);
        last = next, last_share = probabilities[next];
    }
}
#endif

/* Classify each line of standard input; print its label and probability, or its labels and probabilities. */
int main(void) {
    double probabilities[N_LABELS];
    size_t length = 0, room = 1 << 16;
    int best = 0;
    char *line = malloc(room);
    for (int letter = getchar(); line; letter = getchar()) {
        if (letter == EOF || letter == '\n') {
            if (letter == EOF && length == 0) break;
            best = nbtext_classify(line, length, probabilities);
            if (best == -1) break;
#ifdef N_THRESHOLDS
            put_labels(probabilities, best, 1), putchar('\t'), put_labels(probabilities, best, 0), putchar('\n');
#else
            put_field(labels[best]), printf("\t%.17g\n", probabilities[best]);
#endif
            if (fflush(stdout) == EOF) break;  /* the reader of a pipe may wait for this line */
            length = 0;
        } else {
            if (length == room) {
                char *more = realloc(line, room *= 2);
                if (!more) break;
                line = more;
            }
            line[length++] = (char) letter;
        }
    }
    int is_bad = best == -1 || !line || !feof(stdin) || ferror(stdin) || fflush(stdout) == EOF || ferror(stdout);
    free(line);
    if (is_bad) fputs("no memory, or input or output failed\n", stderr);
    return is_bad;
}
#endif
