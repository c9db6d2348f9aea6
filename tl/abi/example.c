/* example.c: a convolution by libtl.so, on the device whose name is the first argument. */
#include <stdio.h>
#include <tl/tl.h>

static tl_status edges(tl_ctx *ctx) {
    tl_conv2d_geom g = {.n = 1, .c = 1, .h = 4, .w = 6, .k = 1, .r = 3, .s = 3};
    g.stride_h = g.stride_w = g.pad_h = g.pad_w = g.dil_h = g.dil_w = 1;
    TL_TRY(tl_conv2d_check(&g)); /* sets p and q, the size of y */

    tl_real image[4 * 6] = {0}, filter[9] = {-1, -1, -1, -1, 8, -1, -1, -1, -1}, out[4 * 6];
    for (int i = 0; i < 4; i++) image[6 * i + 3] = image[6 * i + 4] = 1;
    tl_tensor *x, *w, *y;
    void *work; /* an operation allocates nothing: its scratch comes from outside */
    TL_TRY(tl_tensor_new(&x, ctx, 4, (int[]){g.n, g.c, g.h, g.w}));
    TL_TRY(tl_tensor_new(&w, ctx, 4, (int[]){g.k, g.c, g.r, g.s}));
    TL_TRY(tl_tensor_new(&y, ctx, 4, (int[]){g.n, g.k, g.p, g.q}));
    TL_TRY(tl_alloc_get(ctx->alloc, &work, tl_conv2d_work_bytes(&g, ctx->ops->column_bytes)));
    TL_TRY(tl_tensor_from_host(x, image));
    TL_TRY(tl_tensor_from_host(w, filter));
    TL_TRY(tl_conv2d_fwd(ctx, y->data, x->data, w->data, NULL, &g, work));
    TL_TRY(tl_tensor_to_host(y, out)); /* waits for the device */
    for (int i = 0; i < 4 * 6; i++) printf("%3g%s", (double)out[i], i % 6 == 5 ? "\n" : "");
    tl_alloc_put(ctx->alloc, work);
    tl_tensor_free(y), tl_tensor_free(w), tl_tensor_free(x);
    return TL_OK;
}

int main(int argc, char **argv) {
    tl_ctx *ctx;
    tl_status status = tl_device_open(&ctx, argc > 1 ? argv[1] : "auto", "all", 0);
    if (status == TL_OK) status = edges(ctx);
    if (status != TL_OK) fprintf(stderr, "%s\n", tl_error());
    tl_device_close(ctx); /* NULL after a failed open */
    return status != TL_OK;
}
