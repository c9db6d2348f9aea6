/* operation_fixture.h: every operation of tl/ops.def as data, with example arguments, and a call of
 * it on a device: what suites about the arguments of all operations need.
 *
 * A new row of known geometry is there without a line here, one of a geometry of its own as soon as
 * that stands in OF and in the examples. */
#ifndef OPERATION_FIXTURE_H
#define OPERATION_FIXTURE_H

#include "autograder/claim/claim.h"
#include "autograder/claim/expect.h"

#include <ctype.h>
#include <string.h>

#include "tl/device.h"

/* ---- example arguments ---- */

/* One value for each type of a VALUE, one struct for each type of a GEOM. */
typedef struct example {
    size_t size;
    tl_real real;
    int count;
    bool flag;
    const char *spoilt; /* the VALUE of this name is `number`; NULL: none */
    double number;
    tl_matmul_geom matmul;
    tl_conv2d_geom conv2d;
    tl_pool2d_geom pool2d;
    tl_linear_geom linear;
    tl_batchnorm_geom batchnorm;
    tl_dropout_geom dropout;
    tl_sgd_options sgd;
    tl_adam_options adam;
    tl_device_split split;
    tl_batch_geom batch;
    tl_conv3x3_geom conv3x3;
    tl_conv2d_block block;
} example;

/* The example's struct of a type, NULL if it has none. */
#define OF(type)                                                                                   \
    _Generic((type *)NULL, tl_matmul_geom *                                                        \
             : (const void *)&e->matmul, tl_conv2d_geom *                                          \
             : (const void *)&e->conv2d, tl_pool2d_geom *                                          \
             : (const void *)&e->pool2d, tl_linear_geom *                                          \
             : (const void *)&e->linear, tl_batchnorm_geom *                                       \
             : (const void *)&e->batchnorm, tl_dropout_geom *                                      \
             : (const void *)&e->dropout, tl_sgd_options *                                         \
             : (const void *)&e->sgd, tl_adam_options *                                            \
             : (const void *)&e->adam, tl_device_split *                                           \
             : (const void *)&e->split, tl_batch_geom *                                            \
             : (const void *)&e->batch, tl_conv3x3_geom *                                          \
             : (const void *)&e->conv3x3, tl_conv2d_block *                                        \
             : (const void *)&e->block, default                                                    \
             : NULL)

