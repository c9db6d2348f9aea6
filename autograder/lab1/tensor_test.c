/* tensor_test.c: making, viewing, indexing and copying tensors. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "cases.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NDIM, DIM, SIZE = 5, OWNER, AS_GIVEN, FACTS };

/* The 8 numbers that the call brings back of a tensor. */
static void expect_facts(claim *c, const int32_t got[FACTS], int ndim, const int dim[],
                         bool owner) {
    int32_t want[FACTS] = {[NDIM] = ndim, [SIZE] = 1, [OWNER] = owner, [AS_GIVEN] = 1};
    for (int i = 0; i < 4; i++) {
        want[DIM + i] = i < ndim ? dim[i] : 1; /* entries from ndim on are 1 */
        want[SIZE] *= want[DIM + i];
    }
    expect_ints(c, "ndim, dim[4], size, owner, as given", got, want, SHAPE(FACTS));
}

/* Its bytes are counted by the allocator: a forgotten free is a fault of the call. So is a struct
 * that stays where there is no memory for the elements. */
CLAIM(lab1_tensor, a_new_tensor_has_its_shape_and_owns_its_memory) {
    static const int shapes[][4] = {{1}, {7}, {3, 5}, {2, 3, 4}, {2, 3, 4, 5}, {1, 1, 1, 1}};
    static const int ndim[] = {1, 1, 2, 3, 4, 4};
    call_report r;
    FOR_TARGETS (t)
        for (int s = 0; s < 6; s++) {
            int32_t fact[FACTS];
            call_target failing = steps_failing(t);
            claim_case(c, t, "tl_tensor_new of %d dimensions", ndim[s]);
            call_tensor_new(&failing, &r, fact, ndim[s], shapes[s]);
            expect_ok(c, &r);
            expect_facts(c, fact, ndim[s], shapes[s], true);
        }
}

/* Also five dimensions, none, a product of sizes beyond 64 bits, and one whose elements fit 64 bits
 * and whose bytes do not: 2^62 + 2^20. */
CLAIM(lab1_tensor, a_bad_shape_is_refused_and_leaves_nothing) {
    static const struct {
        int ndim, dim[5];
    } bad[] = {{0, {1}},
               {-1, {1}},
               {5, {1, 1, 1, 1, 1}},
               {1, {0}},
               {2, {3, -1}},
               {2, {-3, -4}}, /* 12 elements, if the product alone is looked at */
               {3, {2, 0, 2}},
               {4, {1, 1, 1, 0}},
               {1, {INT_MIN}},
               {4, {INT_MAX, INT_MAX, INT_MAX, INT_MAX}},
               {4, {65536, 65536, 65536, 65536}}, /* 2^64: 0, if nobody looks before it wraps */
               {3, {1048576, 213005, 20647621}}};
    call_report r;
    FOR_TARGETS (t)
        for (size_t s = 0; s < sizeof bad / sizeof *bad; s++) {
            int32_t fact[FACTS];
            char sizes[80];
            int end = snprintf(sizes, sizeof sizes, "%d", bad[s].dim[0]);
            for (int i = 1; i < bad[s].ndim; i++)
                end += snprintf(sizes + end, sizeof sizes - (size_t)end, ", %d", bad[s].dim[i]);
            bool bytes = bad[s].dim[0] == 1048576;
            claim_case(c, t, "tl_tensor_new with ndim %d and sizes %s%s", bad[s].ndim, sizes,
                       bytes ? " (2^62 + 2^20 elements)" : "");
            claim_trait(c, "bytes", bytes);
            bool huge = bad[s].dim[0] >= 65536;
            claim_trait(c, "large", huge);
            claim_trait(c, "wraps_to_zero", bad[s].dim[0] == 65536);
            call_tensor_new(t, &r, fact, bad[s].ndim, bad[s].dim);
            /* what does not fit a size_t is refused as a size or as memory */
            expect_status(c, &r, huge && r.status == TL_ENOMEM ? TL_ENOMEM : TL_EINVAL);
        }
}

CLAIM(lab1_tensor, a_view_shares_elements_under_another_shape) {
    const int from[4] = {2, 3, 4, 5}, flat[] = {120}, rows[] = {6, 20}, back[] = {5, 4, 6};
    const struct {
        int ndim;
        const int *dim;
    } to[] = {{1, flat}, {2, rows}, {3, back}, {4, from}};
    call_report r;
    FOR_TARGETS (t)
        for (int s = 0; s < 4; s++) {
            int32_t fact[FACTS];
            call_target failing = steps_failing(t);
            claim_case(c, t, "view of [2,3,4,5] with %d dimensions", to[s].ndim);
            call_tensor_view(&failing, &r, fact, 4, from, to[s].ndim, to[s].dim);
            expect_ok(c, &r);
            expect_facts(c, fact, to[s].ndim, to[s].dim, false);
        }
}

