/* arguments_test.c: what holds for the arguments of every operation (tl/context.h): NULL, numbers
 * out of range, alignment.
 *
 * The cases are made from tl/ops.def: a new row of known geometry is tried without a line here, one
 * of a geometry of its own as soon as that stands in OF and in the examples. How many cases there
 * are at least is written down, for a loop that tries nothing passes, too. */
#include "autograder/claim/claim.h"
#include "autograder/claim/expect.h"

#include <ctype.h>
#include <math.h>
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
     .conv3x3 = {2, 3, 8, 8, 32},
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
     .conv3x3 = {1, 2, 9, 5, 7},
     .block = {{3, 3, 7, 6, 5, 3, 3, 1, 1, 2, 2, 1, 1, 0, 0}, false}},
};

static example checked(claim *c, int i) {
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
static tl_status run_batch_load(const tl_backend *ops, tl_ctx *ctx, void *const p[MOST],
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
static unsigned char *draw_content(claim *c, const argument *a, const example *e) {
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

static void ok(claim *c, tl_status status) {
    expect_true(c, status == TL_OK, "%s: %s", tl_status_name(status), tl_error());
}

enum { BOUNDARY = 256 };

/* Arrays whose bit is set in `shifted` lie one element behind a boundary of 256 bytes. */
static call_of place(claim *c, tl_ctx *ctx, const operation *op, const example *e,
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

static void give_back(claim *c, call_of *x) {
    for (int i = 0; i < x->count; i++) ok(c, tl_alloc_put(x->ctx->alloc, x->block[i]));
}

static tl_status run(const call_of *x, tl_ctx *ctx) {
    return x->op->run(x->ctx->ops, ctx, x->p, x->e);
}

static void draw_all(claim *c, unsigned char *content[MOST], const operation *op, const example *e,
                     const tl_ctx *ctx) {
    argument a[MOST];
    int count = op->describe(a, e, ctx->ops->column_bytes);
    for (int i = 0; i < count; i++) content[i] = draw_content(c, &a[i], e);
}

/* Whether `name` stands in `line` as a word. */
static bool names(const char *line, const char *name) {
    size_t length = strlen(name);
    for (const char *at = line; (at = strstr(at, name)); at++) {
        bool begins = at == line || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        if (begins && !isalnum((unsigned char)at[length]) && at[length] != '_') return true;
    }
    return false;
}

/* ---- NULL ---- */

static void expect_refused(claim *c, tl_status status, const char *name) {
    expect_true(c, status == TL_EINVAL, "it returned %s", tl_status_name(status));
    expect_true(c, names(tl_error(), name), "the line does not name %s: %s", name, tl_error());
    expect_true(c, strchr(tl_error(), '\n') == NULL, "more than one line: %s", tl_error());
}

/* How a line calls the struct of sizes or options. */
static const char *called(const argument *a) {
    if (!a->options || strcmp(a->name, "split") == 0) return a->name;
    return strcmp(a->name, "o") == 0 ? "options" : "geometry";
}

/* Each pointer of an operation that must be there, and ctx. How many they are. */
static int refuse_nulls(claim *c, const call_target *t, tl_ctx *ctx, const operation *op,
                        const example *e) {
    unsigned char *content[MOST];
    draw_all(c, content, op, e, ctx);
    call_of x = place(c, ctx, op, e, content, 0);
    int tried = 1;
    claim_case(c, t, "%s without a context", op->name);
    expect_refused(c, run(&x, NULL), "ctx");
    for (int i = 0; i < x.count; i++) {
        if (x.a[i].optional) continue;
        void *there = x.p[i];
        claim_case(c, t, "%s, where %s is NULL", op->name, x.a[i].name);
        x.p[i] = NULL;
        expect_refused(c, run(&x, ctx), called(&x.a[i]));
        x.p[i] = there;
        tried++;
    }
    claim_case(c, t, "%s with all arguments", op->name);
    ok(c, run(&x, ctx));
    ok(c, ctx->ops->sync(ctx));
    give_back(c, &x);
    return tried;
}

/* Rows and pointers (ctx is one of each row) of ops.def when this was written, so the least there
 * are: what every device has, what the plain path of CUDA has beside that, the fused entries. */
enum {
    ROWS = 40,
    ROWS_CUDA = 2,
    ROWS_FUSED = 6,
    NULLS = 193,
    NULLS_CUDA = 8,
    NULLS_FUSED = 39,
};

static int of_target(const call_target *t, int every, int cuda, int fused) {
    if (strcmp(t->device, "cpu") == 0) return every;
    return every + cuda + (strcmp(t->rungs, "all") == 0 ? fused : 0);
}

CLAIM(arguments, null_is_refused_by_name) {
    FOR_TARGETS (t) {
        tl_ctx *ctx;
        int rows = 0, tried = 0;
        example e = checked(c, 0);
        ok(c, tl_device_open(&ctx, t->device, t->rungs, t->threads));
        for (const operation *op = operations; op < operations + OPERATIONS; op++) {
            if (!op->has(ctx->ops)) continue;
            rows++;
            tried += refuse_nulls(c, t, ctx, op, &e);
        }
        int want = of_target(t, ROWS, ROWS_CUDA, ROWS_FUSED);
        int nulls = of_target(t, NULLS, NULLS_CUDA, NULLS_FUSED);
        expect_true(c, rows >= want, "%d operations, not %d", rows, want);
        expect_true(c, tried >= nulls, "%d pointers, not %d", tried, nulls);
        tl_device_close(ctx);
    }
}

/* ---- alignment ---- */

static void run_shifted(claim *c, tl_ctx *ctx, const operation *op, const example *e,
                        unsigned char *const content[MOST], unsigned shifted,
                        unsigned char *result[MOST]) {
    call_of x = place(c, ctx, op, e, content, shifted);
    ok(c, run(&x, ctx));
    ok(c, ctx->ops->sync(ctx));
    for (int i = 0; i < x.count; i++)
        if (x.a[i].aligned) ok(c, ctx->ops->copy_out(ctx, result[i], x.p[i], x.a[i].bytes));
    give_back(c, &x);
}

/* Bit for bit. On a GPU cuBLAS may choose its kernel by alignment, and with it the order of a sum:
 * there the numbers, which are sums of positive ones, may differ by their rounding. */
static bool same(const call_target *t, const argument *a, const void *want, const void *got) {
    if (!memcmp(want, got, a->bytes)) return true;
    if (a->element != REAL || strcmp(t->device, "cuda") != 0) return false;
    const tl_real *w = want, *g = got;
    for (size_t i = 0; i < a->bytes / sizeof *w; i++)
        if (!(fabs((double)(w[i] - g[i])) <= 512 * TL_REAL_ROUNDOFF * fabs((double)w[i])))
            return false;
    return true;
}

/* All arrays shifted by one element, and each alone: results have the bits of aligned ones. How
 * many arrays there are. */
static int expect_aligned_bits(claim *c, const call_target *t, tl_ctx *ctx, const operation *op,
                               const example *e) {
    unsigned char *content[MOST], *want[MOST], *got[MOST];
    argument a[MOST];
    int count = op->describe(a, e, ctx->ops->column_bytes), arrays = 0;
    draw_all(c, content, op, e, ctx);
    for (int i = 0; i < count; i++) {
        want[i] = claim_memory(c, a[i].bytes + 1, 1);
        got[i] = claim_memory(c, a[i].bytes + 1, 1);
    }
    claim_case(c, t, "%s of aligned arrays", op->name);
    run_shifted(c, ctx, op, e, content, 0, want);
    for (int k = -1; k < count; k++) {
        if (k >= 0 && !a[k].aligned) continue;
        arrays += k >= 0;
        claim_case(c, t, "%s, %s one element behind a boundary of %d bytes", op->name,
                   k < 0 ? "all arrays" : a[k].name, (int)BOUNDARY);
        run_shifted(c, ctx, op, e, content, k < 0 ? ~0u : 1u << k, got);
        for (int i = 0; i < count; i++)
            expect_true(c, !a[i].aligned || same(t, &a[i], want[i], got[i]), "%s has other bits",
                        a[i].name);
    }
    return arrays;
}

/* as above, of arrays: optional ones are there, structs and scratch are none */
enum { ARRAYS = 130, ARRAYS_CUDA = 5, ARRAYS_FUSED = 33 };

CLAIM(arguments, an_array_needs_the_alignment_of_its_element) {
    FOR_TARGETS (t) {
        tl_ctx *ctx;
        ok(c, tl_device_open(&ctx, t->device, t->rungs, t->threads));
        for (int i = 0; i < EXAMPLES; i++) {
            example e = checked(c, i);
            int tried = 0, arrays = of_target(t, ARRAYS, ARRAYS_CUDA, ARRAYS_FUSED);
            for (const operation *op = operations; op < operations + OPERATIONS; op++)
                if (op->has(ctx->ops)) tried += expect_aligned_bits(c, t, ctx, op, &e);
            expect_true(c, tried >= arrays, "%d arrays, not %d", tried, arrays);
        }
        tl_device_close(ctx);
    }
}

/* ---- numbers out of range ---- */

typedef struct bad_number {
    const char *op,
        *value; /* the VALUE of this name, or NULL: what lies in the example at offset */
    size_t offset;
    enum { AN_INT, A_DOUBLE, A_SIZE, AN_UNSIGNED } type;
    double number;
    const char *name; /* what the line must name */
} bad_number;

#define BAD(op, field, number, name)                                                               \
    {                                                                                              \
#op, NULL, offsetof(example, field),                                                       \
            _Generic(((example *)0)->field, int                                                    \
                     : AN_INT, double                                                              \
                     : A_DOUBLE, size_t                                                            \
                     : A_SIZE, uint32_t                                                            \
                     : AN_UNSIGNED),                                                               \
            number, name                                                                           \
    }
#define BAD_VALUE(op, value, number, name)                                                         \
    { #op, #value, 0, AN_INT, number, name }
#define BAD_VALUE_2(a, b, value, number, name)                                                     \
    BAD_VALUE(a, value, number, name), BAD_VALUE(b, value, number, name)
#define BAD_2(one, two, field, number, name)                                                       \
    BAD(one, field, number, name), BAD(two, field, number, name)
#define BAD_3(one, two, three, field, number, name)                                                \
    BAD_2(one, two, field, number, name), BAD(three, field, number, name)
#define BAD_NORM(field, number, name)                                                              \
    BAD_3(batchnorm_fwd, batchnorm_eval, batchnorm_bwd, batchnorm.field, number, name)
#define BAD_LINEAR(field, number)                                                                  \
    BAD_2(linear_fwd, linear_bwd_input, linear.field, number, #field),                             \
        BAD_2(linear_bwd_weight, linear_bwd_bias, linear.field, number, #field),                   \
        BAD_2(linear_block_fwd, linear_block_bwd, linear.field, number, #field)
#define BAD_POOL(field, number, name)                                                              \
    BAD_2(maxpool2d_fwd, maxpool2d_bwd, pool2d.field, number, name)
#define BAD_XENT(value, number)                                                                    \
    BAD_VALUE_2(softmax_xent_fwd, softmax_xent_bwd, value, number, #value),                        \
        BAD_VALUE_2(xent_head_fwd, xent_head_bwd, value, number, #value)
#define BAD_DROP(field, number, name) BAD_2(dropout_fwd, dropout_bwd, dropout.field, number, name)

static const bad_number bad_numbers[] = {
    BAD_NORM(n, -2, "n"),
    BAD_NORM(n, 0, "n"),
    BAD_NORM(c, 0, "c"),
    BAD_NORM(hw, 0, "hw"),
    BAD_NORM(hw, -1, "hw"),
    BAD_NORM(eps, NAN, "eps"),
    BAD_NORM(eps, -1e-9, "eps"),
    BAD_NORM(momentum, NAN, "momentum"),
    BAD_NORM(momentum, -0.1, "momentum"),
    BAD_NORM(momentum, 1.5, "momentum"),
    BAD_LINEAR(n, 0),
    BAD_LINEAR(in, 0),
    BAD_LINEAR(out, -3),
    BAD_POOL(n, 0, "n"),
    BAD_POOL(c, -1, "c"),
    BAD_POOL(h, 0, "h"),
    BAD_POOL(w, 0, "w"),
    BAD_POOL(r, 0, "r"),
    BAD_POOL(s, 0, "s"),
    BAD_POOL(stride_h, 0, "stride_h"),
    BAD_POOL(stride_w, -2, "stride_w"),
    BAD_POOL(pad_h, -1, "pad_h"),
    BAD_POOL(pad_w, 2, "padding"),
    BAD_POOL(p, 0, "p"),
    BAD_POOL(q, 5, "q"),
    BAD_XENT(rows, 0),
    BAD_XENT(rows, -1),
    BAD_XENT(classes, 0),
    BAD_DROP(p, NAN, "p"),
    BAD_DROP(p, 1, "p"),
    BAD_DROP(p, -0.1, "p"),
    BAD_DROP(n, 0, "n"),
    BAD_DROP(layer, 65536, "layer"),
    BAD_VALUE_2(relu_fwd, relu_bwd, n, 0, "n"),
    BAD_VALUE_2(sgd_step, adam_step, n, 0, "n"),
    BAD_VALUE_2(vector_add, vector_reverse, n, 0, "n"),
    BAD(sgd_step, sgd.momentum, NAN, "momentum"),
    BAD(sgd_step, sgd.momentum, 1, "momentum"),
    BAD(sgd_step, sgd.weight_decay, NAN, "decay"),
    BAD(sgd_step, sgd.weight_decay, -1e-9, "decay"),
    BAD(adam_step, adam.beta1, NAN, "beta1"),
    BAD(adam_step, adam.beta2, 1, "beta2"),
    BAD(adam_step, adam.eps, 0, "eps"),
    BAD(adam_step, adam.eps, -1, "eps"),
    BAD(adam_step, adam.eps, NAN, "eps"),
    BAD(adam_step, adam.weight_decay, NAN, "decay"),
    BAD(adam_step, adam.weight_decay, -1e-9, "decay"),
    BAD(batch_load, batch.n, 0, "images"),
    BAD(batch_load, batch.n, 7, "images"),
    BAD(batch_load, batch.pad, -1, "pad"),
    BAD_VALUE(metrics_add, rows, 0, "score"),
    BAD_VALUE(metrics_add, classes, -4, "score"),
    BAD(conv3x3, conv3x3.k, 0, "channels"),
};
enum { BAD_NUMBERS = sizeof bad_numbers / sizeof *bad_numbers };

static void spoil(example *e, const bad_number *b) {
    const int an_int = b->type == AN_INT ? (int)b->number : 0;
    const size_t a_size = b->type == A_SIZE ? (size_t)b->number : 0;
    const uint32_t an_unsigned = b->type == AN_UNSIGNED ? (uint32_t)b->number : 0;
    char *to = (char *)e + b->offset;
    if (b->value) {
        e->spoilt = b->value;
        e->number = b->number;
        return;
    }
    if (b->type == AN_INT) memcpy(to, &an_int, sizeof an_int);
    if (b->type == A_DOUBLE) memcpy(to, &b->number, sizeof b->number);
    if (b->type == A_SIZE) memcpy(to, &a_size, sizeof a_size);
    if (b->type == AN_UNSIGNED) memcpy(to, &an_unsigned, sizeof an_unsigned);
}

static const operation *find(claim *c, const char *name) {
    for (const operation *op = operations; op < operations + OPERATIONS; op++)
        if (strcmp(op->name, name) == 0) return op;
    claim_fail(c, "no operation %s", name);
}

CLAIM(arguments, numbers_out_of_range_are_refused_by_name) {
    FOR_TARGETS (t) {
        tl_ctx *ctx;
        int lacking = 0;
        ok(c, tl_device_open(&ctx, t->device, t->rungs, t->threads));
        for (const bad_number *b = bad_numbers; b < bad_numbers + BAD_NUMBERS; b++) {
            const operation *op = find(c, b->op);
            example e = checked(c, 0);
            unsigned char *content[MOST];
            if (!op->has(ctx->ops)) {
                lacking++;
                continue;
            }
            draw_all(c, content, op, &e, ctx);
            call_of x = place(c, ctx, op, &e, content, 0);
            spoil(&e, b);
            claim_case(c, t, "%s, where %s is %g", b->op, b->name, b->number);
            expect_refused(c, run(&x, ctx), b->name);
            give_back(c, &x);
        }
        /* of CUDA alone: two rows; fused: six of linear, six of the loss */
        int want = strcmp(t->device, "cpu") == 0 ? 14 : strcmp(t->rungs, "all") == 0 ? 0 : 12;
        expect_true(c, lacking == want, "%d of %d cases had no operation instead of %d", lacking,
                    (int)BAD_NUMBERS, want);
        tl_device_close(ctx);
    }
}

/* A schedule returns a rate: NaN, and the line says why. */
CLAIM(arguments, a_schedule_that_is_none_has_no_rate) {
    static const struct {
        tl_schedule s;
        const char *name;
    } bad[] = {{{TL_SCHEDULE_STEP, 0.1, 0.5, 0, 10}, "turn"},
               {{TL_SCHEDULE_TRIANGULAR, 0.1, 0, 0, 10}, "turn"},
               {{TL_SCHEDULE_TRIANGULAR, 0.1, 0, 5, 0}, "total"},
               {{TL_SCHEDULE_COSINE, 0.1, 0, 5, 0}, "total"},
               {{(tl_schedule_kind)4, 0.1, 0, 5, 10}, "kind"},
               {{(tl_schedule_kind)-1, 0.1, 0, 5, 10}, "kind"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        for (uint64_t i = 0; i < 3; i++) {
            claim_case(c, NULL, "schedule of kind %d, turn %d, total %d, step %d",
                       (int)bad[k].s.kind, (int)bad[k].s.turn, (int)bad[k].s.total, (int)i);
            TL_FAIL(TL_EIO, "an older failure");
            expect_true(c, isnan(tl_schedule_lr(&bad[k].s, i)), "it has a rate");
            expect_true(c, names(tl_error(), bad[k].name), "the line does not name %s: %s",
                        bad[k].name, tl_error());
        }
    claim_case(c, NULL, "schedule NULL");
    expect_true(c, isnan(tl_schedule_lr(NULL, 0)), "it has a rate");
    expect_true(c, names(tl_error(), "schedule"), "the line: %s", tl_error());
    /* what a kind does not read may be anything */
    const tl_schedule constant = {TL_SCHEDULE_CONSTANT, 0.25, NAN, 0, 0};
    expect_true(c, tl_schedule_lr(&constant, 9) == 0.25, "a constant rate is not constant");
}
