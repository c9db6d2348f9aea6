/* main_bench_conv2d.c: `bench_conv2d CHANNELS=64 PIXELS=32 …`: steps of a net whose first two
 * convolutions nothing follows, neither ReLU nor pool, for a profiler to time their kernels by
 * themselves (baseline/bench_conv2d.py). What a convolution in a net does besides costs the rival
 * nothing.
 *
 * The second convolution is the one that is asked about: forward, dx and dw. The first brings the
 * images into the precision and the layout that lie between layers; what stands behind makes it a
 * net that is planned as a whole, and if it is not, that is an error here. Exit 0: all steps ran.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/words.h"
#include "tl/device.h"
#include "tl/nets.h"
#include "tl/ops.h"
#include "tl/rng.h"
#include "tl/status_internal.h"

typedef struct options_of_layer {
    const char *device, *precision;
    long channels, pixels, batch, steps;
} options_of_layer;

#define ROW(name, type, field, least, most, help)                                                  \
    { name, WORD_##type, offsetof(options_of_layer, field), least, most, help }
static const word_row table[] = {
    ROW("CHANNELS", WHOLE, channels, 16, 1024, "of the images, and as many filters of 3x3"),
    ROW("PIXELS", WHOLE, pixels, 4, 64, "of an image each way"),
    ROW("BATCH", WHOLE, batch, 1, 4096, "images"),
    ROW("STEPS", WHOLE, steps, 1, 1000, "forward and backward passes"),
    ROW("PRECISION", TEXT, precision, 0, 0, "tf32 or bf16"),
    ROW("DEVICE", TEXT, device, 0, 0, "cuda or hostcuda"),
    {0}};

typedef struct bench_net {
    tl_ctx *ctx;
    tl_module *net;
    tl_tape *tape;
    tl_tensor *x;
} bench_net;

/* Numbers as a net meets them: how quick tensor cores are depends on the power they take. */
static tl_status draw_images(tl_tensor *x) {
    tl_real *host = malloc(x->size * sizeof *host);
    TL_NEED(host, TL_ENOMEM, "no memory for %zu numbers", x->size);
    for (size_t i = 0; i < x->size; i++) host[i] = (tl_real)(tl_rng_uniform(1, 0, i) * 2 - 1);
    tl_status status = tl_tensor_from_host(x, host);
    free(host);
    return status;
}

static tl_status build(bench_net *b, const options_of_layer *o, tl_precision precision) {
    const int k = (int)o->channels, side = (int)o->pixels;
    const tl_layer layers[] = {{.kind = TL_LAYER_CONV, .out = k, .pad = 1},
                               {.kind = TL_LAYER_CONV, .out = k, .pad = 1},
                               {.kind = TL_LAYER_CONV, .out = 16, .pad = 1},
                               {.kind = TL_LAYER_POOL},
                               {.kind = TL_LAYER_FLATTEN},
                               {.kind = TL_LAYER_LINEAR, .out = 8},
                               {.kind = TL_LAYER_END}};
    const tl_net_spec spec = {.name = "layer", .c = 3, .h = side, .w = side, .layer = layers};
    const tl_device_options options = {.rungs = "all"};
    TL_TRY(tl_device_open_in(&b->ctx, o->device, &options, precision));
    TL_TRY(tl_net_build(&b->net, b->ctx, &spec, 1));
    TL_TRY(tl_tape_new(&b->tape, b->ctx));
    TL_TRY(tl_tensor_new(&b->x, b->ctx, 4, (int[]){(int)o->batch, 3, side, side}));
    return draw_images(b->x);
}

/* Forward, and backward from the sum of the results' squares. */
static tl_status run_step(bench_net *b) {
    tl_var *x, *y, *squares, *sum;
    tl_tape_reset(b->tape);
    tl_tape_set_recording(b->tape, true);
    TL_TRY(tl_tape_wrap(b->tape, &x, b->x, 4, b->x->dim, false));
    TL_TRY(tl_module_forward(b->net, b->tape, &y, x, true));
    TL_NEED(y->node && strcmp(y->node->op, "net") == 0, TL_ENOTIMPL,
            "%s has no kernels that take the net as a whole in this precision", b->ctx->ops->name);
    TL_TRY(tl_op_mul(b->tape, &squares, y, y));
    TL_TRY(tl_op_sum(b->tape, &sum, squares));
    return tl_tape_backward(b->tape, sum);
}

static tl_status work(bench_net *b, int count, char *const word[]) {
    options_of_layer o = {.device = "cuda",
                          .precision = "bf16",
                          .channels = 64,
                          .pixels = 32,
                          .batch = 256,
                          .steps = 7};
    TL_TRY(words_read(&o, table, count, word));
    tl_precision precision;
    TL_TRY(tl_precision_find(&precision, o.precision));
    TL_TRY(build(b, &o, precision));
    for (long i = 0; i < o.steps; i++) TL_TRY(run_step(b));
    return TL_OK;
}

int main(int argc, char **argv) {
    bench_net b = {0};
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        words_help(table);
        return 0;
    }
    tl_status status = tl_root_cause(work(&b, argc - 1, argv + 1));
    if (status != TL_OK) fprintf(stderr, "bench_conv2d: %s\n", tl_error());
    tl_tensor_free(b.x);
    tl_tape_free(b.tape);
    tl_module_free(b.net);
    if (b.ctx) tl_device_close(b.ctx);
    return status == TL_OK ? 0 : 1;
}
