/* geometry_test.c: sizes that make no sense are refused before anything runs. (given code) */
#include "autograder/claim/expect.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static void expect_refused(claim *c, tl_status status, const char *what) {
    claim_case(c, NULL, "%s", what);
    expect_true(c, status == TL_EINVAL, "returned %s", tl_status_name(status));
    expect_true(c, strchr(tl_error(), ':') != NULL, "left the line \"%s\"", tl_error());
}

static const tl_conv2d_geom good_conv2d = {.n = 2,
                                           .c = 3,
                                           .h = 5,
                                           .w = 7,
                                           .k = 4,
                                           .r = 3,
                                           .s = 2,
                                           .stride_h = 1,
                                           .stride_w = 2,
                                           .pad_h = 1,
                                           .pad_w = 0,
                                           .dil_h = 1,
                                           .dil_w = 1};
static const tl_pool2d_geom good_pool2d = {.n = 2,
                                           .c = 3,
                                           .h = 5,
                                           .w = 7,
                                           .r = 3,
                                           .s = 2,
                                           .stride_h = 1,
                                           .stride_w = 2,
                                           .pad_h = 1,
                                           .pad_w = 0};

CLAIM(geometry, output_sizes_follow_the_formula) {
    for (int i = 0; i < 500; i++) {
        tl_conv2d_geom g = {.n = 1, .c = 1, .k = 1};
        g.h = draw_int(c, 1, 20), g.w = draw_int(c, 1, 20);
        g.r = draw_int(c, 1, 5), g.s = draw_int(c, 1, 5);
        g.stride_h = draw_int(c, 1, 4), g.stride_w = draw_int(c, 1, 4);
        g.pad_h = draw_int(c, 0, 3), g.pad_w = draw_int(c, 0, 3);
        g.dil_h = draw_int(c, 1, 3), g.dil_w = draw_int(c, 1, 3);
        /* count the placements instead of dividing */
        int p = 0, q = 0;
        while (p * g.stride_h + g.dil_h * (g.r - 1) < g.h + 2 * g.pad_h) p++;
        while (q * g.stride_w + g.dil_w * (g.s - 1) < g.w + 2 * g.pad_w) q++;
        tl_status status = tl_conv2d_check(&g);
        if (p == 0 || q == 0) {
            expect_refused(c, status, "tl_conv2d_check of an empty output");
            continue;
        }
        expect_true(
            c, status == TL_OK && g.p == p && g.q == q,
            "h %d r %d stride %d pad %d dilation %d: p is %d, expected %d; q %d, expected %d", g.h,
            g.r, g.stride_h, g.pad_h, g.dil_h, g.p, p, g.q, q);
    }
}

