# Dual coordinate descent for linear models, compiled: each class against the rest. `one_vs_rest.py` calls it, and
# `one_vs_rest.pxi` holds the passes.


cdef class CheckedMatrix:
    """A CSR matrix of float32 that is checked once; `_kernel.pyi` has the documentation."""

    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] features
    cdef const float[::1] values
    cdef readonly int64_t n_features

    def __init__(self, indptr, features, values, n_features):
        self.indptr = indptr
        self.features = features
        self.values = values
        self.n_features = n_features
        if not len(features) == len(values) or not is_indptr(self.indptr, len(features)):
            raise ValueError("the arrays are not a CSR matrix")
        if len(features) and not 0 <= features.min() <= features.max() < n_features:
            raise ValueError("a column of the matrix is out of range")

    def __len__(self):
        return self.indptr.shape[0] - 1


@cython.final
cdef class FittedDocuments:
    """The documents of a block in the problems of one fold; `_kernel.pyi` has the documentation."""

    cdef readonly CheckedMatrix matrix
    cdef const double[::1] shares
    cdef const float[:, ::1] squares

    def __init__(self, CheckedMatrix matrix, shares, squares):
        self.matrix = matrix
        self.shares = shares
        self.squares = squares
        if not len(shares) == self.squares.shape[1] == len(matrix) or len(squares) not in (1, 3):
            raise ValueError("there must be a share, and one or three sums of squares for each row")


@cython.final
cdef class ClassFit:
    """The solver of a class against the rest; `_kernel.pyi` has the documentation."""

    cdef float[:, ::1] features  # weight and scale of each
    cdef readonly double gap, objective
    cdef double offset
    cdef int64_t n_fitted
    cdef bint is_logistic

    def __init__(self, features, *, offset, n_fitted, is_logistic):
        self.features = features
        self.offset = offset
        self.n_fitted = n_fitted
        self.is_logistic = is_logistic
        if self.features.shape[1] != 2:
            raise ValueError("each feature has a weight and a scale")

    cdef int set_matrix(self, BinaryProblem* p, CheckedMatrix matrix) except -1:
        if matrix.n_features != self.features.shape[0]:
            raise ValueError("there must be a weight for each feature")
        p.indptr = &matrix.indptr[0]
        p.n_rows = len(matrix)
        p.n_features = matrix.n_features
        p.features = &matrix.features[0] if matrix.features.shape[0] else NULL
        p.values = &matrix.values[0] if matrix.values.shape[0] else NULL
        p.weights = <Feature*> &self.features[0, 0] if matrix.n_features else NULL
        return 0

    cdef int set_problem(self, BinaryProblem* p, FittedDocuments documents, Row[::1] rows, double C) except -1:
        """Point to the arrays of a block, which are checked."""
        self.set_matrix(p, documents.matrix)
        if rows.shape[0] != p.n_rows:
            raise ValueError("there must be a state for each row")
        if p.n_rows:
            p.shares = &documents.shares[0]
            p.squares = &documents.squares[0, 0]
            p.rows = &rows[0]
        p.has_ratios = documents.squares.shape[0] > 1
        p.offset = self.offset
        p.C = C
        p.is_logistic = self.is_logistic
        p.n_fitted = self.n_fitted
        p.objective = self.objective
        p.gap = self.gap
        return 0

    def sum_diagonals(self, FittedDocuments documents, rows):
        """Return the sum of the diagonals of all rows; `_kernel.pyi` has the documentation."""
        cdef BinaryProblem p
        cdef double total = 0
        cdef int64_t row
        self.set_problem(&p, documents, rows, 1)
        for row in range(p.n_rows):
            total += diagonal(&p, row)
        return total

    def begin(self, *, is_adding):
        """Begin to visit all blocks; all weights are 0 before they are added up."""
        self.gap = 0
        if is_adding:
            self.objective = 0
            np.asarray(self.features)[:, 0] = 0

    def add(self, FittedDocuments documents, rows, *, C):
        """Add what the dual variables of a block contribute to the weights and to the dual objective."""
        cdef BinaryProblem p
        cdef int64_t row
        self.set_problem(&p, documents, rows, C)
        with nogil:
            for row in range(p.n_rows):
                add_row(&p, row)
        self.objective = p.objective

    def end(self):
        """End to add: subtract the regularization from the dual objective."""
        cdef int64_t feature
        cdef double total = 0, weight
        with nogil:
            for feature in range(self.features.shape[0]):
                weight = self.features[feature, 0]
                if weight != 0:
                    total += weight * weight / self.features[feature, 1]
        self.objective -= total / 2

    def visit(self, FittedDocuments documents, Row[::1] rows, *, C, tolerance, n_iter, seed):
        """Make a pass over a block; its part of the gap is added to `gap`."""
        cdef BinaryProblem p
        cdef double wanted = tolerance
        cdef int32_t number = n_iter
        cdef int64_t row
        cdef int32_t[::1] order = np.empty(len(rows) + 1, dtype=np.int32)
        self.set_problem(&p, documents, rows, C)
        p.order = &order[0]
        p.state = seed
        with nogil:
            if number == 1:  # of these scales
                for row in range(p.n_rows):
                    rows[row].square = -1
                    rows[row].wait = 0
                    rows[row].due = MAX_WAIT if rows[row].dual == 0 and rows[row].is_far else 0
            set_negligible(&p, wanted)
            make_pass(&p, number)
        self.gap = p.gap
        self.objective = p.objective

    def measure(self, FittedDocuments documents, rows, *, C, tolerance):
        """Add a block's part of the gap at the present weights to `gap`; rows with more than a negligible part are due."""
        cdef BinaryProblem p
        cdef double wanted = tolerance
        self.set_problem(&p, documents, rows, C)
        with nogil:
            set_negligible(&p, wanted)
            add_gaps(&p)
        self.gap = p.gap

    def scores(self, CheckedMatrix matrix, rows):
        """Return x.w of some rows of a block; `_kernel.pyi` has the documentation."""
        cdef BinaryProblem p
        cdef const int64_t[::1] chosen = rows
        cdef int64_t place
        self.set_matrix(&p, matrix)
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(matrix):
            raise ValueError("the rows are not rows of the CSR matrix")
        found = np.zeros(len(rows))
        cdef double[::1] to = found
        with nogil:
            for place in range(to.shape[0]):
                to[place] = score(&p, chosen[place])
        return found
