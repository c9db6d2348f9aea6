/* 01_relu.c: rung 1 of pool on cpu: max pooling over 2x2 windows and ReLU in one pass, and ReLU's
 * gradient in place. (tl/fused.h)
 *
 * The byte of a window says where its maximum was, so that backward writes each pixel once and
 * reads a quarter of what int32 places take; a plane is one thread's. */
#include <math.h>
#include <string.h>

#include "../rungs.h"
#include "../vector.h"

/* Elements below which waking other threads costs more than it saves. */
enum { PARALLEL_FROM = 1 << 14 };

/* (sizes of a plane fit an int, as tl_pool2d_check has seen to) */
static tl_status need(size_t planes, int h, int w) {
    TL_NEED(planes >= 1, TL_EINVAL, "pool rung 1: planes is 0, at least 1 is needed");
    TL_NEED(h >= 2, TL_EINVAL, "pool rung 1: h is %d, at least 2 is needed", h);
    TL_NEED(w >= 2, TL_EINVAL, "pool rung 1: w is %d, at least 2 is needed", w);
    return TL_OK;
}

/* What comparing vectors gives: all bits of a lane, or none. */
#ifdef TL_REAL_DOUBLE
typedef int64_t lane_int;
#else
typedef int32_t lane_int;
#endif
typedef lane_int mask __attribute__((vector_size(VEC_BYTES)));
typedef uint8_t codes
    __attribute__((vector_size(VEC_BYTES / sizeof(tl_real)), aligned(1), may_alias));

static inline vec zeros_but(mask m, vec v) { return (vec)((mask)v & m); }
static inline vec choose(mask m, vec yes, vec no) {
    return (vec)(((mask)yes & m) | ((mask)no & ~m));
}

/* A byte for each lane, and back. (gcc 12 takes convertvector apart, number by number) */
#if defined(__AVX2__) && defined(__FMA__) && !defined(TL_REAL_DOUBLE) && !defined(VEC_PLAIN)
static inline void put_codes(uint8_t *to, mask m) {
    __m256i all = (__m256i)m;
    __m128i half = _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    _mm_storel_epi64((void *)to, _mm_packus_epi16(half, half));
}
static inline mask get_codes(const uint8_t *from) {
    return (mask)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)from));
}
#else
static inline void put_codes(uint8_t *to, mask m) {
    *(codes *)to = __builtin_convertvector(m, codes);
}
static inline mask get_codes(const uint8_t *from) {
    return __builtin_convertvector(*(const codes *)from, mask);
}
#endif

/* Two vectors of pixels from `from` on. Of 32 bytes the inner halves change places, which costs
 * nothing on the way: SECOND then takes each number from its own half, by one shuffle instead of
 * two and a blend. */
static inline void load_two(vec *a, vec *b, const tl_real *from) {
#if VEC_BYTES == 32
    typedef tl_real half
        __attribute__((vector_size(VEC_BYTES / 2), aligned(sizeof(tl_real)), may_alias));
    const half *at = (const half *)from;
#ifdef TL_REAL_DOUBLE
    *a = __builtin_shufflevector(at[0], at[2], 0, 1, 2, 3);
    *b = __builtin_shufflevector(at[1], at[3], 0, 1, 2, 3);
#else
    *a = __builtin_shufflevector(at[0], at[2], 0, 1, 2, 3, 4, 5, 6, 7);
    *b = __builtin_shufflevector(at[1], at[3], 0, 1, 2, 3, 4, 5, 6, 7);
#endif
#else
    *a = vec_load(from), *b = vec_load(from + VEC_LANES);
#endif
}

/* Every second of the numbers that load_two has loaded, from `at` on; and a and b lane by lane,
 * from `at` on. */
/* clang-format off */
#if VEC_BYTES == 32 && !defined(TL_REAL_DOUBLE)
#define SECOND(a, b, at) __builtin_shufflevector(a, b, at, at + 2, at + 8, at + 10, \
                                                 at + 4, at + 6, at + 12, at + 14)
#define ZIP(a, b, at) __builtin_shufflevector(a, b, at, at + 8, at + 1, at + 9, \
                                              at + 2, at + 10, at + 3, at + 11)
#elif VEC_BYTES == 32
#define SECOND(a, b, at) __builtin_shufflevector(a, b, at, at + 4, at + 2, at + 6)
#define ZIP(a, b, at) __builtin_shufflevector(a, b, at, at + 4, at + 1, at + 5)
#elif !defined(TL_REAL_DOUBLE)
#define SECOND(a, b, at) __builtin_shufflevector(a, b, at, at + 2, at + 4, at + 6)
#define ZIP(a, b, at) __builtin_shufflevector(a, b, at, at + 4, at + 1, at + 5)
#else
#define SECOND(a, b, at) __builtin_shufflevector(a, b, at, at + 2)
#define ZIP(a, b, at) __builtin_shufflevector(a, b, at, at + 2)
#endif
/* clang-format on */

/* Whether v takes the place of best: the first of equals, and a NaN, stay. */
static bool beats(tl_real v, tl_real best) { return !(v <= best) && !isnan(best); }
static inline mask beat(vec v, vec best) { return ~(v <= best) & (best == best); }

