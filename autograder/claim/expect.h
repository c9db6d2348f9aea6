/* expect.h: comparisons; a failure ends the claim, or in grading its case, with a message that a
 * reader can act on. */
#ifndef TESTS_EXPECT_H
#define TESTS_EXPECT_H

#include "claim.h"

/* Shape of an array, for places in messages: SHAPE(3, 4), or with the letters of its axes
 * AXES("nchw", n, c, h, w), from which patterns in the batch or in a channel are recognised. */
typedef struct expect_shape {
    int ndim, dim[4];
    const char *axes; /* NULL: no names */
} expect_shape;
#define AXES(letters, ...)                                                                         \
    ((expect_shape){(int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}, (letters)})
#define SHAPE(...) AXES(NULL, __VA_ARGS__)

/* The call returned TL_OK and touched nothing that it must not touch. */
void expect_ok(claim *c, const call_report *r);
/* It failed with this status, left a line, and did no other harm. */
void expect_status(claim *c, const call_report *r, tl_status status);

/* A call with a bad argument was refused: TL_EINVAL and a line. Whatever else it did, a crash as
 * well, is one kind of failure, "not_refused". The case says which argument. */
void expect_refusal(claim *c, const call_report *r);

/* Every |got - want| <= bound, element by element; NaN fails. */
void expect_close(claim *c, const char *name, const tl_real *got, const double *want,
                  const double *bound, expect_shape shape);
/* The same of an array that is added to: `before` is what it held when the call started. */
void expect_added(claim *c, const char *name, const tl_real *got, const tl_real *before,
                  const double *want, const double *bound, expect_shape shape);
/* Equal numbers (0 equals -0, NaN equals NaN): copies, and what is rounded once. */
void expect_equal(claim *c, const char *name, const tl_real *got, const double *want,
                  expect_shape shape);
void expect_same_bits(claim *c, const char *name, const tl_real *a, const tl_real *b,
                      expect_shape shape);
void expect_ints(claim *c, const char *name, const int32_t *got, const int32_t *want,
                 expect_shape shape);
/* Numbers that are double in every build, looked at like an array. */
void expect_numbers(claim *c, const char *name, const double *got, const double *want,
                    const double *bound, int n);
/* One number against its bound. */
void expect_number(claim *c, const char *name, double got, double want, double bound);
/* A sample moment against its expectation: chance alone moves it, so it does not count as rounding.
 */
void expect_chance(claim *c, const char *name, double got, double want, double allowed);
/* A fact; the message follows. */
__attribute__((format(printf, 3, 4))) void expect_true(claim *c, bool holds, const char *format,
                                                       ...);

/* Notes whether the results of the same formula on coarsened inputs break the bound somewhere. Each
 * claim that uses it needs at least one case in which they do. */
void expect_sharp(claim *c, const double *coarse, const double *want, const double *bound,
                  size_t n);

#endif
