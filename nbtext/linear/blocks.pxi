# A class against the rest whose documents are in blocks, of which one is in memory: the passes of `one_vs_rest.pxi`, block
# after block. A class has its weights in memory all the time; the dual variables come and go with the blocks. They are
# 32-bit numbers there, and `square` is computed again in each pass that changes a dual variable: what is kept for each
# document and class is 6 bytes, so that few pages are mapped.
#
# Yu, Hsieh, Chang, Lin, Large Linear Classification When Data Cannot Fit In Memory, 2010, algorithm 1 with one pass over
# each block: blocks are random samples, so that more passes over a block gain little.


@cython.final
cdef class BlockDocuments:
    """The documents of a block in the problems of one fold; `_kernel.pyi` has the documentation."""

    cdef readonly CheckedMatrix matrix
    cdef const int32_t[::1] classes
    cdef const double[::1] weights
    cdef const float[:, ::1] squares

    def __init__(self, CheckedMatrix matrix, classes, weights, squares):
        self.matrix, self.classes, self.weights, self.squares = matrix, classes, weights, squares
        if not len(classes) == len(weights) == self.squares.shape[1] == len(matrix) or len(squares) not in (1, 3):
            raise ValueError("there must be a class, a weight, and one or three sums of squares for each row")

    cdef inline bint is_own(self, int64_t row, int32_t own_class) noexcept nogil:
        return self.classes[row] == own_class

    cdef inline float diagonal(self, int64_t row, int32_t own_class, double offset) noexcept nogil:
        """The sum of (x f)^2 over the features of one document; see `sum_single_squares` in nbsvm.py."""
        cdef double both
        if self.squares.shape[0] == 1:
            return self.squares[0, row]
        both = 2 * offset * self.squares[1, row]
        both = self.squares[2, row] + (both if self.is_own(row, own_class) else -both) + offset * offset * self.squares[0, row]
        return <float> max(both, 0.0)

    def sum_diagonal(self, own_class, offset):
        """Return the sum of the features of one document over all rows; `_kernel.pyi` has the documentation."""
        cdef double total = 0, shift = offset
        cdef int32_t number = own_class
        cdef int64_t row
        with nogil:
            for row in range(self.weights.shape[0]):
                total += self.diagonal(row, number, shift)
        return total


