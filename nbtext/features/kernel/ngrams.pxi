# The tree of n-grams: a node appends a word to its parent, so "new york city" is two steps below "new".
# An n-gram is a pair of numbers; its text is never built.

cdef extern from *:
    """
    #define NB_WORD 0xFFFFFFFFu
    #define NB_UNKNOWN 0xFFFFFFFEu
    #define NB_LEFT_OUT 0xFFFFFFFDu
    #define NB_BUCKET 0xFFFFFFFCu
    #define NB_FIELD 0xFFFFFFFBu
    """
    const uint32_t WORD "NB_WORD"  # parent of a single word
    const uint32_t UNKNOWN "NB_UNKNOWN"  # node of a feature outside a fixed vocabulary
    const uint32_t LEFT_OUT "NB_LEFT_OUT"  # node of a word that `normalize` removes
    const uint32_t BUCKET "NB_BUCKET"  # parent of hashed features, whose "words" are bucket numbers
    const uint32_t FIELD "NB_FIELD"  # parent of words of field 0; FIELD - i is that of field i

cdef enum:
    MAX_NODES = 0x7FFFFFFF  # columns are int32
    TOKEN_BATCH = 256  # tokens looked up together: slots are prefetched while other keys are computed

cdef struct Node:  # 32 bytes: half a cache line
    uint32_t parent
    uint32_t word  # node of the last word; for a single word its number in the word table
    uint64_t hash  # of its text; set by hash_new_nodes
    # sums of the current class, see class_sums.pxi
    uint32_t document  # the last document that contains it
    uint32_t group  # the current class + 1, or 0
    uint16_t documents
    uint16_t occurrences
    uint32_t block  # place of the sums of all classes in the pool, or 0

cdef struct PairSlot:
    uint32_t tag  # upper half of the hash, so that few other nodes are compared
    uint32_t node  # + 1, or 0 for a free slot

cdef struct Tree:
    Buffer nodes  # Node
    size_t count
    Buffer slots  # PairSlot
    size_t mask
    size_t n_pairs


cdef inline int reserve_nodes(Tree* tree, size_t n_nodes) except -1 nogil:
    if tree.count + n_nodes > MAX_NODES:
        return too_much("more than 2**31 features")
    return reserve(&tree.nodes, tree.count + n_nodes, sizeof(Node))


cdef inline uint32_t add_node(Tree* tree, uint32_t parent, uint32_t word) noexcept nogil:
    """Append a node, after `reserve_nodes`, and return its number."""
    (<Node*> tree.nodes.data)[tree.count] = Node(parent, word, 0, 0, 0, 0, 0, 0)
    tree.count += 1
    return <uint32_t> (tree.count - 1)


cdef inline int reserve_pairs(Tree* tree, size_t n_pairs) except -1 nogil:
    """Reserve memory for `n_pairs` more nodes with a parent."""
    cdef size_t count = tree.n_pairs + n_pairs, n_slots = max(tree.mask + 1, <size_t> 1024)
    reserve_nodes(tree, n_pairs)
    while count * 4 > n_slots * 3:
        n_slots *= 2
    return resize_pairs(tree, n_slots) if tree.slots.data == NULL or n_slots > tree.mask + 1 else 0


cdef inline int resize_pairs(Tree* tree, size_t n_slots) except -1 nogil:
    """Move all nodes with a parent to a table of `n_slots` slots."""
    cdef Node* nodes = <Node*> tree.nodes.data
    cdef Buffer larger = Buffer(NULL, 0)
    cdef PairSlot* slots
    cdef size_t i, position
    cdef uint64_t key
    reserve_zeros(&larger, n_slots, sizeof(PairSlot))
    release(&tree.slots)
    tree.slots = larger
    tree.mask = n_slots - 1
    slots = <PairSlot*> larger.data
    for i in range(tree.count):
        if nodes[i].parent == WORD:
            continue
        key = hash_pair(nodes[i].parent, nodes[i].word)
        position = key & tree.mask
        while slots[position].node:
            position = (position + 1) & tree.mask
        slots[position] = PairSlot(<uint32_t> (key >> 32), <uint32_t> i + 1)
    return 0


cdef inline PairSlot* seek_pair(const Tree* tree, uint64_t key, uint32_t parent, uint32_t word) noexcept nogil:
    """Return the slot of a pair, or the free slot to insert it in."""
    cdef size_t i = key & tree.mask
    cdef Node* nodes = <Node*> tree.nodes.data
    cdef PairSlot* slot
    cdef Node* node
    while True:
        slot = <PairSlot*> tree.slots.data + i
        if slot.node == 0:
            return slot
        if slot.tag == <uint32_t> (key >> 32):
            node = &nodes[slot.node - 1]
            if node.word == word and node.parent == parent:
                return slot
        i = (i + 1) & tree.mask


cdef inline uint32_t child(Tree* tree, uint64_t key, uint32_t parent, uint32_t word, bint is_growing) noexcept nogil:
    cdef PairSlot* slot = seek_pair(tree, key, parent, word)
    if slot.node:
        return slot.node - 1
    if not is_growing:
        return UNKNOWN
    tree.n_pairs += 1
    slot.tag = <uint32_t> (key >> 32)
    slot.node = add_node(tree, parent, word) + 1
    return slot.node - 1


cdef inline int descend(Tree* tree, uint32_t* nodes, const uint32_t* words, size_t count, bint is_growing) except -1 nogil:
    """Replace each node by its child for the word at the same position; UNKNOWN if a tree that does not grow has none."""
    cdef uint64_t[TOKEN_BATCH] keys
    cdef size_t i, n, start = 0
    while start < count:
        n = min(count - start, <size_t> TOKEN_BATCH)
        if is_growing:
            reserve_pairs(tree, n)
        for i in range(n):
            keys[i] = hash_pair(nodes[start + i], words[start + i])
            nb_prefetch(<PairSlot*> tree.slots.data + (keys[i] & tree.mask))
        for i in range(n):
            nb_prefetch(<Node*> tree.nodes.data + (<PairSlot*> tree.slots.data)[keys[i] & tree.mask].node)
        for i in range(n):
            if not is_growing and (nodes[start + i] == UNKNOWN or words[start + i] == UNKNOWN):
                nodes[start + i] = UNKNOWN
            else:
                nodes[start + i] = child(tree, keys[i], nodes[start + i], words[start + i], is_growing)
        start += n
    return 0
