/* exact_net_test.c: nets of so many outputs that tiles are 128 channels wide, or that no block
 * shares a sum: of whole numbers all bits are those of their modules, as in rounded_net_test.c. */
#include "rounded_net.h"

#ifndef TL_REAL_DOUBLE

/* clang-format off */
/* tiles of 128 channels, of which there are many */
static const tl_layer many[] = {CONV(66, 1), RELU, POOL, CONV(2, 0), RELU, FLATTEN, LINEAR(1),
                                END};
/* squares of 8x8 outputs, which read patches: of many channels, and wide on the way back */
static const tl_layer patches[] = {CONV(33, 1), RELU, CONV(40, 1), POOL, RELU, FLATTEN, LINEAR(2),
                                   END};
static const tl_layer many_squares[] = {CONV(66, 1), RELU, CONV(2, 1), POOL, RELU, FLATTEN,
                                        LINEAR(1), END};
/* clang-format on */

static const tl_net_spec many_tiles = {.name = "many", .c = 1, .h = 54, .w = 54, .layer = many};
static const tl_net_spec many_patches = {
    .name = "patches", .c = 1, .h = 40, .w = 40, .layer = patches};
static const tl_net_spec many_wide_squares = {
    .name = "many squares", .c = 1, .h = 56, .w = 56, .layer = many_squares};

static void expect_large(claim *c, const tl_net_spec *spec, bool training, int wide) {
    FOR_ROUNDED_TARGETS(t) {
        tl_ctx *ctx = open_in(c, t);
        trial once = new_trial(c, spec, training, true, wide);
        once.passes = 1;
        if (ctx->ops->net_plan) expect_composed(c, t, ctx, once);
        tl_device_close(ctx);
    }
}

/* (the sums on the way back would not be exact) */
CLAIM(exact_net, many_tiles_of_whole_numbers_are_those_of_the_modules) {
    expect_large(c, &many_tiles, false, ALL_SMALL);
}
CLAIM(exact_net, many_patches_of_whole_numbers_are_those_of_the_modules) {
    expect_large(c, &many_patches, true, NO_ARRAY);
}
CLAIM(exact_net, many_squares_of_whole_numbers_are_those_of_the_modules) {
    expect_large(c, &many_wide_squares, true, NO_ARRAY);
}
#endif
