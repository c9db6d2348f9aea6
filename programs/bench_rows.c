/* bench_rows.c: operations run by their rows in tl/ops.def (bench_rows.h). */
#include "bench_rows.h"

#include <stddef.h>
#include <string.h>

#include "moved.h"
#include "tl/ops_row.h"

/* ---- one row: its arguments made, and passed ---- */

/* The array of this name, made if it is not there yet. */
static tl_status hold(bench *b, void **argument, bench_array wanted) {
    for (int i = 0; i < b->arrays; i++)
        if (strcmp(b->array[i].name, wanted.name) == 0) {
            TL_NEED(b->array[i].bytes == wanted.bytes, TL_EINVAL, "two sizes of %s", wanted.name);
            *argument = b->array[i].block;
            return TL_OK;
        }
    TL_NEED(b->arrays < BENCH_ARRAYS, TL_EINVAL, "more than %d arrays", BENCH_ARRAYS);
    TL_TRY(tl_alloc_get(b->ctx->alloc, &wanted.block, wanted.bytes));
    b->array[b->arrays++] = wanted;
    *argument = wanted.block;
    return TL_OK;
}

/* Geometry that whole numbers make, up to what its check fills in: how many, and the check. */
#define COUNT_BEFORE(type, field) ((int)(offsetof(type, field) / sizeof(int)))
static tl_status fill_conv2d(tl_conv2d_geom *g, const int *number, int numbers) {
    TL_NEED(numbers == COUNT_BEFORE(tl_conv2d_geom, p), TL_EINVAL, "n c h w k r s … dil_w");
    memcpy(g, number, (size_t)numbers * sizeof *number);
    return tl_conv2d_check(g);
}

/* ... and whether a 2x2 pool follows. */
static tl_status fill_block(tl_conv2d_block *g, const int *number, int numbers) {
    TL_NEED(numbers == COUNT_BEFORE(tl_conv2d_geom, p) + 1, TL_EINVAL, "n c h w … dil_w pool");
    g->pool = number[numbers - 1];
    return fill_conv2d(&g->conv, number, numbers - 1);
}

static tl_status fill_pool2d(tl_pool2d_geom *g, const int *number, int numbers) {
    TL_NEED(numbers == COUNT_BEFORE(tl_pool2d_geom, p), TL_EINVAL, "n c h w r s … pad_w");
    memcpy(g, number, (size_t)numbers * sizeof *number);
    return tl_pool2d_check(g);
}

static tl_status fill_linear(tl_linear_geom *g, const int *number, int numbers) {
    TL_NEED(numbers == sizeof *g / sizeof(int), TL_EINVAL, "n in out");
    memcpy(g, number, (size_t)numbers * sizeof *number);
    return tl_linear_check(g);
}

static tl_status fill_matmul(tl_matmul_geom *g, const int *number, int numbers) {
    TL_NEED(numbers == sizeof *g / sizeof(int), TL_EINVAL, "m n k trans_a trans_b accumulate");
    memcpy(g, number, (size_t)numbers * sizeof *number);
    return tl_matmul_check(g);
}

/* Options are the course's (net c's optimiser): nothing is to be typed. */
static tl_status fill_sgd(tl_sgd_options *o, const int *number, int numbers) {
    (void)number;
    TL_NEED(numbers == 0, TL_EINVAL, "n alone");
    *o = (tl_sgd_options){.momentum = 0.9, .weight_decay = 5e-4};
    return TL_OK;
}

