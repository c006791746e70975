# The counter of features, compiled: no Python object per token, and no GIL meanwhile.
#
# `text.pxi` encodes a text as lowercase UTF-8 and marks its words. `tokens.pxi` finds its features with the
# word table (`words.pxi`) and the tree of n-grams (`ngrams.pxi`). `document.pxi` counts them. The counts become a CSR
# row, are added to the sums of a class (`class_sums.pxi`), or are scored (`scorer.pxi`). `order.pxi` sorts the
# vocabulary. `counting.py` is the definition of all this in plain Python; tests compare the two.

cdef enum:
    MAX_KEPT_BYTES = 0x1000000  # bytes of working memory to keep for the next batch

ANALYZERS = {"word": WORDS, "char": CHARACTERS, "char_wb": PADDED}
FREQUENCIES = {"count": COUNT, "binary": BINARY, "relative": RELATIVE, "log": LOG}
NORMS = {"none": NONE, "l1": L1, "l2": L2}


@cython.final
cdef class ThreadMemory:
    """The working memory of one thread."""

    cdef Scratch scratch

    def __dealloc__(self):
        free_scratch(&self.scratch)


@cython.final
cdef class Texts:
    """The texts of a batch, kept alive to be read without the GIL; ASCII texts of a Column are read where they are."""

    cdef list held
    cdef Buffer texts  # Text, field by field
    cdef size_t n_documents

    def __init__(self, Counter counter, columns):
        cdef Text* place
        cdef const Span* spans
        cdef size_t row
        columns = [column if isinstance(column, Column) else list(column) for column in columns]
        if <size_t> len(columns) != counter.analysis.n_fields or len(set(map(len, columns))) != 1:
            raise ValueError(f"{counter.analysis.n_fields} columns of the same length were wanted")
        self.n_documents = len(columns[0])
        self.held = []
        reserve(&self.texts, self.n_documents * len(columns) + 1, sizeof(Text))
        place = <Text*> self.texts.data
        for column in columns:
            self.held.append(column)
            spans = (<Column> column).spans if isinstance(column, Column) else NULL
            for row in range(self.n_documents):
                if spans != NULL and spans[row].letters != NULL and spans[row].length <= MAX_CHARACTERS:
                    place[row] = Text(spans[row].letters, spans[row].length, 1, counter.analysis.lowercase)
                else:
                    text = point_at_text(&place[row], column[row], counter.analysis.lowercase, counter.strip_accents)
                    self.held.append(text)
            place += self.n_documents

    def __dealloc__(self):
        release(&self.texts)

    cdef const Text* first(self) noexcept nogil:
        return <const Text*> self.texts.data


