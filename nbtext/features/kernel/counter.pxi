# The seam: what Python sees of all this.

cdef enum:
    MOST_SPARE = 0x1000000  # bytes of working memory that are kept for the next batch

FREQUENCIES = {"count": COUNT, "binary": BINARY, "relative": RELATIVE, "log": LOG}
NORMS = {"none": NONE, "l1": L1, "l2": L2}


cdef object array_of(const void* data, size_t count, object dtype):
    """A new array that holds these items."""
    array = np.empty(count, dtype=dtype)
    cdef uint8_t[::1] target = array.view(np.uint8)
    if count:
        memcpy(&target[0], data, target.shape[0])
    return array


@cython.final
cdef class Memory:
    """A buffer that arrays may use."""

    cdef Buffer buffer

    def __dealloc__(self):
        release(&self.buffer)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.buffer.data, <Py_ssize_t> self.buffer.size, False, flags)


cdef object array_in(Buffer* buffer, size_t count, object dtype):
    """An array of what the buffer holds, which is then its own."""
    cdef Memory memory = Memory()
    reserve(buffer, 1, 8)
    memory.buffer, buffer[0] = buffer[0], Buffer(NULL, 0)
    return np.frombuffer(memory, dtype=dtype, count=count)


cdef object rows_in_order(Scratch s, starts, n_tokens, order):
    """The rows that are done, in another order."""
    cdef const int64_t[::1] old = starts, places = order
    cdef size_t i, length, n_rows = len(order)
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    indices, counts = np.empty(s.n_done + 1, dtype=np.int32), np.empty(s.n_done + 1, dtype=np.int32)
    cdef int64_t[::1] new = indptr
    cdef int32_t[::1] indices_view = indices, counts_view = counts
    for i in range(n_rows):
        length = old[places[i] + 1] - old[places[i]]
        if length:
            memcpy(&indices_view[new[i]], <int32_t*> s.indices.data + old[places[i]], length * sizeof(int32_t))
            memcpy(&counts_view[new[i]], <int32_t*> s.counts.data + old[places[i]], length * sizeof(int32_t))
        new[i + 1] = new[i] + length
    return Rows(indptr, indices[: s.n_done], counts[: s.n_done], n_tokens[order])