/* A VALUE: that of its type, or what it was spoilt to. */
#define VALUE_OF(type, name)                                                                       \
    (e->spoilt && strcmp(e->spoilt, #name) == 0 ? (type)e->number                                  \
                                                : _Generic((type)0, size_t                         \
                                                           : e->size, int                          \
                                                           : e->count, bool                        \
                                                           : e->flag, default                      \
                                                           : e->real))

/* Sizes that vectors divide, so that kernels which load several elements at once do so: rows of 8
 * pixels, an inner dimension of 516, which the linear rung cuts into pieces. And sizes that none
 * divides, with everything in the other mode. */
enum { EXAMPLES = 2 };
static const example examples[EXAMPLES] = {
    {.size = 256,
     .real = TL_R(0.5),
     .count = 8,
     .matmul = {.m = 24, .n = 32, .k = 16},
     .conv2d = {2, 4, 8, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},
     .pool2d = {2, 3, 8, 8, 2, 2, 2, 2, 0, 0, 0, 0},
     .linear = {8, 516, 72},
     .batchnorm = {4, 3, 16, 1e-5, 0.1},
     .dropout = {256, 0.25, 1},
     .sgd = {0.9, 0.01, 1},
     .adam = {0.9, 0.999, 1e-8, 0.01},
     .split = {.count = 6, .c = 3, .h = 8, .w = 8, .classes = 8},
     .batch = {6, 1, 1, 2}, /* the whole split: its size in ops.def is what a batch reads */
     .conv3x3 = {2, 3, 8, 8, 32, 0},
     .block = {{2, 4, 8, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0}, true}},
    {.size = 131,
     .real = -3,
     .count = 71,
     .flag = true,
     .matmul = {.m = 17, .n = 29, .k = 13, .trans_a = 1, .trans_b = 1, .accumulate = 1},
     .conv2d = {3, 2, 7, 9, 5, 3, 2, 2, 1, 0, 1, 1, 2, 0, 0},
     .pool2d = {1, 2, 7, 9, 3, 2, 2, 1, 1, 0, 0, 0},
     .linear = {5, 33, 7},
     .batchnorm = {3, 5, 7, 1e-3, 0.5},
     .dropout = {131, 0.5, 0},
     .sgd = {0.5, 0, 0},
     .adam = {0.5, 0.9, 1e-3, 0},
     .split = {.count = 5, .c = 1, .h = 7, .w = 9, .classes = 70},
     .batch = {5, 0, 0, 0},
     .conv3x3 = {1, 2, 9, 5, 7, 0},
     .block = {{3, 3, 7, 6, 5, 3, 3, 1, 1, 2, 2, 1, 1, 0, 0}, false}},
};

static inline example checked(claim *c, int i) {
    example e = examples[i];
    if (tl_conv2d_check(&e.conv2d) || tl_pool2d_check(&e.pool2d) ||
        tl_conv2d_check(&e.block.conv) || tl_linear_check(&e.linear) ||
        tl_matmul_check(&e.matmul) || tl_batchnorm_check(&e.batchnorm))
        claim_fail(c, "example %d: %s", i, tl_error());
    return e;
}

/* ---- rows of ops.def as data ---- */

typedef enum element { REAL, INT32, BYTE, STEP, SUMS, NOTHING } element;
#define ELEMENT_tl_real        REAL
#define ELEMENT_int32_t        INT32
#define ELEMENT_uint8_t        BYTE
#define ELEMENT_tl_step        STEP
#define ELEMENT_tl_metric_sums SUMS

/* A pointer of the call: an array, scratch (of no content and no element) or a struct of options,
 * whose value stands in the example. */
typedef struct argument {
    const char *name;
    element element;
    size_t bytes, aligned;
    bool optional;
    const void *options;
} argument;

enum { MOST = 12 };
typedef struct operation {
    const char *name;
    int (*describe)(argument a[MOST], const example *e, size_t column_bytes);
    bool (*has)(const tl_backend *ops);
    tl_status (*run)(const tl_backend *ops, tl_ctx *ctx, void *const p[MOST], const example *e);
} operation;

#define KNOWN(kind, ...) KNOWN_##kind(__VA_ARGS__)
#define KNOWN_IN(...)
#define KNOWN_OUT(...)
#define KNOWN_INOUT(...)
#define KNOWN_INOUT_UNLESS(...)
#define KNOWN_WORK(...)
#define KNOWN_VIA(...)
#define KNOWN_VALUE(type, name)                                                                    \
    const type name = VALUE_OF(type, name);                                                        \
    (void)name;
#define KNOWN_GEOM(type, name)                                                                     \
    const type *name = OF(type);                                                                   \
    (void)name;

/* Whether the examples have every geometry of a row. */
#define HAS(kind, ...) HAS_##kind(__VA_ARGS__)
#define HAS_IN(...)
#define HAS_OUT(...)
#define HAS_INOUT(...)
#define HAS_INOUT_UNLESS(...)
#define HAS_WORK(...)
#define HAS_VIA(...)
#define HAS_VALUE(...)
#define HAS_GEOM(type, name) &&OF(type) != NULL

/* of structs the alignment of their widest member */
#define ALIGNED(type)                                                                              \
    (ELEMENT_##type == STEP || ELEMENT_##type == SUMS ? sizeof(uint64_t) : sizeof(type))
#define ARRAY(type, name, count, optional)                                                         \
    a[at++] = (argument){#name,         ELEMENT_##type,      (size_t)(count) * sizeof(type),       \
                         ALIGNED(type), sizeof optional > 1, NULL};
#define NO_ARRAY(name, size, options) a[at++] = (argument){name, NOTHING, size, 0, false, options};

#define ENTRY(kind, ...)                                  ENTRY_##kind(__VA_ARGS__)
#define ENTRY_IN(type, name, count, ...)                  ARRAY(type, name, count, #__VA_ARGS__)
#define ENTRY_OUT                                         ENTRY_IN
#define ENTRY_INOUT                                       ENTRY_IN
#define ENTRY_INOUT_UNLESS(type, name, count, if_so, ...) ARRAY(type, name, count, #__VA_ARGS__)
#define ENTRY_VIA                                         ENTRY_IN
#define ENTRY_WORK(name, size)                            NO_ARRAY(#name, size, NULL)
#define ENTRY_VALUE(type, name)
#define ENTRY_GEOM(type, name) NO_ARRAY(#name, sizeof(type), name)

#define TL_COLUMN_BYTES column_bytes
#define DESCRIBE(op, lab, flops, ...)                                                              \
    static int describe_##op(argument a[MOST], const example *e, size_t column_bytes) {            \
        int at = 0;                                                                                \
        (void)column_bytes;                                                                        \
        TL_EACH(KNOWN, __VA_ARGS__)                                                                \
        TL_EACH(ENTRY, __VA_ARGS__)                                                                \
        return at;                                                                                 \
    }                                                                                              \
    static bool has_##op(const tl_backend *ops) {                                                  \
        const example *e = &examples[0];                                                           \
        (void)e;                                                                                   \
        return ops->op != NULL TL_EACH(HAS, __VA_ARGS__);                                          \
    }
