# The loops over lanes: `one_vs_rest.pxd` says what lanes are. The numbers of all lanes for one feature are neighbors.

from libc.stdint cimport int32_t, int64_t


cdef extern from *:
    """
    #include <stdint.h>

    /* The loops over lanes, for the vector instructions of the machine. All versions give the same sums: a lane's terms
       are added one after the other, and nothing fuses multiplication and addition (-ffp-contract=off). */
    #if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && (__GNUC__ >= 9 || __clang_major__ >= 17)
    #define NB_VERSIONS __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define NB_VERSIONS
    #endif
    #define NB_INLINE static inline __attribute__((always_inline))
    #define NB_AHEAD 16

    NB_INLINE void nb_score_width(const int32_t *features, const float *values, int64_t count, const double *weights,
                                  double *scores, const int width) {
        double sums[16] = {0};
        for (int64_t entry = 0; entry < count; entry++) {
            if (entry + NB_AHEAD < count) {
                __builtin_prefetch(weights + (int64_t)features[entry + NB_AHEAD] * width);
                if (width > 8)
                    __builtin_prefetch(weights + (int64_t)features[entry + NB_AHEAD] * width + 8);
            }
            const double *own = weights + (int64_t)features[entry] * width;
            double value = values[entry];
            for (int lane = 0; lane < width; lane++)
                sums[lane] += value * own[lane];
        }
        for (int lane = 0; lane < width; lane++)
            scores[lane] = sums[lane];
    }

    NB_INLINE void nb_update_width(const int32_t *features, const float *values, int64_t count, const float *scales,
                                   const double *steps, double *restrict weights, const int width) {
        for (int64_t entry = 0; entry < count; entry++) {
            if (entry + NB_AHEAD < count)
                __builtin_prefetch(scales + (int64_t)features[entry + NB_AHEAD] * width);
            const float *scale = scales + (int64_t)features[entry] * width;
            double *own = weights + (int64_t)features[entry] * width, value = values[entry];
            for (int lane = 0; lane < width; lane++)
                own[lane] += value * steps[lane] * scale[lane];
        }
    }

    NB_INLINE void nb_square_width(const int32_t *features, const float *values, int64_t count, const float *scales,
                                   float *squares, const int width) {
        float sums[16] = {0};
        for (int64_t entry = 0; entry < count; entry++) {
            const float *scale = scales + (int64_t)features[entry] * width;
            float square = values[entry] * values[entry];
            for (int lane = 0; lane < width; lane++)
                sums[lane] += square * scale[lane];
        }
        for (int lane = 0; lane < width; lane++)
            squares[lane] += sums[lane];
    }

    #define NB_BY_WIDTH(function, ...) \\
        switch (width) { \\
            case 1: function(__VA_ARGS__, 1); break; \\
            case 4: function(__VA_ARGS__, 4); break; \\
            case 8: function(__VA_ARGS__, 8); break; \\
            case 12: function(__VA_ARGS__, 12); break; \\
            default: function(__VA_ARGS__, 16); \\
        }

    NB_VERSIONS static void nb_score_lanes(const int32_t *features, const float *values, int64_t count,
                                           const double *weights, double *scores, int width) {
        NB_BY_WIDTH(nb_score_width, features, values, count, weights, scores)
    }

    NB_VERSIONS static void nb_update_lanes(const int32_t *features, const float *values, int64_t count,
                                            const float *scales, const double *steps, double *weights, int width) {
        NB_BY_WIDTH(nb_update_width, features, values, count, scales, steps, weights)
    }

    NB_VERSIONS static void nb_square_lanes(const int32_t *features, const float *values, int64_t count,
                                            const float *scales, float *squares, int width) {
        NB_BY_WIDTH(nb_square_width, features, values, count, scales, squares)
    }
    """
    # scores, (width,) = x.w
    void nb_score_lanes(const int32_t* features, const float* values, int64_t count, const double* weights, double* scores, int width) noexcept nogil
    # weights, (n_features, width), += x steps scales
    void nb_update_lanes(const int32_t* features, const float* values, int64_t count, const float* scales, const double* steps, double* weights, int width) noexcept nogil
    # squares, (width,), += sum of x^2 scales
    void nb_square_lanes(const int32_t* features, const float* values, int64_t count, const float* scales, float* squares, int width) noexcept nogil
