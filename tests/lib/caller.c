/* caller.c: a program that brings its own memory, threads and OpenBLAS to libtl.so. Prints one word
 * a line for what holds, and fails at the first that does not (tests/test_lib.py). */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tl/tl.h>

static void holds(const char *what, int is_so) {
    if (!is_so) {
        fprintf(stderr, "%s does not hold (%s)\n", what, tl_error());
        exit(1);
    }
    puts(what);
}

/* ---- memory of one's own ---- */

typedef struct counts {
    const tl_alloc_source *from;
    size_t got, put;
} counts;

static void *get(void *user, size_t bytes) {
    counts *c = user;
    c->got++;
    return aligned_alloc(256, (bytes + 255) / 256 * 256);
}

static void put(void *user, void *block, size_t bytes) {
    counts *c = user;
    (void)bytes;
    c->put++;
    free(block);
}

static void *none(void *user, size_t bytes) {
    (void)user, (void)bytes;
    return NULL;
}

static void memory_of_ones_own(void) {
    counts c = {0};
    tl_alloc_source source = {get, put, &c}, empty = {none, put, &c};
    tl_ctx *ctx;
    void *block;
    holds("opened", tl_device_open_with(&ctx, "cpu", &(tl_device_options){.memory = &source}) == 0);
    holds("taken", tl_alloc_get(ctx->alloc, &block, 1000) == TL_OK && c.got == 1);
    tl_alloc_put(ctx->alloc, block);
    tl_device_close(ctx);
    holds("given_back", c.put == c.got);
    holds("opened_without",
          !tl_device_open_with(&ctx, "cpu", &(tl_device_options){.memory = &empty}));
    holds("ran_out", tl_alloc_get(ctx->alloc, &block, 1000) == TL_ENOMEM);
    tl_device_close(ctx);
}

/* ---- threads ---- */

enum { SIDE = 300 };
static tl_real a[SIDE * SIDE], b[SIDE * SIDE], c1[SIDE * SIDE], c3[SIDE * SIDE];

static void threads_of_ones_own(void) {
    tl_ctx *ctx;
    tl_matmul_geom g = {.m = SIDE, .n = SIDE, .k = SIDE};
    for (int i = 0; i < SIDE * SIDE; i++)
        a[i] = (tl_real)(i % 17) / 3, b[i] = (tl_real)(i % 13) / 7;
    openblas_set_num_threads(2);
    holds("with_threads", !tl_device_open_with(&ctx, "cpu", &(tl_device_options){.threads = 3}));
    holds("three_threads", ctx->threads == 3 && !tl_gemm(ctx, c3, a, b, &g));
    holds("one_thread", !tl_device_set_threads(ctx, 1) && ctx->threads == 1);
    holds("equal_bits", !tl_gemm(ctx, c1, a, b, &g) && !memcmp(c1, c3, sizeof c1));
    holds("openblas_untouched", openblas_get_num_threads() == 2);
    holds("no_threads", tl_device_set_threads(ctx, -1) == TL_EINVAL && strstr(tl_error(), "-1"));
    holds("too_many", tl_device_set_threads(ctx, 5000) == TL_EINVAL && ctx->threads == 1);
    tl_step now = {.seed = 7, .index = 3, .lr = 0.5};
    holds("step", !tl_device_set_step(ctx, &now) && ctx->step->index == 3 && ctx->step->lr == 0.5);
    tl_device_close(ctx);
}

/* ---- what is not there ---- */

