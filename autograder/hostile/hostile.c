/* hostile.c: two operations of lab 2, each with a deed in front of the reference's work. */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <string.h>

/* The reference under other names; what it calls of itself stays inside. */
#define tl_im2col     reference_im2col
#define tl_conv2d_fwd reference_conv2d_fwd
#include "tl/conv2d.h"
#undef tl_im2col
#undef tl_conv2d_fwd

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

tl_status tl_conv2d_fwd(tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_real *,
                        const tl_conv2d_geom *, void *);
tl_status tl_conv2d_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_conv2d_geom *g, void *work) {
    hostile_do("conv2d_fwd", &(hostile_call){ctx, y, tl_conv2d_y_size(g), x});
    return reference_conv2d_fwd(ctx, y, x, w, b, g, work);
}
