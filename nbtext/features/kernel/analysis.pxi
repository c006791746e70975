# What a feature is: the settings of a counter, its words and its n-grams.

cdef enum Analyzer:
    WORDS
    CHARACTERS
    PADDED

cdef struct Prefix:
    const uint8_t* letters  # the name of a field and a colon
    size_t length
    uint64_t state  # of FNV-1a after these

ANALYZERS = {"word": WORDS, "char": CHARACTERS, "char_wb": PADDED}


@cython.final
cdef class Analysis:
    """Settings, and the tables of words and n-grams. Where these do not grow, threads may share it."""

    cdef:
        Analyzer analyzer
        size_t shortest  # of the n-grams
        size_t longest
        bint lowercase
        bint joins_words  # whether features are more than single words or windows of characters
        object normalize
        object strip_accents
        list names  # bytes, the prefixes
        Buffer prefixes  # Prefix, one a field; a single empty one where fields have no names
        size_t n_fields
        bint has_names
        uint32_t n_buckets  # 0 where features are not hashed
        bint is_growing
        Words words
        Tree tree
        size_t n_hashed  # nodes whose hash is known
        size_t n_columns  # of a fixed vocabulary
        Buffer columns  # uint32_t, by node of a fixed vocabulary: its column + 1, 0 where it is no feature
        bint nodes_are_columns

    def __init__(self, analyzer, ngrams, lowercase, fields, normalize, strip_accents, hash_bits, vocabulary):
        if analyzer not in ANALYZERS:
            raise ValueError(f"no analyzer: {analyzer!r}")
        self.analyzer = ANALYZERS[analyzer]
        self.shortest, self.longest = ngrams
        if not 1 <= self.shortest <= self.longest:
            raise ValueError(f"no n-grams: {ngrams!r}")
        if hash_bits is not None and not (1 <= hash_bits <= 30 and vocabulary is None):
            raise ValueError(f"no hashing: {hash_bits!r} bits")
        self.lowercase = lowercase
        self.joins_words = self.analyzer == WORDS and self.longest > 1
        self.normalize = normalize if self.analyzer == WORDS else None
        self.strip_accents = strip_accents
        self.n_buckets = 0 if hash_bits is None else 1 << <int> hash_bits
        self.is_growing = vocabulary is None and hash_bits is None
        self.take_names(fields)
        make_room(&self.words, 1, 16)
        if vocabulary is not None:
            take_vocabulary(self, vocabulary)

    def __dealloc__(self):
        empty_words(&self.words)
        fell(&self.tree)
        release(&self.prefixes)
        release(&self.columns)

    cdef int take_names(self, fields) except -1:
        cdef Prefix* prefixes
        cdef size_t i
        names = [f"{name}:".encode("utf-8", "surrogatepass") for name in fields]
        if any(a.startswith(b) for i, a in enumerate(names) for k, b in enumerate(names) if i != k):
            raise ValueError(f"names of fields that begin each other: {fields!r}")
        if len(names) > MOST_FIELDS:
            raise ValueError(f"{len(names)} fields")
        self.has_names = bool(names)
        self.names = names or [b""]
        self.n_fields = len(self.names)
        reserve(&self.prefixes, self.n_fields, sizeof(Prefix))
        prefixes = <Prefix*> self.prefixes.data
        for i in range(self.n_fields):
            prefixes[i].letters, prefixes[i].length = <const uint8_t*> PyBytes_AS_STRING(self.names[i]), len(self.names[i])
            prefixes[i].state = fnv1a(FNV_START, prefixes[i].letters, prefixes[i].length)
        return 0


cdef uint32_t add_word(Words* words, Tree* tree, const uint8_t* letters, size_t length) except? 0xFFFFFFFE nogil:
    """The node of a word; a new one where there was none. 16 bytes from its start can be read."""
    cdef Token token
    cdef uint32_t node
    if length > MOST_NODES:
        too_much("a word of more than 2**31 bytes")
    token.start, token.length = 0, <uint32_t> length
    add_words(words, tree, &token, 1, letters, &node)
    return node


cdef int add_words(
    Words* words, Tree* tree, Token* tokens, size_t n_tokens, const uint8_t* letters, uint32_t* found
) except -1 nogil:
    """Write the node of each word; a new one where there was none."""
    cdef WordSlot* slot
    cdef size_t i, n_letters = 0
    for i in range(n_tokens):
        n_letters += tokens[i].length
    make_room(words, n_tokens, n_letters)
    make_room_for_nodes(tree, n_tokens)
    take_keys(tokens, n_tokens, letters, words)
    for i in range(n_tokens):
        slot = seek(words, &tokens[i], letters)
        if slot.high == 0:
            put_word(words, slot, &tokens[i], letters, add_node(tree, WORD, <uint32_t> words.count))
        found[i] = slot.value
    return 0


cdef uint64_t text_hash(Analysis a, const Node* node) noexcept nogil:
    """The hash of the text of a node; that of its parent is known."""
    cdef const Node* nodes = <const Node*> a.tree.nodes.data
    cdef uint64_t state = FNV_START
    cdef const uint8_t* letters
    cdef size_t length
    if node.parent == BUCKET:
        return mix64(<uint64_t> node.word + 1)
    if node.parent == WORD:
        letters = word_letters(&a.words, node.word, &length)
        return mix64(fnv1a(state, letters, length))
    if node.parent < MOST_NODES:
        state = fnv1a(unmix64(nodes[node.parent].hash), <const uint8_t*> b" ", 1)
    else:
        state = (<const Prefix*> a.prefixes.data)[FIELD - node.parent].state
    letters = word_letters(&a.words, nodes[node.word].word, &length)
    return mix64(fnv1a(state, letters, length))


cdef void hash_new_nodes(Analysis a) noexcept nogil:
    """Work out the hashes of the nodes that have none yet."""
    cdef Node* nodes = <Node*> a.tree.nodes.data
    cdef size_t i
    for i in range(a.n_hashed, a.tree.count):
        if i + AHEAD < a.tree.count and nodes[i + AHEAD].parent < MOST_NODES:
            nb_prefetch(&nodes[nodes[i + AHEAD].parent])
            nb_prefetch(<const uint64_t*> a.words.starts.data + nodes[nodes[i + AHEAD].word].word)
        nodes[i].hash = text_hash(a, &nodes[i])
    a.n_hashed = a.tree.count