static void refused(void) {
    tl_ctx *ctx = (tl_ctx *)a;
    tl_real x = 0;
    holds("no_gpu_on_a_cpu",
          tl_device_open_with(&ctx, "cpu", &(tl_device_options){.index = 1}) == TL_EINVAL && !ctx);
    holds("no_stream_on_a_cpu",
          tl_device_open_with(&ctx, "cpu", &(tl_device_options){.borrow_stream = true}) ==
              TL_EINVAL);
    holds("negative_index",
          tl_device_open_with(&ctx, "cpu", &(tl_device_options){.index = -1}) == TL_EINVAL);
    holds("null_options", tl_device_open_with(&ctx, "cpu", NULL) == TL_EINVAL);
    tl_conv2d_geom conv = {.n = 1, .c = 1, .h = 4, .w = 4, .k = 1, .r = 3, .s = 3};
    conv.stride_h = conv.stride_w = conv.dil_h = conv.dil_w = 1;
    tl_pool2d_geom pool = {.n = 1, .c = 1, .h = 4, .w = 4, .r = 2, .s = 2, .stride_h = 2};
    pool.stride_w = 2;
    int32_t argmax[4];
    holds("cpu", tl_device_open(&ctx, "cpu", "all", 1) == TL_OK);
    holds("unchecked_convolution", tl_conv2d_fwd(ctx, c1, a, b, NULL, &conv, c3) == TL_EINVAL &&
                                       strstr(tl_error(), "tl_conv2d_check makes it 2 x 2"));
    holds("unchecked_pool", tl_maxpool2d_fwd(ctx, c1, argmax, a, &pool) == TL_EINVAL &&
                                strstr(tl_error(), "tl_pool2d_check makes it 2 x 2"));
    holds("empty_product", tl_matmul(ctx, c1, a, b, &(tl_matmul_geom){.m = 1}) == TL_EINVAL);
    tl_device_close(ctx);
    holds("null_context", tl_fill(NULL, &x, 1, 0) == TL_EINVAL && strstr(tl_error(), "tl_fill"));
}

/* ---- the device of the context ---- */

/* A CUDA operation that the cpu has not, and one that both have, by the same names. */
static void on_device(const char *name) {
    tl_ctx *ctx;
    tl_tensor *x, *y;
    tl_real back[5];
    holds("device_opened", tl_device_open(&ctx, name, "all", 1) == TL_OK);
    holds("tensors",
          !tl_tensor_new(&x, ctx, 1, (int[]){5}) && !tl_tensor_new(&y, ctx, 1, (int[]){5}));
    void *block;
    char bytes[300], got[300];
    memset(bytes, 7, sizeof bytes);
    holds("block", !tl_device_get(ctx, &block, 300) && !tl_device_copy_in(ctx, block, bytes, 300));
    holds("came_back", !tl_device_copy_out(ctx, got, block, 300) && !memcmp(bytes, got, 300));
    holds("zeroed", !tl_device_zero(ctx, block, 299) && !tl_device_sync(ctx) &&
                        !tl_device_copy_out(ctx, got, block, 300) && !got[298] && got[299] == 7);
    holds("put", !tl_device_put(ctx, block) && tl_device_put(ctx, NULL) == TL_OK);
    holds("null_pointer", tl_device_copy_in(ctx, NULL, bytes, 1) == TL_EINVAL);
    holds("copied", tl_tensor_from_host(x, (tl_real[]){1, 2, 3, 4, 5}) == TL_OK);
    tl_status status = tl_vector_reverse(ctx, y->data, x->data, 5);
    if (strcmp(name, "cpu") == 0)
        holds("not_of_the_cpu", status == TL_ENOTIMPL);
    else
        holds("reversed", !status && !tl_tensor_to_host(y, back) && back[0] == 5 && back[4] == 1);
    holds("scaled", !tl_scale(ctx, y->data, x->data, 5, TL_R(2)) && !tl_tensor_to_host(y, back) &&
                        back[0] == 2 && back[4] == 10);
    tl_tensor_free(y);
    tl_tensor_free(x);
    tl_device_close(ctx);
}

/* Other memory and another index, where there are kernels. */
static void bring_to_hostcuda(void) {
    tl_ctx *ctx;
    tl_device_options second = {.index = 1}, borrowed = {.borrow_stream = true};
    holds("no_second_gpu", tl_device_open_with(&ctx, "hostcuda", &second) == TL_EINVAL &&
                               strstr(tl_error(), "no GPU 1"));
    holds("default_stream", !tl_device_open_with(&ctx, "hostcuda", &borrowed) && !ctx->stream);
    tl_device_close(ctx);
}

int main(int argc, char **argv) {
    (void)argc;
    if (tl_abi() != TL_ABI || tl_real_bytes() != sizeof(tl_real)) {
        fprintf(stderr, "another library: ABI %d, %zu bytes\n", tl_abi(), tl_real_bytes());
        return 2;
    }
    memory_of_ones_own();
    threads_of_ones_own();
    refused();
    on_device("cpu");
    on_device(argv[1]);
    bring_to_hostcuda();
    return 0;
}