static tl_status fill_adam(tl_adam_options *o, const int *number, int numbers) {
    (void)number;
    TL_NEED(numbers == 0, TL_EINVAL, "n alone");
    *o = (tl_adam_options){.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    return TL_OK;
}

static tl_status fill_nothing(void *g, const int *number, int numbers) {
    (void)g, (void)number, (void)numbers;
    return TL_FAIL(TL_EINVAL, "its geometry is more than whole numbers");
}

#define FILL(geom)                                                                                 \
    _Generic((geom), tl_conv2d_geom *                                                              \
             : fill_conv2d, tl_conv2d_block *                                                      \
             : fill_block, tl_pool2d_geom *                                                        \
             : fill_pool2d, tl_linear_geom *                                                       \
             : fill_linear, tl_matmul_geom *                                                       \
             : fill_matmul, tl_sgd_options *                                                       \
             : fill_sgd, tl_adam_options *                                                         \
             : fill_adam, default                                                                  \
             : fill_nothing)

/* Numbers first, for sizes of arrays are made of them. */
#define TAKE(kind, ...) TAKE_##kind(__VA_ARGS__)
#define TAKE_IN(...)
#define TAKE_OUT(...)
#define TAKE_INOUT(...)
#define TAKE_INOUT_UNLESS(...)
#define TAKE_WORK(...)
#define TAKE_VIA(...)
#define TAKE_VALUE(type, name)                                                                     \
    TL_NEED(IS_BOOL(type) || used < b->numbers, TL_EINVAL, "too few numbers");                     \
    type name = IS_BOOL(type) ? (type)1 : (type)b->number[used++];                                 \
    (void)name;                                                                                    \
    memcpy(room[kept], &name, sizeof name);                                                        \
    void *const at_##name = room[kept++];
#define TAKE_GEOM(type, name)                                                                      \
    _Static_assert(sizeof(type) <= sizeof room[0], "room for the largest geometry");               \
    type *const name = (type *)(void *)room[kept];                                                 \
    TL_TRY(FILL(name)(name, b->number + used, b->numbers - used));                                 \
    used = b->numbers;                                                                             \
    void *const at_##name = room[kept++];

#define IS_BOOL(type) _Generic((type)0, bool : 1, default : 0)

/* ... then a pointer for each argument. */
#define HOLD(kind, ...) HOLD_##kind(__VA_ARGS__)
#define HOLD_ARRAY(type, name, count, use, added)                                                  \
    TL_TRY(hold(                                                                                   \
        b, argument++,                                                                             \
        (bench_array){#name, use, added, ELEMENT(type), (size_t)(count) * sizeof(type), NULL}));
#define ELEMENT(type)                                                                              \
    _Generic((type *)NULL, tl_real *                                                               \
             : BENCH_REAL, int32_t *                                                               \
             : BENCH_INT32, uint8_t *                                                              \
             : BENCH_BYTE, tl_metric_sums *                                                        \
             : BENCH_SUMS, default                                                                 \
             : BENCH_OTHER)

#define HOLD_IN(type, name, n_, ...)    HOLD_ARRAY(type, name, n_, BENCH_INPUT, false)
#define HOLD_OUT(type, name, n_, ...)   HOLD_ARRAY(type, name, n_, BENCH_RESULT, false)
#define HOLD_INOUT(type, name, n_, ...) HOLD_ARRAY(type, name, n_, BENCH_RESULT, true)
#define HOLD_INOUT_UNLESS(type, name, n_, condition, ...)                                          \
    HOLD_ARRAY(type, name, n_, BENCH_RESULT, !(condition))

#define HOLD_WORK(name, size)                                                                      \
    TL_TRY(                                                                                        \
        hold(b, argument++, (bench_array){#name, BENCH_SCRATCH, false, BENCH_OTHER, size, NULL}));
#define HOLD_VIA(...)          TL_NEED(false, TL_EINVAL, "its arguments lead to more memory");
#define HOLD_VALUE(type, name) *argument++ = at_##name;
#define HOLD_GEOM              HOLD_VALUE
#define TL_COLUMN_BYTES        b->ctx->ops->column_bytes

/* What set() has put there, as the row's function takes it; its costs look at some of it alone. */
#define PASS(kind, ...) PASS_##kind(__VA_ARGS__)
#define PASS_AS(type, name)                                                                        \
    type name = *argument++;                                                                       \
    (void)name;
#define PASS_IN(type, name, ...)  PASS_AS(const type *, name)
#define PASS_OUT(type, name, ...) PASS_AS(type *, name)
#define PASS_INOUT                PASS_OUT
#define PASS_INOUT_UNLESS         PASS_OUT
#define PASS_WORK(name, bytes)    PASS_AS(void *, name)
#define PASS_VALUE(type, name)                                                                     \
    type name = *(const type *)*argument++;                                                        \
    (void)name;
#define PASS_GEOM(type, name) PASS_AS(const type *, name)
#define PASS_VIA(type, name, count)

#define ROW(op, lab, flops, ...)                                                                   \
    static tl_status run_##op(tl_ctx *ctx, void *const *argument) {                                \
        TL_EACH(PASS, __VA_ARGS__)                                                                 \
        return ctx->ops->op(ctx TL_EACH(TL_NAME, __VA_ARGS__));                                    \
    }                                                                                              \
    static bool there_##op(const tl_backend *ops) { return ops->op != NULL; }                      \
    static void cost_##op(void *const *argument, double *must_compute, double *must_move) {        \
        TL_EACH(PASS, __VA_ARGS__)                                                                 \
        *must_compute = flops;                                                                     \
        *must_move = 0.0 TL_EACH(MOVED, __VA_ARGS__);                                              \
    }                                                                                              \
    static tl_status set_##op(bench *b, void **argument, max_align_t(*room)[16]) {                 \
        int used = 0, kept = 0;                                                                    \
        TL_EACH(TAKE, __VA_ARGS__)                                                                 \
        TL_EACH(HOLD, __VA_ARGS__)                                                                 \
        (void)used, (void)kept;                                                                    \
        return TL_OK;                                                                              \
    }
#define OP       ROW
#define OP_FUSED ROW
#include "tl/ops.def"

/* ---- all of them ---- */

static const struct {
    const char *name;
    tl_status (*run)(tl_ctx *ctx, void *const *argument);
    tl_status (*set)(bench *b, void **argument, max_align_t (*room)[16]);
    void (*cost)(void *const *argument, double *flops, double *bytes);
    bool (*there)(const tl_backend *ops);
} table[] = {
#define OP(op, ...) {#op, run_##op, set_##op, cost_##op, there_##op},
#define OP_FUSED    OP
#include "tl/ops.def"
};
enum { TABLE = sizeof table / sizeof table[0] };

/* Whether a row is `name`'s: itself, forward, or one of its gradients. */
static bool row_of(const char *row, const char *name, bool *backward) {
    size_t length = strlen(name);
    *backward = false;
    if (strcmp(row, name) == 0) return true;
    if (strncmp(row, name, length) != 0) return false;
    *backward = strncmp(row + length, "_bwd", 4) == 0;
    return *backward || strcmp(row + length, "_fwd") == 0;
}

static tl_status set_rows(bench *b, const char *name) {
    for (int i = 0; i < TABLE; i++) {
        bool backward;
        if (!row_of(table[i].name, name, &backward)) continue;
        TL_NEED(b->rows < BENCH_ROWS, TL_EINVAL, "%s has more than %d rows", name, BENCH_ROWS);
        bench_row *row = &b->row[b->rows];
        row->run = table[i].run;
        row->backward = backward;
        TL_TRY(table[i].set(b, row->argument, b->value[b->rows]));
        table[i].cost(row->argument, &row->flops, &row->bytes);
        b->rows++;
    }
    TL_NEED(b->rows > 0, TL_EINVAL, "there is no operation %s_fwd, nor %s", name, name);
    return TL_OK;
}

tl_status bench_set(bench *b, const char *name, const int *number, int numbers) {
    bench_clear(b);
    TL_NEED(numbers <= BENCH_NUMBERS, TL_EINVAL, "more than %d numbers", BENCH_NUMBERS);
    memcpy(b->number, number, (size_t)numbers * sizeof *number);
    b->numbers = numbers;
    tl_status status = set_rows(b, name);
    if (status != TL_OK) bench_clear(b);
    return status;
}

tl_status bench_run(const bench *b, bool both) {
    for (int i = 0; i < b->rows; i++)
        if (!b->row[i].backward) TL_TRY(b->row[i].run(b->ctx, b->row[i].argument));
    if (!both) return TL_OK;
    /* gradients start from zero, as PyTorch's do: that is part of the work */
    for (int i = 0; i < b->arrays; i++)
        if (b->array[i].added)
            TL_TRY(b->ctx->ops->zero(b->ctx, b->array[i].block, b->array[i].bytes));
    for (int i = 0; i < b->rows; i++)
        if (b->row[i].backward) TL_TRY(b->row[i].run(b->ctx, b->row[i].argument));
    return TL_OK;
}

/* (a block's kernels keep an image in shared memory: not every geometry is theirs) */
bool bench_there(const bench *b) {
    const tl_backend *ops = b->ctx->ops;
    for (int i = 0; i < TABLE; i++) {
        if (table[i].run != b->row[0].run) continue;
        if (!table[i].there(ops)) return false;
        if (strncmp(table[i].name, "conv2d_block_", 13) != 0) return true;
        tl_conv2d_block g = {0};
        return fill_block(&g, b->number, b->numbers) == TL_OK && ops->conv2d_block_fits(&g);
    }
    return false;
}

void bench_clear(bench *b) {
    for (int i = 0; i < b->arrays; i++) tl_alloc_put(b->ctx->alloc, b->array[i].block);
    b->arrays = b->rows = b->numbers = 0;
}
