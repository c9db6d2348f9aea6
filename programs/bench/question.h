/* question.h: inputs of one operation, and what the oracle says of them: asked of each rung before
 * it is timed.
 *
 * Operations that add products are asked twice. Small whole numbers first: their sums are exact in
 * any order and at any length, so every kernel must give them bit for bit; a lost tail and a wrong
 * mask show. Then numbers between -1 and 1, within the bound by which the labs judge, which says
 * nothing of sums of more than 1,024 terms in float; those are what is timed. The oracle is slow:
 * of large results it defines some images, rows or filters, the first and the last among them. */
#ifndef BENCH_QUESTION_H
#define BENCH_QUESTION_H

#include "programs/bench_rows.h"

enum { EXPECTATIONS = 32, BLOCKS = 256, WRONG_TEXT = 200 };

/* What stands in an array from an element on. */
typedef struct expectation {
    const char *name;
    size_t at, count;
    const double *want, *bound; /* bound NULL: not to be judged beyond being finite */
} expectation;

typedef struct question {
    const bench *b;    /* whose arrays it was made for; all rungs have the same */
    const int *number; /* of the geometry */
    bool whole;
    tl_precision precision; /* what is to come out is of inputs that are rounded to it */
    uint64_t seed;
    void *given[BENCH_ARRAYS]; /* what stands in an array before the run; NULL: poison or scratch */
    expectation expects[EXPECTATIONS];
    int expected;
    void *block[BLOCKS]; /* host memory, freed at the end */
    int blocks;
} question;

/* One operation: what it means. */
typedef struct bench_case {
    const char *row;    /* in tl/ops.def */
    const char *family; /* of shapes.def */
    bool sums;          /* products are added: whole numbers give exact sums */
    void (*define)(question *q);
} bench_case;

/* Draws the inputs and asks the oracle. TL_ENOMEM. */
tl_status question_make(question *q, const bench_case *which, const bench *b, bool whole,
                        uint64_t seed, tl_precision precision);
/* Puts the inputs into b's arrays, poison where results go. `stored`: inputs are stored in the
 * question's precision, as the vendor's library wants them (stored_gemm of tl/backend.h). */
tl_status question_put(const question *q, const bench *b, bool stored);
/* Runs b's row and compares. wrong is "" or says what came out and what was expected; *worst grows
 * to the largest error as a share of its bound. */
tl_status question_ask(const question *q, const bench *b, bool stored, char wrong[WRONG_TEXT],
                       double *worst);
void question_free(question *q);

/* ---- for define ---- */

double *question_doubles(question *q, size_t n);
/* Elements of an input in double, rounded where a precision wants it (tl/precision.h); of a result,
 * what stands there before. */
double *question_given(question *q, const char *name, size_t at, size_t count);
/* The input itself, to be put right: whole probabilities, positions. */
void *question_input(question *q, const char *name);
/* A sum of up to `terms` products, whose absolute values add up to scale; what is there before is
 * added where the operation accumulates. */
void question_expect(question *q, const char *name, size_t at, double *want, double *scale,
                     size_t count, size_t terms);
/* ... and a result that is written over, within `bound`; NULL: exactly. */
void question_expect_within(question *q, const char *name, size_t at, const double *want,
                            double *bound, size_t count);
/* Up to `most` of 0 … n-1 into pick, the first and the last among them; returns how many. */
int question_picks(const question *q, int n, int most, int *pick);
double question_unit(void); /* the roundoff of a result, and the oracle's */

extern const bench_case bench_cases[]; /* cases.c; a row of NULL ends them */

#define BENCH_DEFINE(name) void name(question *q);
BENCH_DEFINE(define_sum)
BENCH_DEFINE(define_sum_rows)
BENCH_DEFINE(define_sum_cols)
BENCH_DEFINE(define_gemm)
BENCH_DEFINE(define_linear_fwd)
BENCH_DEFINE(define_linear_bwd_input)
BENCH_DEFINE(define_linear_bwd_weight)
BENCH_DEFINE(define_linear_bwd_bias)
BENCH_DEFINE(define_conv2d_fwd)
BENCH_DEFINE(define_conv2d_bwd_input)
BENCH_DEFINE(define_conv2d_bwd_weight)
BENCH_DEFINE(define_conv2d_bwd_bias)
BENCH_DEFINE(define_maxpool2d_fwd)
BENCH_DEFINE(define_maxpool2d_bwd)
BENCH_DEFINE(define_softmax_xent_fwd)
BENCH_DEFINE(define_softmax_xent_bwd)
BENCH_DEFINE(define_conv2d_relu_fwd)
BENCH_DEFINE(define_conv2d_relu_bwd_input)
BENCH_DEFINE(define_conv2d_block_fwd)
BENCH_DEFINE(define_conv2d_block_bwd)
BENCH_DEFINE(define_pool_relu_fwd)
BENCH_DEFINE(define_pool_relu_bwd)
BENCH_DEFINE(define_relu_mask)
BENCH_DEFINE(define_linear_block_fwd)
BENCH_DEFINE(define_linear_block_bwd)
BENCH_DEFINE(define_xent_head_fwd)
BENCH_DEFINE(define_xent_head_bwd)
BENCH_DEFINE(define_sgd_step)
BENCH_DEFINE(define_adam_step)
#undef BENCH_DEFINE

#endif
