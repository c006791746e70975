# Exponentials and logarithms with the same bits on each processor: only operations whose rounding IEEE 754 defines.
# The C library has faster versions for some processors, whose last bits differ. See numerics.py, its plain version.

cdef extern from *:
    """
    static inline double nb_of_bits(uint64_t bits) {
        double number;
        memcpy(&number, &bits, sizeof number);
        return number;
    }

    static inline uint64_t nb_bits_of(double number) {
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        return bits;
    }

    static inline double nb_exp(double x) {
        x = x > 710 ? 710 : x < -746 ? -746 : x;
        double shifted = x * 0x1.71547652b82fep+0 + 0x1.8p52;
        double k = shifted - 0x1.8p52;
        double high = x - k * 0x1.62e42feep-1, low = k * 0x1.a39ef35793c76p-33;
        double r = high - low, square = r * r;
        double even = 0x1.555555555553ep-3 + square * (-0x1.6c16c16bebd93p-9 + square * (0x1.1566aaf25de2cp-14
            + square * (-0x1.bbd41c5d26bf1p-20 + square * 0x1.6376972bea4d0p-25)));
        double rest = r - square * even;
        double power = 1 - ((low - (r * rest) / (2 - rest)) - high);
        /* 2^k may be no normal number: it is the product of two, whose biased exponents are halves of k + 2046 */
        uint64_t exponents = nb_bits_of(shifted) + 2046, half = exponents >> 1;
        return power * nb_of_bits(half << 52) * nb_of_bits((exponents - half) << 52);
    }

    static inline double nb_log(double x) {
        double scaled = x < 0x1p-1022 ? x * 0x1p54 : x;
        uint64_t bits = nb_bits_of(scaled) + 0x95f6200000000;
        double f = nb_of_bits((bits & 0xfffffffffffff) + 0x3fe6a09e00000000) - 1;
        double k = nb_of_bits(bits >> 52 | 0x4330000000000000) - (x < 0x1p-1022 ? 0x1p52 + 1077 : 0x1p52 + 1023);
        double s = f / (2 + f), z = s * s, w = z * z, half = 0.5 * f * f;
        double even = w * (0x1.999999997fa04p-2 + w * (0x1.c71c51d8e78afp-3 + w * 0x1.39a09d078c69fp-3));
        double odd = z * (0x1.5555555555593p-1 + w * (0x1.2492494229359p-2 + w * (0x1.7466496cb03dep-3 + w * 0x1.2f112df3e5244p-3)));
        double result = k * 0x1.62e42feep-1 - ((half - (s * (half + (odd + even)) + k * 0x1.a39ef35793c76p-33)) - f);
        return x > 0 && x <= 0x1.fffffffffffffp1023 ? result : x == 0 ? -INFINITY : x > 0 ? x : NAN;
    }

    static inline double nb_log1p(double x) {
        double sum = 1 + x, rest = sum - 1, result = nb_log(sum), factor = x / rest;
        result = rest == x ? result : result * factor;
        return rest == 0 ? x : result;
    }

    static inline double nb_sigmoid(double x) {
        return 1 / (1 + nb_exp(-x));
    }

    static inline double nb_softplus(double x) {  /* log(1 + e^x) */
        return (x > 0 ? x : 0) + nb_log1p(nb_exp(x > 0 ? -x : x));
    }

    /* Versions for processors with wider vectors, chosen when the module is loaded; the same operations, and the same bits. */
    #if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define NB_FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define NB_FOR_EACH_PROCESSOR
    #endif

    NB_FOR_EACH_PROCESSOR
    static void nb_exp_into(const double *restrict numbers, double *restrict result, size_t n) {
        for (size_t i = 0; i < n; i++) result[i] = nb_exp(numbers[i]);
    }

    NB_FOR_EACH_PROCESSOR
    static void nb_log_into(const double *restrict numbers, double *restrict result, size_t n) {
        for (size_t i = 0; i < n; i++) result[i] = nb_log(numbers[i]);
    }

    NB_FOR_EACH_PROCESSOR
    static void nb_log1p_into(const double *restrict numbers, double *restrict result, size_t n) {
        for (size_t i = 0; i < n; i++) result[i] = nb_log1p(numbers[i]);
    }

    static void nb_apply(int function, const double *numbers, double *result, size_t n) {
        function == 0 ? nb_exp_into(numbers, result, n)
            : function == 1 ? nb_log_into(numbers, result, n) : nb_log1p_into(numbers, result, n);
    }
    """
    double nb_log(double) noexcept nogil
    double nb_log1p(double) noexcept nogil
    double nb_sigmoid(double) noexcept nogil
    double nb_softplus(double) noexcept nogil
    void nb_apply(int, const double*, double*, size_t) noexcept nogil


def apply_function(int number, const double[::1] numbers, double[::1] result):
    """Write a function of each number: its exponential, its logarithm, or log(1 + x); see numerics.py."""
    if len(numbers):
        with nogil:
            nb_apply(number, &numbers[0], &result[0], numbers.shape[0])
