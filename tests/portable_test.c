/* portable_test.c: claims about tl/portable.h, and about the table of BITS=portable (tl/device.h).
 * That its bits are equal at every width is tests/test_portable.py's. */
#include "autograder/claim/claim.h"
#include "autograder/claim/expect.h"

#include <math.h>
#include <string.h>

#include "tl/device.h"
#include "tl/portable.h"

enum { DRAWS = 100000 };
static const long double pi = 3.14159265358979323846264338327950288L;

static void ok(claim *c, tl_status status) {
    expect_true(c, status == TL_OK, "%s: %s", tl_status_name(status), tl_error());
}

/* Of the number that is right, in units of its last place. */
static double error_of(double got, long double right) {
    double size = fabs((double)right);
    return (double)(fabsl((long double)got - right) /
                    (long double)(nextafter(size, INFINITY) - size));
}

static double draw_fraction(claim *c) { return (double)(draw_bits(c) >> 11) * 0x1p-53; }

CLAIM(portable, logarithm_is_within_two_units) {
    double worst = 0;
    for (int i = 0; i < DRAWS; i++) {
        /* around 1, where the result is small, and of every size down to the least */
        double u = draw_fraction(c),
               x = i % 2 ? 0.5 + 1.5 * u : ldexp(1 + u, (int)(2096 * u) - 1074);
        double error = x == 1 ? fabs(tl_portable_log(x)) : error_of(tl_portable_log(x), logl(x));
        if (!(error <= worst)) worst = error;
    }
    expect_true(c, worst > 0.5 && worst <= 2, "it is %g units off", worst);
    expect_true(c, tl_portable_log(0) == -INFINITY && tl_portable_log(INFINITY) == INFINITY,
                "ends");
    expect_true(c, isnan(tl_portable_log(-1)) && isnan(tl_portable_log(NAN)), "no number");
    expect_true(c, tl_portable_log(1) == 0, "log 1 is %g", tl_portable_log(1));
}

/* cos(pi x) from what is left of x behind its half turns, which long double tells exactly. */
static long double turned(double x, int turns) {
    double halves = rint(2 * x);
    long double t = ((long double)x - (long double)halves / 2) * pi;
    switch (((int)fmod(halves, 4) + 4 + turns) % 4) {
    case 0:
        return cosl(t);
    case 1:
        return -sinl(t);
    case 2:
        return -cosl(t);
    default:
        return sinl(t);
    }
}

CLAIM(portable, cosine_and_sine_are_within_two_units) {
    double worst = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = (draw_fraction(c) - 0.5) * (i % 2 ? 8 : 0x1p20);
        double cosine = error_of(tl_portable_cospi(x), turned(x, 0));
        double sine = error_of(tl_portable_sinpi(x), turned(x, 3));
        if (!(cosine <= worst)) worst = cosine;
        if (!(sine <= worst)) worst = sine;
    }
    expect_true(c, worst > 0.5 && worst <= 2, "they are %g units off", worst);
    for (int half = -9; half <= 9; half++) {
        static const double of[] = {1, 0, -1, 0};
        double cosine = tl_portable_cospi(half / 2.0), sine = tl_portable_sinpi(half / 2.0);
        expect_true(c, cosine == of[(half + 12) % 4] && sine == of[(half + 15) % 4],
                    "at %d/2: cosine %g, sine %g", half, cosine, sine);
    }
    expect_true(c, isnan(tl_portable_cospi(NAN)) && isnan(tl_portable_sinpi(INFINITY)),
                "no number");
}

CLAIM(portable, powers_are_within_their_bound) {
    for (int i = 0; i < 1000; i++) {
        uint64_t n = draw_bits(c) % 1000;
        double x = 0.9 + 0.2 * draw_fraction(c);
        double error = error_of(tl_portable_power(x, n), powl(x, (long double)n));
        expect_true(c, error <= 0.5 + (double)n, "%g^%d is %g units off", x, (int)n, error);
    }
    expect_true(c, tl_portable_power(0, 0) == 1 && tl_portable_power(-2, 3) == -8, "small powers");
}

/* What nobody has vouched for must not run, and must say why. */
CLAIM(portable, an_operation_that_promises_nothing_is_refused_by_name) {
    tl_ctx *ctx;
    tl_real x[16] = {0};
    ok(c, tl_device_open(&ctx, "cpu", "portable", 1));
    expect_true(c, ctx->ops->sum(ctx, x, x, 4) == TL_ENOTIMPL, "sum was run");
    expect_true(c, strstr(tl_error(), "BITS=portable: sum ") != NULL, "%s", tl_error());
    expect_true(c, ctx->ops->gemm != tl_gemm && ctx->ops->linear_fwd != tl_linear_fwd, "a BLAS");
    tl_device_close(ctx);
}