static void pool_rest(tl_real *y, uint8_t *code, const tl_real *top, const tl_real *bottom, int q) {
    for (int i = 0; i < q; i++) {
        const tl_real v[] = {top[2 * i], top[2 * i + 1], bottom[2 * i], bottom[2 * i + 1]};
        tl_real best = v[0];
        int winner = 0;
        for (int e = 1; e < 4; e++)
            if (beats(v[e], best)) best = v[e], winner = e;
        y[i] = best < 0 ? TL_R(0) : best;
        if (code) code[i] = (uint8_t)(best > 0 ? winner : (int)TL_CODE_OFF);
    }
}

static void pool_row(tl_real *y, uint8_t *code, const tl_real *top, const tl_real *bottom, int q) {
    int i = 0;
    for (; i + VEC_LANES <= q; i += VEC_LANES) {
        vec a, b, below[2];
        load_two(&a, &b, top + 2 * i), load_two(&below[0], &below[1], bottom + 2 * i);
        const vec v[] = {SECOND(a, b, 0), SECOND(a, b, 1), SECOND(below[0], below[1], 0),
                         SECOND(below[0], below[1], 1)};
        vec best = v[0];
        mask winner = {0};
        for (int e = 1; e < 4; e++) {
            mask m = beat(v[e], best);
            best = choose(m, v[e], best);
            winner = (winner & ~m) | (m & e);
        }
        vec_store(y + i, zeros_but(~(best < 0), best));
        if (!code) continue;
        mask on = best > 0;
        put_codes(code + i, (winner & on) | (~on & (lane_int)TL_CODE_OFF));
    }
    pool_rest(y + i, code ? code + i : NULL, top + 2 * i, bottom + 2 * i, q - i);
}

static tl_status pool_relu_fwd(tl_ctx *ctx, tl_real *y, uint8_t *code, const tl_real *x,
                               size_t planes, int h, int w) {
    TL_NEED(ctx && y && x, TL_EINVAL, "pool_relu_fwd, rung 1: ctx, y or x is NULL");
    TL_TRY(need(planes, h, w));
    size_t p = (size_t)(h / 2), q = (size_t)(w / 2), pitch = (size_t)w, pixels = (size_t)h * pitch;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(ctx->threads) if (planes * pixels >= PARALLEL_FROM)
    for (size_t i = 0; i < planes; i++)
        for (size_t row = 0; row < p; row++) {
            const tl_real *top = x + i * pixels + 2 * row * pitch;
            size_t at = (i * p + row) * q;
            pool_row(y + at, code ? code + at : NULL, top, top + pitch, w / 2);
        }
    return TL_OK;
}

/* Both rows of a line of windows, w pixels each; one beyond the last window gets 0. */
static void spread_line(tl_real *dx, const tl_real *dy, const uint8_t *code, int w) {
    int i = 0, q = w / 2;
    for (; i + VEC_LANES <= q; i += VEC_LANES) {
        vec d = TL_R(0) + vec_load(dy + i); /* (as a sum that starts with 0: it has no -0) */
        mask winner = get_codes(code + i);
        for (int row = 0; row < 2; row++) {
            tl_real *to = dx + row * w + 2 * i;
            vec left = zeros_but(winner == 2 * row, d), right = zeros_but(winner == 2 * row + 1, d);
            vec_store(to, ZIP(left, right, 0));
            vec_store(to + VEC_LANES, ZIP(left, right, VEC_LANES / 2));
        }
    }
    for (; i < q; i++)
        for (int e = 0; e < 4; e++)
            dx[e / 2 * w + 2 * i + e % 2] = code[i] == e ? TL_R(0) + dy[i] : TL_R(0);
    if (w % 2) dx[w - 1] = dx[2 * w - 1] = 0;
}

static tl_status pool_relu_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const uint8_t *code,
                               size_t planes, int h, int w) {
    TL_NEED(ctx && dx && dy && code, TL_EINVAL,
            "pool_relu_bwd, rung 1: ctx, dx, dy or code is NULL");
    TL_TRY(need(planes, h, w));
    size_t p = (size_t)(h / 2), q = (size_t)(w / 2), rows = (size_t)h, pitch = (size_t)w;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(ctx->threads) if (planes * rows * pitch >= PARALLEL_FROM)
    for (size_t i = 0; i < planes; i++) {
        tl_real *plane = dx + i * rows * pitch;
        for (size_t row = 0; row < p; row++) {
            size_t at = (i * p + row) * q;
            spread_line(plane + 2 * row * pitch, dy + at, code + at, w);
        }
        /* a last odd row is in no window */
        if (h % 2) memset(plane + (rows - 1) * pitch, 0, pitch * sizeof *dx);
    }
    return TL_OK;
}

static tl_status relu_mask(tl_ctx *ctx, tl_real *dy, const tl_real *y, size_t n) {
    TL_NEED(ctx && dy && y, TL_EINVAL, "relu_mask, pool rung 1: ctx, dy or y is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "relu_mask, pool rung 1: n is 0, at least 1 is needed");
    const size_t lanes = (size_t)VEC_LANES, whole = n / lanes * lanes;
#pragma omp parallel for schedule(static) num_threads(ctx->threads) if (n >= PARALLEL_FROM)
    for (size_t i = 0; i < whole; i += lanes)
        vec_store(dy + i, zeros_but(vec_load(y + i) > 0, TL_R(0) + vec_load(dy + i)));
    for (size_t i = whole; i < n; i++) dy[i] = y[i] > 0 ? TL_R(0) + dy[i] : TL_R(0);
    return TL_OK;
}

void tl_rung_pool_relu(tl_backend *ops) {
    ops->pool_relu_fwd = pool_relu_fwd;
    ops->pool_relu_bwd = pool_relu_bwd;
    ops->relu_mask = relu_mask;
}
