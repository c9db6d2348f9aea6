/* ranges_test.c: a number out of range, in the sizes, options and values of any operation, is
 * refused by name (tl/context.h); so is a schedule that is none. */
#include "operation_fixture.h"

#include <math.h>

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

CLAIM(ranges, numbers_out_of_range_are_refused_by_name) {
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
CLAIM(ranges, a_schedule_that_is_none_has_no_rate) {
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
