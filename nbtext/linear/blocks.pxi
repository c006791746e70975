# A class against the rest whose documents are in blocks, of which one is in memory: the passes of `one_vs_rest.pxi`, block
# after block. A class has its weights in memory all the time; the dual variables come and go with the blocks.
#
# Yu, Hsieh, Chang, Lin, Large Linear Classification When Data Cannot Fit In Memory, 2010, algorithm 1 with one pass over
# each block: blocks are ranges of hashes, that is, random samples, so that more passes over a block gain little.


@cython.final
cdef class BlockFit:
    """A class against the rest, block after block; `_kernel.pyi` has the documentation."""

    cdef float[:, ::1] features  # weight and scale of each
    cdef readonly double gap, objective
    cdef int64_t n_rows
    cdef bint is_logistic

    def __init__(self, features, *, n_rows, is_logistic):
        self.features, self.n_rows, self.is_logistic = features, n_rows, is_logistic
        if self.features.shape[1] != 2:
            raise ValueError("each feature has a weight and a scale")

    cdef set_problem(self, BinaryProblem* p, CheckedMatrix matrix, double[::1] strengths, float[::1] diagonal, double[::1] dual,
                     uint8_t[::1] rows, int32_t[::1] order):
        """Point to the arrays of a block, which are checked."""
        cdef int64_t n = len(matrix)
        if not strengths.shape[0] == diagonal.shape[0] == dual.shape[0] == n or rows.shape[0] != n * <int64_t> sizeof(Row):
            raise ValueError("there must be one element for each row")
        if matrix.n_features != self.features.shape[0]:
            raise ValueError("there must be a weight for each feature")
        p.indptr, p.n_rows, p.n_features, p.n_order = &matrix.indptr[0], n, matrix.n_features, order.shape[0]
        p.features = &matrix.features[0] if matrix.features.shape[0] else NULL
        p.values = &matrix.values[0] if matrix.values.shape[0] else NULL
        p.weights = <Feature*> &self.features[0, 0] if matrix.n_features else NULL
        p.strengths, p.diagonal, p.dual = NULL, NULL, NULL
        p.rows, p.order = NULL, NULL
        if n:
            p.strengths, p.diagonal, p.dual, p.rows = &strengths[0], &diagonal[0], &dual[0], <Row*> &rows[0]
        if order.shape[0]:
            p.order = &order[0]
        p.is_logistic, p.n_fitted, p.objective, p.gap = self.is_logistic, self.n_rows, self.objective, 0

    def begin(self):
        """Begin to add: all weights are 0."""
        cdef int64_t feature
        with nogil:
            for feature in range(self.features.shape[0]):
                self.features[feature, 0] = 0
        self.objective = 0

    def add(self, CheckedMatrix matrix, strengths, diagonal, dual, rows):
        """Add what the dual variables of a block contribute to the weights and to the dual objective."""
        cdef BinaryProblem p
        cdef int32_t[::1] order = np.flatnonzero(strengths).astype(np.int32)
        self.set_problem(&p, matrix, strengths, diagonal, dual, rows, order)
        with nogil:
            add_weights(&p)
            add_dual_losses(&p)
        self.objective = p.objective

    def end(self):
        """End to add: subtract the regularization from the dual objective."""
        cdef BinaryProblem p
        p.weights, p.n_features = <Feature*> &self.features[0, 0] if self.features.shape[0] else NULL, self.features.shape[0]
        p.objective = self.objective
        with nogil:
            subtract_squares(&p)
        self.objective, self.gap = p.objective, 0

    def visit(self, CheckedMatrix matrix, strengths, diagonal, dual, rows, *, tolerance, n_iter, seed):
        """Make a pass over a block; its part of the gap is added to `gap`."""
        cdef BinaryProblem p
        cdef double wanted = tolerance
        cdef int32_t number = n_iter
        cdef int64_t row
        cdef int32_t[::1] order = np.empty(len(matrix), dtype=np.int32), visited = np.empty(len(matrix), dtype=np.int32)
        self.set_problem(&p, matrix, strengths, diagonal, dual, rows, order)
        p.state, p.visited, p.n_order = seed, &visited[0] if order.shape[0] else NULL, 0
        with nogil:
            if number == 1:  # of these scales
                for row in range(p.n_rows):
                    p.rows[row].square = -1
                    p.rows[row].due = MAX_WAIT if p.dual[row] == 0 and p.rows[row].wait > 0 else 0
            for row in range(p.n_rows):  # the others need no shuffling
                if p.rows[row].due <= number and p.strengths[row] != 0:
                    p.order[p.n_order] = row
                    p.n_order += 1
            make_pass(&p, wanted, number)
        self.gap, self.objective = self.gap + p.gap, p.objective

    def measure(self, CheckedMatrix matrix, strengths, diagonal, dual, rows, *, tolerance):
        """Add a block's part of the gap at the present weights to `gap`; rows with more than a negligible part are due."""
        cdef BinaryProblem p
        cdef double wanted = tolerance
        cdef float[::1] margins = np.empty(len(matrix), dtype=np.float32)
        self.set_problem(&p, matrix, strengths, diagonal, dual, rows, np.empty(0, dtype=np.int32))
        p.margins = &margins[0] if p.n_rows else NULL
        with nogil:
            set_negligible(&p, wanted)
            add_gaps(&p)
        self.gap += p.gap

    def forget_gap(self):
        """Set the gap to 0, before a pass over all blocks or a measurement."""
        self.gap = 0

    def scores(self, CheckedMatrix matrix):
        """Return x.w of each row of a block."""
        cdef BinaryProblem p
        cdef int64_t row
        found = np.zeros(len(matrix))
        cdef double[::1] to = found
        cdef uint8_t[::1] none = np.zeros(len(matrix) * sizeof(Row), dtype=np.uint8)
        self.set_problem(&p, matrix, found, np.zeros(len(matrix), np.float32), found, none, np.empty(0, dtype=np.int32))
        with nogil:
            for row in range(p.n_rows):
                to[row] = score(&p, row)
        return found