cdef class Counter:
    """Counts the features of texts; the stub file says how it is used."""

    cdef:
        Analysis analysis
        object fixed  # the vocabulary that was given
        Pool pool  # of sums by class
        bint is_busy  # whether a thread is changing words, n-grams or sums
        list scratches  # those that no thread uses now
        size_t n_too_long  # tokens left out, since they were asked for
        object order  # uint32, by column: the node of the feature; None where it is not known
        size_t n_ordered  # nodes that it was made of
        Weights weights  # those asked for last

    def __init__(
        self, *, analyzer="word", ngrams=(1, 1), lowercase=True, fields=(), normalize=None, strip_accents=None,
        hash_bits=None, vocabulary=None,
    ):
        if self.analysis is not None:
            raise RuntimeError("a counter is made only once")
        self.analysis = Analysis(analyzer, ngrams, lowercase, fields, normalize, strip_accents, hash_bits, vocabulary)
        self.fixed = vocabulary
        self.scratches = []

    def __dealloc__(self):
        release(&self.pool.shares)

    def rows(self, columns):
        """Count the features of each document."""
        if not self.analysis.is_growing:
            return self.count_rows(columns)
        self.begin_change()
        try:
            return self.count_rows(columns)
        finally:
            self.is_busy = False

    def tally(self, columns, classes, keep_below):
        """Add each document's counts to its class; give back the rows of those whose hash is below `keep_below`."""
        self.begin_change()
        try:
            return self.tally_rows(columns, classes, keep_below)
        finally:
            self.is_busy = False

    def vocabulary(self):
        """The features so far, sorted, and the final column of each provisional one."""
        if self.fixed is not None:
            return self.fixed, np.arange(len(self.fixed), dtype=np.int32)
        if self.analysis.n_buckets:
            return Vocabulary(np.empty(0, np.uint8), np.zeros(1, np.int64)), np.arange(self.analysis.n_buckets, dtype=np.int32)
        self.begin_change()
        try:
            return self.list_vocabulary()
        finally:
            self.is_busy = False

    def class_counts(self):
        """What `tally` has added up, by final column."""
        self.begin_change()
        try:
            return self.list_class_counts()
        finally:
            self.is_busy = False

    def take_too_long(self):
        """How many tokens were left out since the last time."""
        taken, self.n_too_long = self.n_too_long, 0
        return taken

    def scores(self, columns, weighting, scorer):
        """Weigh and score each document without building a matrix; for a fixed or hashed counter."""
        cdef Weights weights = self.weights_of(scorer)
        cdef const double[::1] idf_view
        cdef Weighing weighing = Weighing(FREQUENCIES[weighting.tf], NORMS[weighting.norm], NULL)
        idf = weighting.idf
        if self.analysis.is_growing:
            raise ValueError("a growing vocabulary has no columns to score")
        if weights.scorer.n_features != self.n_columns() or (idf is not None and <size_t> len(idf) != self.n_columns()):
            raise ValueError(f"the scorer has {weights.scorer.n_features} features, the vocabulary {self.n_columns()}")
        if idf is not None and len(idf):
            idf_view = idf
            weighing.idf = &idf_view[0]
        return self.score_texts(columns, weights, weighing)

    cdef Weights weights_of(self, scorer):
        """The arrays of a scorer, made ready once for all the batches that it scores."""
        cdef Weights weights = self.weights
        if weights is None or weights.source is not scorer:
            weights = Weights(scorer)
            weights.spread_out()
            self.weights = weights
        return weights

    cdef int begin_change(self) except -1:
        if self.is_busy:
            raise RuntimeError("a counter is used by two threads at once")
        self.is_busy = True
        return 0

    cdef size_t n_columns(self):
        return len(self.fixed) if self.fixed is not None else self.analysis.n_buckets

    cdef Scratch take_scratch(self):
        cdef Scratch scratch = self.scratches.pop() if self.scratches else Scratch()
        scratch.n_done = 0
        return scratch

    cdef int give_back(self, Scratch scratch) except -1:
        """Keep working memory for the next batch; after an error it is not worth keeping."""
        self.n_too_long += scratch.n_too_long
        scratch.n_too_long = 0
        if scratch.letters.size + scratch.marks.size + scratch.entries.size + scratch.indices.size < MOST_SPARE:
            self.scratches.append(scratch)
        return 0

    cdef count_rows(self, columns):
        cdef Analysis a = self.analysis
        cdef Texts texts = Texts(a, columns)
        cdef Scratch s = self.take_scratch()
        cdef size_t document, n_documents = texts.n_documents
        indptr, n_tokens = np.zeros(n_documents + 1, dtype=np.int64), np.empty(n_documents, dtype=np.int64)
        cdef int64_t[::1] ends = indptr, lengths = n_tokens
        with nogil:
            for document in range(n_documents):
                read_document(a, s, texts, document)
                count_document(a, s)
                if a.n_buckets == 0:
                    sort_entries(<uint64_t*> s.entries.data, s.n_entries, &s.spare)
                append_row(s)
                lengths[document], ends[document + 1] = s.n_tokens, s.n_done
        return self.finish_rows(s, indptr, n_tokens)

    cdef finish_rows(self, Scratch s, indptr, n_tokens):
        indices = array_of(s.indices.data, s.n_done, np.int32)
        counts = array_of(s.counts.data, s.n_done, np.int32)
        self.give_back(s)
        return Rows(indptr, indices, counts, n_tokens)

    cdef tally_rows(self, columns, classes, keep_below):
        cdef Analysis a = self.analysis
        cdef Texts texts = Texts(a, columns)
        cdef Scratch s = self.take_scratch()
        cdef const int32_t[::1] groups = classes
        cdef const int64_t[::1] order = np.argsort(classes, kind="stable")  # class by class is faster
        cdef size_t i, n_kept = 0, n_documents = texts.n_documents
        cdef bint keeps_all = keep_below >= 1 << 64
        cdef uint64_t hash, limit = 0 if keeps_all else keep_below
        kept, hashes = np.empty(n_documents, dtype=np.int64), np.empty(n_documents, dtype=np.uint64)
        starts, n_tokens = np.zeros(n_documents + 1, dtype=np.int64), np.empty(n_documents, dtype=np.int64)
        cdef int64_t[::1] kept_view = kept, starts_view = starts, lengths = n_tokens
        cdef uint64_t[::1] hashes_view = hashes
        if <size_t> len(classes) != n_documents:
            raise ValueError(f"{len(classes)} classes for {n_documents} documents")
        with nogil:
            for i in range(n_documents):
                if groups[order[i]] < 0:
                    continue
                read_document(a, s, texts, order[i])
                hash = tally_document(a, s, &self.pool, <uint32_t> groups[order[i]])
                if keeps_all or hash < limit:
                    count_document(a, s)
                    append_row(s)
                    kept_view[n_kept], hashes_view[n_kept], lengths[n_kept] = order[i], hash, s.n_tokens
                    n_kept += 1
                    starts_view[n_kept] = s.n_done
        back = np.argsort(kept[:n_kept])
        rows = rows_in_order(s, starts, n_tokens, back)
        self.give_back(s)
        return Kept(rows, kept[back].astype(np.int32), hashes[back])

    cdef score_texts(self, columns, Weights weights, Weighing weighing):
        cdef Analysis a = self.analysis
        cdef Texts texts = Texts(a, columns)
        cdef Scratch s = self.take_scratch()
        cdef size_t document, n_classes = weights.scorer.n_classes, n_documents = texts.n_documents
        cdef bint is_sound_scorer = True
        scores = np.empty((n_documents, n_classes), dtype=np.float64)
        n_tokens, n_known = np.empty(n_documents, dtype=np.int64), np.empty(n_documents, dtype=np.int64)
        cdef double[:, ::1] scores_view = scores
        cdef int64_t[::1] lengths = n_tokens, known = n_known
        with nogil:
            for document in range(n_documents):
                read_document(a, s, texts, document)
                count_document(a, s)
                lengths[document], known[document] = s.n_tokens, s.n_features
                weigh_document(s, &weighing)
                is_sound_scorer &= add_scores(
                    &weights.scorer, <const int32_t*> s.indices.data, <const double*> s.values.data, s.n_entries,
                    &scores_view[document, 0],
                )
        if not is_sound_scorer:
            raise ValueError("the arrays of the scorer do not fit each other")
        self.give_back(s)
        return scores, n_tokens, n_known

    cdef list_vocabulary(self):
        cdef Analysis a = self.analysis
        cdef Listing listing
        cdef list fields = sorted(range(a.n_fields), key=a.names.__getitem__)
        cdef size_t field
        memset(&listing, 0, sizeof(listing))
        try:
            with nogil:
                list_words(&listing, &a.tree, &a.words)
                list_children(&listing, &a.tree, a.n_fields)
                begin_list(&listing)
            for field in fields:
                with nogil:
                    list_field(&listing, a, field)
            with nogil:
                rank_features(&listing, a.tree.count)
            self.order, self.n_ordered = array_in(&listing.order, listing.count, np.uint32), a.tree.count
            offsets = array_in(&listing.offsets, listing.count + 1, np.int64)
            blob = array_in(&listing.letters, offsets[listing.count], np.uint8)
            return Vocabulary(blob, offsets), array_in(&listing.ranks, self.n_ordered, np.int32)
        finally:
            drop_listing(&listing)

    cdef list_class_counts(self):
        cdef Analysis a = self.analysis
        cdef size_t n_columns, n_shares
        if not a.is_growing:
            self.order = order_of_columns(a, self.n_columns())
        elif self.order is None or self.n_ordered != a.tree.count:
            self.list_vocabulary()
        n_columns = len(self.order)
        indptr = np.zeros(n_columns + 1, dtype=np.int64)
        with nogil:
            n_shares = put_all_away(&self.pool, &a.tree)
        # one more than are written, so that the last one too has an address
        classes, documents = np.empty(n_shares + 1, dtype=np.int32), np.empty(n_shares + 1, dtype=np.int64)
        occurrences = np.empty(n_shares + 1, dtype=np.int64)
        list_shares(&self.pool, &a.tree, self.order, indptr, classes, documents, occurrences)
        if not a.is_growing:
            self.order = None
        return ClassCounts(indptr, classes[:n_shares], documents[:n_shares], occurrences[:n_shares])