#define OP       DESCRIBE
#define OP_CUDA  DESCRIBE
#define OP_FUSED DESCRIBE
#include "tl/ops.def"

#define LOCAL(kind, ...)           LOCAL_##kind(__VA_ARGS__)
#define LOCAL_IN(type, name, ...)  const type *name = p[at++];
#define LOCAL_OUT(type, name, ...) type *name = p[at++];
#define LOCAL_INOUT                LOCAL_OUT
#define LOCAL_INOUT_UNLESS         LOCAL_OUT
#define LOCAL_WORK(name, bytes)    void *name = p[at++];
#define LOCAL_VALUE(type, name)    const type name = VALUE_OF(type, name);
#define LOCAL_GEOM(type, name)     const type *name = p[at++];

#define RUN(op, lab, flops, ...)                                                                   \
    static tl_status run_##op(const tl_backend *ops, tl_ctx *ctx, void *const p[MOST],             \
                              const example *e) {                                                  \
        int at = 0;                                                                                \
        (void)e;                                                                                   \
        TL_EACH(LOCAL, __VA_ARGS__)                                                                \
        (void)at;                                                                                  \
        return ops->op(ctx TL_EACH(TL_NAME, __VA_ARGS__));                                         \
    }
#define OP       RUN
#define OP_CUDA  RUN
#define OP_FUSED RUN
#define OP_DATA(...)
#include "tl/ops.def"

/* The one whose arguments lead to more memory: the split is a copy that holds the addresses. */
static inline tl_status run_batch_load(const tl_backend *ops, tl_ctx *ctx, void *const p[MOST],
                                       const example *e) {
    tl_device_split split = e->split;
    split.images = p[3], split.labels = p[4], split.lut = p[5];
    return ops->batch_load(ctx, p[0], p[1], p[2] ? &split : NULL, p[6], p[7]);
}