cdef class Counter:
    """Counts the features of texts; the stub file documents it."""

    cdef:
        Analysis analysis
        object normalize
        object strip_accents
        list names  # bytes, the prefixes of the fields
        object fixed  # the vocabulary that was given
        Pool pool  # of sums by class
        bint is_descending  # whether the next batch is counted from its last class on: then fewer sums change their class
        list memories  # ThreadMemory that no thread uses
        size_t n_too_long  # tokens ignored since the last take_too_long
        object order  # uint32, by column: node of the feature; None if not computed
        size_t n_ordered  # number of nodes when it was computed
        Weights weights  # of the last scorer

    def __init__(
        self, *, analyzer="word", marks=False, ngrams=(1, 1), lowercase=True, fields=(), normalize=None, strip_accents=None,
        hash_bits=None, vocabulary=None,
    ):
        cdef Analysis* a = &self.analysis
        if self.memories is not None:
            raise RuntimeError("a counter is made only once")
        self.memories = []
        a.analyzer = ANALYZERS[analyzer]
        a.has_marks = marks
        a.shortest, a.longest = ngrams
        a.lowercase = lowercase
        a.joins_words = a.analyzer == WORDS and a.longest > 1
        self.normalize = normalize if a.analyzer == WORDS else None
        a.normalize = <void*> self.normalize if self.normalize is not None else NULL
        self.strip_accents = strip_accents
        a.n_buckets = 0 if hash_bits is None else 1 << <int> hash_bits
        a.is_growing = vocabulary is None and hash_bits is None
        self.set_fields(fields)
        reserve_words(&a.words, 1, 16)
        self.fixed = vocabulary
        if vocabulary is not None:
            add_vocabulary(a, vocabulary)

    def __dealloc__(self):
        cdef Analysis* a = &self.analysis
        free_words(&a.words)
        release_all([&a.tree.nodes, &a.tree.slots, &a.prefixes, &a.columns, &self.pool.sums, NULL])

    cdef int set_fields(self, fields) except -1:
        cdef Analysis* a = &self.analysis
        cdef Prefix* prefixes
        cdef size_t i
        names = [f"{name}:".encode("utf-8", "surrogatepass") for name in fields]
        a.has_names = bool(names)
        self.names = names or [b""]
        a.n_fields = len(self.names)
        reserve(&a.prefixes, a.n_fields, sizeof(Prefix))
        prefixes = <Prefix*> a.prefixes.data
        for i in range(a.n_fields):
            prefixes[i].letters = <const uint8_t*> PyBytes_AS_STRING(self.names[i])
            prefixes[i].length = len(self.names[i])
            prefixes[i].state = fnv1a(FNV_START, prefixes[i].letters, prefixes[i].length)
        return 0

    def rows(self, columns):
        """Count the features of each document."""
        cdef Analysis* a = &self.analysis
        cdef Texts texts = Texts(self, columns)
        cdef ThreadMemory memory = self.take_memory()
        cdef Scratch* s = &memory.scratch
        cdef size_t document, n_documents = texts.n_documents
        indptr = np.zeros(n_documents + 1, dtype=np.int64)
        n_tokens = np.empty(n_documents, dtype=np.int64)
        cdef int64_t[::1] ends = indptr, lengths = n_tokens
        with nogil:
            for document in range(n_documents):
                read_document(a, s, texts.first(), n_documents, document)
                count_document(a, s)
                if a.n_buckets == 0:
                    sort_entries(<uint64_t*> s.entries.data, s.n_entries, &s.spare)
                append_row(s)
                lengths[document] = s.n_tokens
                ends[document + 1] = s.n_done
        indices = copy_to_array(s.indices.data, s.n_done, np.int32)
        counts = copy_to_array(s.counts.data, s.n_done, np.int32)
        self.give_back(memory)
        return document_table.DocumentTable.from_texts(indptr, indices, counts, n_tokens)

    def count(self, columns, classes, keep_below):
        """Add each document's counts to its class; return the rows of documents with a hash below `keep_below`."""
        cdef Analysis* a = &self.analysis
        cdef Texts texts = Texts(self, columns)
        cdef ThreadMemory memory = self.take_memory()
        cdef Scratch* s = &memory.scratch
        cdef const int32_t[::1] class_of = classes
        cdef const int64_t[::1] order = np.argsort(-classes if self.is_descending else classes, kind="stable")
        cdef size_t i, n_kept = 0, n_documents = texts.n_documents
        self.is_descending = not self.is_descending
        cdef bint keeps_all = keep_below >= 1 << 64
        cdef uint64_t hash, limit = 0 if keeps_all else keep_below
        kept = np.empty(n_documents, dtype=np.int64)
        hashes = np.empty(n_documents, dtype=np.uint64)
        starts = np.zeros(n_documents + 1, dtype=np.int64)
        cdef int64_t[::1] kept_view = kept, starts_view = starts
        cdef uint64_t[::1] hashes_view = hashes
        if <size_t> len(classes) != n_documents or self.fixed is not None:
            raise ValueError(f"{len(classes)} classes for {n_documents} documents, or a fixed vocabulary")
        with nogil:
            for i in range(n_documents):
                if class_of[order[i]] < 0:
                    continue
                read_document(a, s, texts.first(), n_documents, order[i])
                hash = add_to_class(a, s, &self.pool, <uint32_t> class_of[order[i]])
                if keeps_all or hash < limit:
                    count_document(a, s)
                    append_row(s)
                    kept_view[n_kept] = order[i]
                    hashes_view[n_kept] = hash
                    n_kept += 1
                    starts_view[n_kept] = s.n_done
        rows = np.argsort(kept[:n_kept])
        kept = kept[rows]
        bounds = taken_bounds(starts, rows)
        indices = copy_rows(s.indices.data, np.int32, starts, rows, bounds)
        counts = copy_rows(s.counts.data, np.int32, starts, rows, bounds)
        self.give_back(memory)
        return document_table.DocumentTable(bounds, indices, counts, classes[kept], hashes[rows], rows=kept)

    def vocabulary(self):
        """Return the features so far, sorted, and the final column of each provisional one."""
        if self.fixed is not None:
            return self.fixed, np.arange(len(self.fixed), dtype=np.int32)
        if self.analysis.n_buckets:
            return vocabularies.Vocabulary(np.empty(0, np.uint8), np.zeros(1, np.int64)), np.arange(self.analysis.n_buckets, dtype=np.int32)
        return self.list_vocabulary()

    def class_counts(self):
        """Return the sums that `count` has added up, by final column."""
        cdef Analysis* a = &self.analysis
        cdef size_t node, n_columns, n_sums
        cdef uint32_t[::1] columns
        cdef int64_t[::1] to_ends, to_documents, to_occurrences
        cdef int32_t[::1] to_classes
        self.memories = []  # usually no document follows
        if a.is_growing:
            if self.order is None or self.n_ordered != a.tree.count:
                self.list_vocabulary()
            columns = self.order
        else:
            columns = np.full(a.n_buckets, UNKNOWN, dtype=np.uint32)
            for node in range(a.tree.count):
                columns[(<const Node*> a.tree.nodes.data)[node].word] = <uint32_t> node
        n_columns = len(columns)
        with nogil:
            n_sums = flush_sums(&self.pool, &a.tree)
        # one more than is written, so that the last address is valid
        indptr = np.zeros(n_columns + 1, dtype=np.int64)
        classes = np.empty(n_sums + 1, dtype=np.int32)
        documents = np.empty(n_sums + 1, dtype=np.int64)
        occurrences = np.empty(n_sums + 1, dtype=np.int64)
        to_ends = indptr
        to_classes = classes
        to_documents = documents
        to_occurrences = occurrences
        with nogil:
            list_sums(
                &self.pool, &a.tree, &columns[0], n_columns, &to_ends[0], &to_classes[0], &to_documents[0], &to_occurrences[0]
            )
        return document_table.ClassCounts(indptr, classes[:n_sums], documents[:n_sums], occurrences[:n_sums])

    def take_too_long(self):
        """Return the number of tokens ignored since the last call because they are too long."""
        taken = self.n_too_long
        self.n_too_long = 0
        return taken

    def scores(self, columns, weighting, scorer):
        """Weight and score each document without building a matrix; for a fixed or hashed counter."""
        cdef Weights weights = self.weights
        cdef const double[::1] idf_view
        cdef DocumentWeighting document_weighting = DocumentWeighting(FREQUENCIES[weighting.tf], NORMS[weighting.norm], NULL, False)
        cdef size_t n_columns = len(self.fixed) if self.fixed is not None else self.analysis.n_buckets
        idf = weighting.idf
        if weights is None or weights.source is not scorer:  # prepared once for all batches
            weights = Weights(scorer)
            weights.expand()
            self.weights = weights
        if self.analysis.is_growing:
            raise ValueError("a growing vocabulary has no columns to score")
        if weights.scorer.n_features != n_columns or (idf is not None and <size_t> len(idf) != n_columns):
            raise ValueError(f"the scorer has {weights.scorer.n_features} features, the vocabulary {n_columns}")
        if idf is not None:
            idf_view = idf
            document_weighting.idf = &idf_view[0]
        elif document_weighting.tf == BINARY and document_weighting.norm == NONE and weights.scorer.base == NULL:
            document_weighting.are_ones = weights.scorer.dense != NULL
        cdef Analysis* a = &self.analysis
        cdef Texts texts = Texts(self, columns)
        cdef ThreadMemory memory = self.take_memory()
        cdef Scratch* s = &memory.scratch
        cdef size_t document, n_classes = weights.scorer.n_classes, n_documents = texts.n_documents
        cdef bint is_sound_scorer = True
        scores = np.empty((n_documents, n_classes), dtype=np.float64)
        n_tokens = np.empty(n_documents, dtype=np.int64)
        n_known = np.empty(n_documents, dtype=np.int64)
        cdef double[:, ::1] scores_view = scores
        cdef int64_t[::1] lengths = n_tokens, known = n_known
        with nogil:
            for document in range(n_documents):
                read_document(a, s, texts.first(), n_documents, document)
                weight_document(a, s, &document_weighting)
                lengths[document] = s.n_tokens
                known[document] = s.n_features
                is_sound_scorer &= add_scores(
                    &weights.scorer, <const int32_t*> s.indices.data,
                    NULL if document_weighting.are_ones else <const double*> s.values.data, s.n_entries, &scores_view[document, 0],
                )
        if not is_sound_scorer:
            raise ValueError("the arrays of the scorer do not fit each other")
        self.give_back(memory)
        return scores, n_tokens, n_known

    cdef ThreadMemory take_memory(self):
        cdef ThreadMemory memory = self.memories.pop() if self.memories else ThreadMemory()
        memory.scratch.n_done = 0
        return memory

    cdef int give_back(self, ThreadMemory memory) except -1:
        """Keep working memory for the next batch."""
        cdef Scratch* s = &memory.scratch
        self.n_too_long += s.n_too_long
        s.n_too_long = 0
        if s.letters.size + s.marks.size + s.entries.size + s.indices.size < MAX_KEPT_BYTES:
            self.memories.append(memory)
        return 0

    cdef list_vocabulary(self):
        cdef Analysis* a = &self.analysis
        cdef Listing listing
        cdef list fields = sorted(range(a.n_fields), key=self.names.__getitem__)
        cdef size_t field
        release(&a.tree.slots)  # made again when the vocabulary grows
        memset(&listing, 0, sizeof(listing))
        try:
            with nogil:
                listing.shortest = a.shortest if a.joins_words else 1
                listing.longest = a.longest if a.joins_words else 1
                list_words(&listing, &a.words)
                list_children(&listing, a)
                reserve_zeros(&listing.offsets, 1, sizeof(int64_t))
            for field in fields:
                with nogil:
                    list_field(&listing, a, field)
            release_all([&listing.words, &listing.starts, &listing.children, &listing.first_child, NULL])
            self.order = take_array(&listing.order, listing.count, np.uint32)
            self.n_ordered = a.tree.count
            offsets = take_array(&listing.offsets, listing.count + 1, np.int64)
            blob = take_array(&listing.letters, offsets[listing.count], np.uint8)
            columns = np.full(self.n_ordered, -1, dtype=np.int32)
            columns[self.order] = np.arange(listing.count, dtype=np.int32)
            return vocabularies.Vocabulary(blob, offsets), columns
        finally:
            free_listing(&listing)


def prepare_tables():
    """Fill the tables that all counters share: hash keys, byte masks, characters."""
    cdef size_t i
    for i in range(3):
        SECRETS[i] = int.from_bytes(os.urandom(8), "little") | 1  # odd, so that multiplication is invertible
    fill_masks()
    fill_character_tables(0x100)


prepare_tables()