@cython.final
cdef class BlockFit:
    """A class against the rest, block after block; `_kernel.pyi` has the documentation."""

    cdef float[:, ::1] features  # weight and scale of each
    cdef readonly double gap, objective
    cdef double offset
    cdef int64_t n_rows
    cdef int32_t own_class
    cdef bint is_logistic

    def __init__(self, features, *, own_class, offset, n_rows, is_logistic):
        self.features, self.own_class, self.offset, self.n_rows = features, own_class, offset, n_rows
        self.is_logistic = is_logistic
        if self.features.shape[1] != 2:
            raise ValueError("each feature has a weight and a scale")

    cdef list set_problem(self, BinaryProblem* p, BlockDocuments documents, float[::1] dual, uint8_t[:, ::1] waits):
        """Point to the arrays of a block, which are checked; return arrays for its rows, which must stay in memory."""
        cdef CheckedMatrix matrix = documents.matrix
        cdef int64_t n = len(matrix)
        if dual.shape[0] != n or waits.shape[0] != 2 or waits.shape[1] != n:
            raise ValueError("there must be one element for each row")
        if matrix.n_features != self.features.shape[0]:
            raise ValueError("there must be a weight for each feature")
        types = np.float64, np.float64, np.float32, np.float32, np.int32, np.int32, np.int64
        arrays = [np.empty(n + 1, dtype=each) for each in types]  # an element more, so that none is empty
        cdef double[::1] strengths = arrays[0], duals = arrays[1]
        cdef float[::1] diagonal = arrays[2], margins = arrays[3]
        cdef int32_t[::1] order = arrays[4], visited = arrays[5]
        cdef int64_t[::1] rows = arrays[6]
        p.strengths, p.diagonal, p.dual, p.rows = &strengths[0], &diagonal[0], &duals[0], <Row*> &rows[0]
        p.margins, p.order, p.visited = &margins[0], &order[0], &visited[0]
        p.indptr, p.n_rows, p.n_features, p.n_order = &matrix.indptr[0], n, matrix.n_features, 0
        p.features = &matrix.features[0] if matrix.features.shape[0] else NULL
        p.values = &matrix.values[0] if matrix.values.shape[0] else NULL
        p.weights = <Feature*> &self.features[0, 0] if matrix.n_features else NULL
        p.is_logistic, p.n_fitted, p.objective, p.gap = self.is_logistic, self.n_rows, self.objective, 0
        return arrays

    cdef inline void take_row(
        self, BinaryProblem* p, BlockDocuments documents, const float[::1] dual, int64_t row, double C
    ) noexcept nogil:
        """Set what is needed to visit a row, and add it to the order if it is fitted."""
        cdef double strength = C * documents.weights[row]
        (<double*> p.strengths)[row] = strength if documents.is_own(row, self.own_class) else -strength
        if strength != 0:
            (<float*> p.diagonal)[row] = documents.diagonal(row, self.own_class, self.offset)
            p.dual[row] = dual[row]
            p.order[p.n_order] = <int32_t> row
            p.n_order += 1

    def begin(self):
        """Begin to add: all weights are 0."""
        cdef int64_t feature
        with nogil:
            for feature in range(self.features.shape[0]):
                self.features[feature, 0] = 0
        self.objective = 0

    def add(self, BlockDocuments documents, float[::1] dual, waits, *, C):
        """Add what the dual variables of a block contribute to the weights and to the dual objective."""
        cdef BinaryProblem p
        cdef double strength = C
        cdef int64_t row
        arrays = self.set_problem(&p, documents, dual, waits)
        with nogil:
            for row in range(p.n_rows):
                if dual[row] != 0:
                    self.take_row(&p, documents, dual, row, strength)
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

    def visit(self, BlockDocuments documents, float[::1] dual, uint8_t[:, ::1] waits, *, C, tolerance, n_iter, seed):
        """Make a pass over a block; its part of the gap is added to `gap`."""
        cdef BinaryProblem p
        cdef double strength = C, wanted = tolerance
        cdef int32_t number = n_iter
        cdef int64_t row, place
        cdef uint8_t* rest = &waits[0, 0] if waits.shape[1] else NULL
        cdef uint8_t* wait = rest + waits.shape[1]
        arrays = self.set_problem(&p, documents, dual, waits)
        p.state = seed
        with nogil:
            if number == 1:  # of these scales
                for row in range(p.n_rows):
                    rest[row] = MAX_WAIT - 1 if dual[row] == 0 and wait[row] > 0 else 0
            for row in range(p.n_rows):
                if rest[row] == 0:
                    p.rows[row].square, p.rows[row].due, p.rows[row].wait = -1, 0, wait[row]
                    self.take_row(&p, documents, dual, row, strength)
                else:
                    rest[row] -= 1
            make_pass(&p, wanted, number)
            for place in range(p.n_order):
                row = p.order[place]
                dual[row], wait[row] = <float> p.dual[row], <uint8_t> p.rows[row].wait
                rest[row] = wait[row]
        self.gap, self.objective = self.gap + p.gap, p.objective

    def measure(self, BlockDocuments documents, float[::1] dual, uint8_t[:, ::1] waits, *, C, tolerance):
        """Add a block's part of the gap at the present weights to `gap`; rows with more than a negligible part are due."""
        cdef BinaryProblem p
        cdef double strength = C, wanted = tolerance
        cdef int64_t row
        arrays = self.set_problem(&p, documents, dual, waits)
        with nogil:
            for row in range(p.n_rows):
                p.rows[row].due = 1
                self.take_row(&p, documents, dual, row, strength)
            set_negligible(&p, wanted)
            add_gaps(&p)
            for row in range(p.n_rows):
                if p.rows[row].due == 0:
                    waits[0, row] = 0
        self.gap += p.gap

    def forget_gap(self):
        """Set the gap to 0, before a pass over all blocks or a measurement."""
        self.gap = 0

    def scores(self, CheckedMatrix matrix, rows):
        """Return x.w of some rows of a block; `_kernel.pyi` has the documentation."""
        cdef BinaryProblem p
        cdef const int64_t[::1] chosen = rows
        cdef int64_t place
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(matrix) or matrix.n_features != self.features.shape[0]:
            raise ValueError("the rows are not rows of the CSR matrix, or it has other features")
        found = np.zeros(len(rows))
        cdef double[::1] to = found
        p.indptr, p.features, p.values, p.weights = &matrix.indptr[0], NULL, NULL, NULL
        if matrix.features.shape[0]:
            p.features, p.values, p.weights = &matrix.features[0], &matrix.values[0], <Feature*> &self.features[0, 0]
        with nogil:
            for place in range(to.shape[0]):
                to[place] = score(&p, chosen[place])
        return found