CLAIM(lab1_tensor, a_view_of_another_size_is_refused) {
    const int from[] = {2, 6}, more[] = {13}, less[] = {11}, twice[] = {2, 2, 6}, none[] = {12, 0};
    const int negative[] = {-2, -6}, five[] = {2, 1, 1, 1, 6};
    const int wraps[] = {4, (1 << 30) + 3}; /* 2^32 + 12 elements, which an int takes for 12 */
    const struct {
        int ndim;
        const int *dim;
        tl_status status;
    } to[] = {{1, more, TL_ESHAPE}, {1, less, TL_ESHAPE},     {3, twice, TL_ESHAPE},
              {2, none, TL_EINVAL}, {2, negative, TL_EINVAL}, {5, five, TL_EINVAL},
              {0, five, TL_EINVAL}, {2, wraps, TL_ESHAPE}};
    call_report r;
    FOR_TARGETS (t)
        for (size_t s = 0; s < sizeof to / sizeof *to; s++) {
            int32_t fact[FACTS];
            claim_case(c, t, "view of [2,6] with %d dimensions, first %d", to[s].ndim,
                       to[s].dim[0]);
            claim_trait(c, "wraps_to_int", to[s].dim == wraps);
            call_tensor_view(t, &r, fact, 2, from, to[s].ndim, to[s].dim);
            /* a bad size may be named as that or as another number of elements, and so may a number
             * that is too large */
            bool either = (to[s].status == TL_EINVAL && r.status == TL_ESHAPE) ||
                          (to[s].dim == wraps && r.status == TL_EINVAL);
            expect_status(c, &r, either ? r.status : to[s].status);
            if (r.status == TL_ESHAPE)
                expect_true(c, strstr(r.error, "[2,6]") != NULL, "the message names no shape: %s",
                            r.error);
        }
}

/* "[3,4]", or with other brackets */
static const char *shape_said(char to[40], int ndim, const int dim[], const char brackets[2]) {
    int used = snprintf(to, 40, "%c%d", brackets[0], dim[0]);
    for (int i = 1; i < ndim; i++) used += snprintf(to + used, 40 - (size_t)used, ",%d", dim[i]);
    snprintf(to + used, 40 - (size_t)used, "%c", brackets[1]);
    return to;
}

void expect_offset(claim *c, const call_target *t, int ndim, const int dim[], const int index[]) {
    char at[40], shape[40];
    call_report r;
    size_t want = 0, step = 1, got;
    for (int i = ndim - 1; i >= 0; i--) {
        want += (size_t)index[i] * step;
        step *= (size_t)dim[i];
    }
    claim_case(c, t, "offset of %s in %s", shape_said(at, ndim, index, "()"),
               shape_said(shape, ndim, dim, "[]"));
    claim_trait(c, "large", want > INT_MAX);
    call_tensor_offset(t, &r, &got, ndim, dim, index);
    expect_ok(c, &r);
    expect_number(c, "offset", (double)got, (double)want, 0);
}

/* (n*C + c)*H + … in size_t: an int product is negative from 2^31 elements on. */
CLAIM(lab1_tensor, offsets_are_row_major_and_do_not_overflow) {
    const int dim[4] = {3, 4, 5, 6}, plane[2] = {100000, 100000}, last[2] = {99999, 99999};
    FOR_TARGETS (t) {
        for (int i = 0; i < 3 * 4 * 5 * 6; i++) {
            const int index[4] = {i / 120, i / 30 % 4, i / 6 % 5, i % 6};
            expect_offset(c, t, 4, dim, index);
        }
        expect_offset(c, t, 2, plane, last);
    }
}

/* Equal sizes are not equal shapes, and a missing dimension is not a dimension of 1. */
void expect_same_shape(claim *c, const call_target *t, int ndim_a, const int a[], int ndim_b,
                       const int b[]) {
    size_t shared = (size_t)(ndim_a < ndim_b ? ndim_a : ndim_b);
    bool alike = memcmp(a, b, shared * sizeof *a) == 0;
    char said_a[40], said_b[40];
    int32_t same, want = ndim_a == ndim_b && alike;
    call_report r;
    claim_case(c, t, "tl_tensor_same_shape of %s and %s", shape_said(said_a, ndim_a, a, "[]"),
               shape_said(said_b, ndim_b, b, "[]"));
    claim_trait(c, "ndim_alone", ndim_a != ndim_b && alike);
    call_tensor_same_shape(t, &r, &same, ndim_a, a, ndim_b, b);
    expect_ok(c, &r);
    expect_ints(c, "same", &same, &want, SHAPE(1));
}

CLAIM(lab1_tensor, same_shape_compares_every_dimension) {
    static const struct {
        int ndim_a, a[4], ndim_b, b[4];
    } pair[] = {{2, {3, 4}, 2, {3, 4}},
                {2, {3, 4}, 2, {4, 3}},
                {2, {3, 4}, 1, {12}},
                {1, {3}, 2, {3, 1}},
                {4, {2, 3, 4, 5}, 4, {2, 3, 4, 5}},
                {4, {2, 3, 4, 5}, 4, {2, 3, 4, 6}},
                {3, {1, 1, 1}, 4, {1, 1, 1, 1}}};
    FOR_TARGETS (t)
        for (size_t s = 0; s < sizeof pair / sizeof *pair; s++)
            expect_same_shape(c, t, pair[s].ndim_a, pair[s].a, pair[s].ndim_b, pair[s].b);
}

CLAIM(lab1_tensor, values_survive_the_way_in_and_out) {
    static const int shapes[][4] = {{1}, {37}, {5, 7}, {3, 4, 5}, {2, 3, 5, 7}};
    static const int ndim[] = {1, 1, 2, 3, 4};
    call_report r;
    FOR_TARGETS (t)
        for (int s = 0; s < 5; s++) {
            size_t n = 1;
            for (int i = 0; i < ndim[s]; i++) n *= (size_t)shapes[s][i];
            tl_real *in = draw_reals(c, n), *out = reals(c, n);
            call_target failing = steps_failing(t);
            claim_case(c, t, "from_host and to_host of %zu elements", n);
            call_tensor_copy(&failing, &r, out, in, ndim[s], shapes[s]);
            expect_ok(c, &r);
            expect_equal(c, "tensor", out, widen(c, in, n), SHAPE((int)n));
        }
}
