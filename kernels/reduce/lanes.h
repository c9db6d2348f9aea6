/* lanes.h: pieces of sums in vectors: rung 2 of reduce on cpu, and what rung 3 shares out. */
#ifndef REDUCE_LANES_H
#define REDUCE_LANES_H

#include "kernels/reduce/sums.h"
#include "kernels/vector.h"

enum {
    SUM_VECTORS = 8,                     /* chains of additions: two a cycle, four cycles each */
    SUM_LANES = SUM_VECTORS * VEC_LANES, /* numbers of a round */
    SUM_PIECE = 1 << 14,                 /* terms of a piece: a lane has few enough of them */
    COLUMNS = SUM_LANES,                 /* sums side by side that one round adds a row of */
    COLUMN_PIECE = 1024,
};

/* n numbers that lie side by side. */
static inline tl_real add_lanes(const tl_real *x, size_t n) {
    vec sum[SUM_VECTORS] = {{0}};
    size_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES)
        for (int v = 0; v < SUM_VECTORS; v++) sum[v] += vec_load(x + i + (size_t)(v * VEC_LANES));
    for (int half = SUM_VECTORS / 2; half > 0; half /= 2)
        for (int v = 0; v < half; v++) sum[v] += sum[v + half];
    tl_real lane[VEC_LANES], total = 0;
    vec_store(lane, sum[0]);
    for (int l = 0; l < VEC_LANES; l++) total += lane[l];
    for (; i < n; i++) total += x[i]; /* fewer than a round */
    return total;
}

/* Sum k where its terms are neighbours, piece by piece. */
static inline tl_real add_row(const sums *s, size_t k) {
    tl_real sum = 0;
    for (size_t o = 0; o < s->outer; o++) {
        const tl_real *x = s->x + (o * s->kept + k) * s->inner;
        for (size_t i = 0; i < s->inner; i += SUM_PIECE)
            sum += add_lanes(x + i, s->inner - i < SUM_PIECE ? s->inner - i : SUM_PIECE);
    }
    return sum;
}

/* Sums k … k + width - 1 of columns (inner is 1), row by row. */
static inline void add_columns(const sums *s, size_t k, size_t width) {
    tl_real total[COLUMNS] = {0};
    for (size_t first = 0; first < s->outer; first += COLUMN_PIECE) {
        size_t rows = s->outer - first < COLUMN_PIECE ? s->outer - first : COLUMN_PIECE;
        tl_real piece[COLUMNS] = {0};
        for (size_t o = first; o < first + rows; o++) {
            const tl_real *x = s->x + o * s->kept + k;
            for (size_t j = 0; j < width; j++) piece[j] += x[j];
        }
        for (size_t j = 0; j < width; j++) total[j] += piece[j];
    }
    for (size_t j = 0; j < width; j++) sums_put(s, k + j, total[j]);
}

#endif
