/* hostile.c: the operations of lab 2, each with a deed in front of the reference's work. */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <string.h>

/* The reference under other names; what it calls of itself stays inside. */
#define tl_im2col            reference_im2col
#define tl_col2im            reference_col2im
#define tl_conv2d_fwd        reference_conv2d_fwd
#define tl_conv2d_bwd_input  reference_conv2d_bwd_input
#define tl_conv2d_bwd_weight reference_conv2d_bwd_weight
#define tl_conv2d_bwd_bias   reference_conv2d_bwd_bias
#include "tl/conv2d.h"
#undef tl_im2col
#undef tl_col2im
#undef tl_conv2d_fwd
#undef tl_conv2d_bwd_input
#undef tl_conv2d_bwd_weight
#undef tl_conv2d_bwd_bias

static const struct {
    const char *name;
    hostile_deed deed;
} deeds[] = {
#define HOSTILE_ROW(deed) {#deed, hostile_##deed},
    HOSTILE_DEEDS(HOSTILE_ROW)};

void hostile_do(const char *operation, const hostile_call *call) {
    const char *name = program_invocation_short_name;
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        size_t length = strlen(deeds[i].name);
        if (strncmp(name, "hostile-", 8) != 0 || strncmp(name + 8, deeds[i].name, length) != 0)
            continue;
        if (name[8 + length] == '-' && strcmp(name + 9 + length, operation) == 0)
            deeds[i].deed(call);
    }
}

tl_status tl_im2col(tl_ctx *, tl_real *, const tl_real *, int, const tl_conv2d_geom *);
tl_status tl_im2col(tl_ctx *ctx, tl_real *col, const tl_real *x, int images,
                    const tl_conv2d_geom *g) {
    size_t n = tl_conv2d_col_rows(g) * (size_t)images * tl_conv2d_col_cols(g);
    hostile_do("im2col", &(hostile_call){ctx, col, n, x});
    return reference_im2col(ctx, col, x, images, g);
}

tl_status tl_col2im(tl_ctx *, tl_real *, const tl_real *, int, const tl_conv2d_geom *);
tl_status tl_col2im(tl_ctx *ctx, tl_real *dx, const tl_real *col, int images,
                    const tl_conv2d_geom *g) {
    size_t n = tl_conv2d_x_size(g) / (size_t)g->n * (size_t)images;
    hostile_do("col2im", &(hostile_call){ctx, dx, n, col});
    return reference_col2im(ctx, dx, col, images, g);
}

tl_status tl_conv2d_fwd(tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_real *,
                        const tl_conv2d_geom *, void *);
tl_status tl_conv2d_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_conv2d_geom *g, void *work) {
    hostile_do("conv2d_fwd", &(hostile_call){ctx, y, tl_conv2d_y_size(g), x});
    return reference_conv2d_fwd(ctx, y, x, w, b, g, work);
}

tl_status tl_conv2d_bwd_input(tl_ctx *, tl_real *, const tl_real *, const tl_real *,
                              const tl_conv2d_geom *, void *);
tl_status tl_conv2d_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                              const tl_conv2d_geom *g, void *work) {
    hostile_do("conv2d_bwd_input", &(hostile_call){ctx, dx, tl_conv2d_x_size(g), dy});
    return reference_conv2d_bwd_input(ctx, dx, dy, w, g, work);
}

tl_status tl_conv2d_bwd_weight(tl_ctx *, tl_real *, const tl_real *, const tl_real *,
                               const tl_conv2d_geom *, void *);
tl_status tl_conv2d_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                               const tl_conv2d_geom *g, void *work) {
    hostile_do("conv2d_bwd_weight", &(hostile_call){ctx, dw, tl_conv2d_w_size(g), dy});
    return reference_conv2d_bwd_weight(ctx, dw, dy, x, g, work);
}

tl_status tl_conv2d_bwd_bias(tl_ctx *, tl_real *, const tl_real *, const tl_conv2d_geom *);
tl_status tl_conv2d_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_conv2d_geom *g) {
    hostile_do("conv2d_bwd_bias", &(hostile_call){ctx, db, (size_t)g->k, dy});
    return reference_conv2d_bwd_bias(ctx, db, dy, g);
}