/* Every field below its least value, one at a time. */
CLAIM(geometry, conv2d_refuses_bad_sizes) {
    tl_conv2d_geom g;
#define REFUSE(field, value)                                                                       \
    g = good_conv2d;                                                                               \
    g.field = (value);                                                                             \
    expect_refused(c, tl_conv2d_check(&g), "tl_conv2d_check with " #field " = " #value)
    REFUSE(n, 0), REFUSE(c, 0), REFUSE(h, 0), REFUSE(w, 0), REFUSE(k, 0), REFUSE(r, 0);
    REFUSE(s, 0), REFUSE(n, -1), REFUSE(c, -3), REFUSE(h, INT_MIN), REFUSE(stride_h, 0);
    REFUSE(stride_w, -1), REFUSE(pad_h, -1), REFUSE(pad_w, -1), REFUSE(dil_h, 0), REFUSE(dil_w, 0);
    REFUSE(r, 9), REFUSE(s, 8); /* the filter is larger than the padded image */
    REFUSE(pad_h, INT_MAX), REFUSE(dil_h, INT_MAX), REFUSE(r, INT_MAX), REFUSE(h, INT_MAX);
    g = good_conv2d;
    expect_true(c, tl_conv2d_check(&g) == TL_OK, "the good geometry was refused: %s", tl_error());
    expect_refused(c, tl_conv2d_check(NULL), "tl_conv2d_check of NULL");
}

CLAIM(geometry, products_that_do_not_fit_are_refused) {
    const int huge = INT_MAX / 2;
    tl_conv2d_geom g = good_conv2d;
    g.n = g.c = g.h = g.w = huge;
    expect_refused(c, tl_conv2d_check(&g), "tl_conv2d_check of 2^120 pixels");
    tl_pool2d_geom p = good_pool2d;
    p.n = p.c = p.h = p.w = huge;
    expect_refused(c, tl_pool2d_check(&p), "tl_pool2d_check of 2^120 pixels");
}

#undef REFUSE
CLAIM(geometry, pool2d_refuses_bad_sizes) {
    tl_pool2d_geom g;
#define REFUSE(field, value)                                                                       \
    g = good_pool2d;                                                                               \
    g.field = (value);                                                                             \
    expect_refused(c, tl_pool2d_check(&g), "tl_pool2d_check with " #field " = " #value)
    REFUSE(n, 0), REFUSE(c, -1), REFUSE(h, 0), REFUSE(w, 0), REFUSE(r, 0), REFUSE(s, 0);
    REFUSE(stride_h, 0), REFUSE(stride_w, 0), REFUSE(pad_h, -1), REFUSE(pad_w, -1);
    REFUSE(pad_h, 3), REFUSE(pad_w, 2); /* a window may not lie in the padding alone */
    REFUSE(r, 8), REFUSE(r, INT_MAX);
    g = good_pool2d;
    expect_true(c, tl_pool2d_check(&g) == TL_OK, "the good geometry was refused: %s", tl_error());
    expect_refused(c, tl_pool2d_check(NULL), "tl_pool2d_check of NULL");
}

/* Looks and writes nothing: p and q that are not set yet, or are those of other sizes, are refused.
 */
CLAIM(geometry, pool2d_checked_asks_for_what_the_check_leaves) {
    tl_pool2d_geom g = good_pool2d;
    expect_refused(c, tl_pool2d_checked(&g), "tl_pool2d_checked before tl_pool2d_check");
    expect_true(c, g.p == 0 && g.q == 0, "it wrote p %d, q %d", g.p, g.q);
    expect_true(c, tl_pool2d_check(&g) == TL_OK, "the good geometry was refused: %s", tl_error());
    expect_true(c, tl_pool2d_checked(&g) == TL_OK, "what was checked was refused: %s", tl_error());
    g.h++;
    expect_refused(c, tl_pool2d_checked(&g), "tl_pool2d_checked of another height");
    expect_refused(c, tl_pool2d_checked(NULL), "tl_pool2d_checked of NULL");
}

CLAIM(geometry, batchnorm_refuses_bad_numbers) {
    static const struct {
        tl_batchnorm_geom g;
        const char *name;
    } bad[] = {{{-2, 3, 4, 1e-5, 0.1}, " n "},
               {{2, 0, 4, 1e-5, 0.1}, " c "},
               {{2, 3, 0, 1e-5, 0.1}, " hw "},
               {{INT_MAX, INT_MAX, INT_MAX, 1e-5, 0.1}, "x[n,c,hw]"},
               {{2, 3, 4, NAN, 0.1}, " eps "},
               {{2, 3, 4, -1e-300, 0.1}, " eps "},
               {{2, 3, 4, 1e-5, NAN}, " momentum "},
               {{2, 3, 4, 1e-5, -0.1}, " momentum "},
               {{2, 3, 4, 1e-5, 1.0000001}, " momentum "}};
    static const tl_batchnorm_geom good[] = {
        {1, 1, 1, 0, 0}, {2, 3, 4, 1e-5, 1}, {INT_MAX, 1, 1, 1e300, 0.5}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        expect_refused(c, tl_batchnorm_check(&bad[i].g), "tl_batchnorm_check of bad numbers");
        expect_true(c, strstr(tl_error(), bad[i].name) != NULL, "the line does not name%s: %s",
                    bad[i].name, tl_error());
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        expect_true(c, tl_batchnorm_check(&good[i]) == TL_OK, "good %d: %s", (int)i, tl_error());
    expect_refused(c, tl_batchnorm_check(NULL), "tl_batchnorm_check of NULL");
}

CLAIM(geometry, matmul_and_linear_refuse_bad_sizes) {
    static const int bad[][3] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {-1, 1, 1}, {1, INT_MIN, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const tl_matmul_geom m = {.m = bad[i][0], .n = bad[i][1], .k = bad[i][2]};
        const tl_linear_geom l = {.n = bad[i][0], .in = bad[i][1], .out = bad[i][2]};
        expect_refused(c, tl_matmul_check(&m), "tl_matmul_check with a size below 1");
        expect_refused(c, tl_linear_check(&l), "tl_linear_check with a size below 1");
    }
    expect_refused(c, tl_matmul_check(NULL), "tl_matmul_check of NULL");
    expect_refused(c, tl_linear_check(NULL), "tl_linear_check of NULL");
}

/* What a chunk of columns may take: at least one image, at most all, and never more than allowed
 * beyond the first. */
CLAIM(geometry, workspace_holds_a_chunk_of_images) {
    for (int i = 0; i < 300; i++) {
        tl_conv2d_geom g = good_conv2d;
        g.n = draw_int(c, 1, 40);
        expect_true(c, tl_conv2d_check(&g) == TL_OK, "%s", tl_error());
        size_t image = tl_conv2d_col_rows(&g) * tl_conv2d_col_cols(&g) * sizeof(tl_real);
        size_t allowed = (size_t)draw_int(c, 1, (int)(45 * image));
        size_t chunk = (size_t)tl_conv2d_chunk(&g, allowed);
        claim_case(c, NULL, "tl_conv2d_chunk of %d images, %zu bytes", g.n, allowed);
        expect_true(c, chunk >= 1 && chunk <= (size_t)g.n, "chunk is %zu", chunk);
        expect_true(c, chunk == 1 || chunk * image <= allowed, "chunk of %zu takes too much",
                    chunk);
        expect_true(c, chunk == (size_t)g.n || (chunk + 1) * image > allowed,
                    "chunk is %zu, one more would fit", chunk);
        size_t rows = (size_t)g.k * chunk * tl_conv2d_col_cols(&g) * sizeof(tl_real);
        static char work[1]; /* never touched: it is a place to count from */
        tl_conv2d_part part = tl_conv2d_first(&g, allowed, work);
        size_t offset = (size_t)((char *)part.rows - work);
        expect_true(c, (char *)part.col == work, "the columns do not come first");
        expect_true(c, offset >= chunk * image && offset % 256 == 0, "rows lie at %zu", offset);
        expect_true(c, tl_conv2d_work_bytes(&g, allowed) >= offset + rows, "work is too short");
    }
}

CLAIM(geometry, unchecked_geometry_has_no_workspace) {
    tl_conv2d_geom g = good_conv2d;
    g.p = g.q = 0;
    expect_true(c, tl_conv2d_work_bytes(&g, 4096) == 0, "p and q are not worked out yet");
    expect_true(c, tl_conv2d_work_bytes(NULL, 4096) == 0, "the geometry is NULL");
    expect_true(c, tl_conv2d_chunk(&g, 4096) == 0, "no image is known to fit");
}

/* Every image is in one chunk, in order; all chunks but the last are full. They share scratch. */
CLAIM(geometry, chunks_cover_the_batch_once) {
    for (int i = 0; i < 300; i++) {
        tl_conv2d_geom g = good_conv2d;
        g.n = draw_int(c, 1, 40);
        expect_true(c, tl_conv2d_check(&g) == TL_OK, "%s", tl_error());
        size_t x = tl_conv2d_x_size(&g) / (size_t)g.n, y = tl_conv2d_y_size(&g) / (size_t)g.n;
        size_t image = tl_conv2d_col_rows(&g) * tl_conv2d_col_cols(&g) * sizeof(tl_real);
        size_t allowed = (size_t)draw_int(c, 1, (int)(45 * image)), done = 0;
        size_t chunk = (size_t)tl_conv2d_chunk(&g, allowed), left = (size_t)g.n;
        static char work[1];
        const tl_conv2d_part first = tl_conv2d_first(&g, allowed, work);
        claim_case(c, NULL, "%d images, %zu at a time", g.n, chunk);
        for (tl_conv2d_part part = first; part.images; tl_conv2d_next(&part, &g)) {
            size_t wanted = left < chunk ? left : chunk;
            expect_true(c, (size_t)part.images == wanted, "%d images, and %zu are left",
                        part.images, left);
            expect_true(c, (size_t)part.first == done && part.x == done * x && part.y == done * y,
                        "image %zu: first %d, x %zu, y %zu", done, part.first, part.x, part.y);
            expect_true(c, part.col == first.col && part.rows == first.rows, "other scratch");
            done += wanted;
            left -= wanted;
        }
        expect_true(c, left == 0, "%zu images are left out", left);
    }
}
