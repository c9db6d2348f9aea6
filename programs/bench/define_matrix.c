/* define_matrix.c: products and linear layers as the oracle has them (question.h). */
#include "autograder/oracle/oracle.h"
#include "question.h"

enum { ROWS = 8 };

/* Some rows of C, each the product of one row of A. */
void define_gemm(question *q) {
    const tl_matmul_geom *g = (const tl_matmul_geom *)(const void *)q->number;
    size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
    tl_matmul_geom one = {.m = 1, .n = g->n, .k = g->k, .trans_b = g->trans_b};
    const double *b = question_given(q, "B", 0, k * n);
    const double *from = question_given(q, "A", 0, m * k);
    int pick[ROWS], rows = question_picks(q, g->m, ROWS, pick);
    for (int i = 0; i < rows; i++) {
        size_t row = (size_t)pick[i];
        double *a = question_doubles(q, k), *want = question_doubles(q, n);
        double *scale = question_doubles(q, n);
        for (size_t l = 0; l < k; l++) a[l] = g->trans_a ? from[l * m + row] : from[row * k + l];
        oracle_matmul(want, scale, a, b, &one);
        question_expect(q, "C", row * n, want, scale, n, k);
    }
}

typedef struct sides {
    const tl_linear_geom *g;
    size_t x, w, y;
} sides;

static sides sides_of(const question *q) {
    const tl_linear_geom *g = (const tl_linear_geom *)(const void *)q->number;
    size_t n = (size_t)g->n, in = (size_t)g->in, out = (size_t)g->out;
    return (sides){g, n * in, out * in, n * out};
}

void define_linear_fwd(question *q) {
    sides s = sides_of(q);
    double *want = question_doubles(q, s.y), *scale = question_doubles(q, s.y);
    oracle_linear_fwd(want, scale, question_given(q, "x", 0, s.x), question_given(q, "w", 0, s.w),
                      question_given(q, "b", 0, (size_t)s.g->out), s.g);
    question_expect(q, "y", 0, want, scale, s.y, (size_t)s.g->in);
}

void define_linear_bwd_input(question *q) {
    sides s = sides_of(q);
    double *want = question_doubles(q, s.x), *scale = question_doubles(q, s.x);
    oracle_linear_bwd_input(want, scale, question_given(q, "dy", 0, s.y),
                            question_given(q, "w", 0, s.w), s.g);
    question_expect(q, "dx", 0, want, scale, s.x, (size_t)s.g->out);
}

void define_linear_bwd_weight(question *q) {
    sides s = sides_of(q);
    double *want = question_doubles(q, s.w), *scale = question_doubles(q, s.w);
    oracle_linear_bwd_weight(want, scale, question_given(q, "dy", 0, s.y),
                             question_given(q, "x", 0, s.x), s.g);
    question_expect(q, "dw", 0, want, scale, s.w, (size_t)s.g->n);
}

void define_linear_bwd_bias(question *q) {
    sides s = sides_of(q);
    size_t out = (size_t)s.g->out;
    double *want = question_doubles(q, out), *scale = question_doubles(q, out);
    oracle_linear_bwd_bias(want, scale, question_given(q, "dy", 0, s.y), s.g);
    question_expect(q, "db", 0, want, scale, out, (size_t)s.g->n);
}