static const operation operations[] = {
#define ROW(op, ...) {#op, describe_##op, has_##op, run_##op},
#define OP           ROW
#define OP_CUDA      ROW
#define OP_FUSED     ROW
#include "tl/ops.def"
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* ---- a call on a device ---- */

/* Numbers that every operation takes: of int32 and bytes those that are an index into a window of
 * 2x2, a row of a plane and a class; without a pool the one winner there is. */
static inline unsigned char *draw_content(claim *c, const argument *a, const example *e) {
    unsigned char *bytes = claim_memory(c, a->bytes + 1, 1);
    const tl_step step = {.seed = 5, .index = 3, .epoch = 1, .first = 0, .lr = 0.1};
    const tl_metric_sums sums = {.loss = 1, .hits = 2, .count = 3};
    for (size_t at = 0, size; at < a->bytes; at += size) {
        tl_real real = (tl_real)draw_uniform(c, 0.1, 1);
        int32_t index = draw_int(c, 0, 3);
        unsigned char byte = (unsigned char)(e->block.pool ? index : 0);
        const void *from = a->element == REAL    ? (const void *)&real
                           : a->element == INT32 ? (const void *)&index
                           : a->element == BYTE  ? (const void *)&byte
                           : a->element == STEP  ? (const void *)&step
                                                 : (const void *)&sums;
        size = a->element == REAL    ? sizeof real
               : a->element == INT32 ? sizeof index
               : a->element == BYTE  ? sizeof byte
               : a->element == STEP  ? sizeof step
                                     : sizeof sums;
        if (a->element == NOTHING) return bytes;
        memcpy(bytes + at, from, size);
    }
    return bytes;
}

/* The arguments of an operation in the device's memory. */
typedef struct call_of {
    const operation *op;
    const example *e;
    tl_ctx *ctx;
    int count;
    argument a[MOST];
    void *block[MOST], *p[MOST];
} call_of;

static inline void ok(claim *c, tl_status status) {
    expect_true(c, status == TL_OK, "%s: %s", tl_status_name(status), tl_error());
}

enum { BOUNDARY = 256 };

/* Arrays whose bit is set in `shifted` lie one element behind a boundary of 256 bytes. */
static inline call_of place(claim *c, tl_ctx *ctx, const operation *op, const example *e,
                            unsigned char *const content[MOST], unsigned shifted) {
    call_of x = {.op = op, .e = e, .ctx = ctx};
    x.count = op->describe(x.a, e, ctx->ops->column_bytes);
    for (int i = 0; i < x.count; i++) {
        const argument *a = &x.a[i];
        if (a->options) {
            x.p[i] = (void *)(uintptr_t)a->options; /* read alone */
            continue;
        }
        ok(c, tl_alloc_get(ctx->alloc, &x.block[i], a->bytes + BOUNDARY));
        expect_true(c, (uintptr_t)x.block[i] % BOUNDARY == 0, "a block is not aligned");
        x.p[i] = (char *)x.block[i] + (shifted >> i & 1 ? a->aligned : 0);
        ok(c, ctx->ops->copy_in(ctx, x.p[i], content[i], a->bytes));
    }
    return x;
}

static inline void give_back(claim *c, call_of *x) {
    for (int i = 0; i < x->count; i++) ok(c, tl_alloc_put(x->ctx->alloc, x->block[i]));
}

static inline tl_status run(const call_of *x, tl_ctx *ctx) {
    return x->op->run(x->ctx->ops, ctx, x->p, x->e);
}

static inline void draw_all(claim *c, unsigned char *content[MOST], const operation *op,
                            const example *e, const tl_ctx *ctx) {
    argument a[MOST];
    int count = op->describe(a, e, ctx->ops->column_bytes);
    for (int i = 0; i < count; i++) content[i] = draw_content(c, &a[i], e);
}

/* ---- what a line says ---- */

/* Whether `name` stands in `line` as a word. */
static inline bool names(const char *line, const char *name) {
    size_t length = strlen(name);
    for (const char *at = line; (at = strstr(at, name)); at++) {
        bool begins = at == line || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        if (begins && !isalnum((unsigned char)at[length]) && at[length] != '_') return true;
    }
    return false;
}

static inline void expect_refused(claim *c, tl_status status, const char *name) {
    expect_true(c, status == TL_EINVAL, "it returned %s", tl_status_name(status));
    expect_true(c, names(tl_error(), name), "the line does not name %s: %s", name, tl_error());
    expect_true(c, strchr(tl_error(), '\n') == NULL, "more than one line: %s", tl_error());
}

/* ---- how many there are ---- */

/* Of `every` on each device, with what the plain path of CUDA and the fused entries have beside. */
static inline int of_target(const call_target *t, int every, int cuda, int fused) {
    if (strcmp(t->device, "cpu") == 0) return every;
    return every + cuda + (strcmp(t->rungs, "all") == 0 ? fused : 0);
}

#endif
