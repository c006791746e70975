# The settings of a counter, and its tables of words and n-grams.

cdef enum Analyzer:
    WORDS, CHARACTERS, PADDED

cdef struct Prefix:
    const uint8_t* letters  # field name and colon
    size_t length
    uint64_t state  # of FNV-1a after these bytes

cdef struct Analysis:  # the settings of a counter, and the tables of words and n-grams
    Analyzer analyzer
    bint has_marks  # whether one-letter words and punctuation marks are tokens
    size_t shortest  # of the n-grams
    size_t longest
    bint lowercase
    bint joins_words  # whether features are n-grams of words
    void* normalize  # Python function owned by the counter, or NULL
    Buffer prefixes  # Prefix, one for each field; one empty prefix if fields have no names
    size_t n_fields
    bint has_names
    uint32_t n_buckets  # 0 without hashing
    bint is_growing
    Words words
    Tree tree
    size_t n_hashed  # nodes with a hash
    size_t n_columns  # of a fixed vocabulary
    Buffer columns  # uint32_t, by node of a fixed vocabulary: its column + 1, or 0
    bint nodes_are_columns


cdef inline int add_words(
    Words* words, Tree* tree, Token* tokens, size_t n_tokens, const uint8_t* letters, uint32_t* found
) except -1 nogil:
    """Write the node of each word, added if missing; prefetch the nodes for `add_features`."""
    cdef WordSlot* slot
    cdef size_t i
    reserve_nodes(tree, n_tokens)
    set_keys(tokens, n_tokens, letters, words)
    for i in range(n_tokens):
        slot = seek(words, &tokens[i], letters)
        if slot.high:
            found[i] = slot.value
        else:
            reserve_words(words, 1, tokens[i].length)
            found[i] = put_word(words, &tokens[i], letters, add_node(tree, WORD, <uint32_t> words.count))
        nb_prefetch(<Node*> tree.nodes.data + found[i])
    return 0


cdef inline uint64_t text_hash(Analysis* a, const Node* node) noexcept nogil:
    """Return the hash of a node's text; its parent has its hash already."""
    cdef const Node* nodes = <const Node*> a.tree.nodes.data
    cdef uint64_t state = FNV_START
    cdef const uint8_t* letters
    cdef size_t length
    if node.parent == BUCKET:
        return mix64(<uint64_t> node.word + 1)
    if node.parent == WORD:
        letters = word_letters(&a.words, node.word, &length)
        return mix64(fnv1a(state, letters, length))
    if node.parent < MAX_NODES:
        state = fnv1a(unmix64(nodes[node.parent].hash), <const uint8_t*> b" ", 1)
    else:
        state = (<const Prefix*> a.prefixes.data)[FIELD - node.parent].state
    letters = word_letters(&a.words, nodes[node.word].word, &length)
    return mix64(fnv1a(state, letters, length))


cdef inline void hash_new_nodes(Analysis* a) noexcept nogil:
    """Compute the hashes of nodes added since the last call."""
    cdef Node* nodes = <Node*> a.tree.nodes.data
    cdef size_t i
    for i in range(a.n_hashed, a.tree.count):
        if i + AHEAD < a.tree.count and nodes[i + AHEAD].parent < MAX_NODES:
            nb_prefetch(&nodes[nodes[i + AHEAD].parent])
            nb_prefetch(<const uint64_t*> a.words.starts.data + nodes[nodes[i + AHEAD].word].word)
        nodes[i].hash = text_hash(a, &nodes[i])
    a.n_hashed = a.tree.count
