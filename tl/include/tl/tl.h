/* tl/tl.h: everything that libtl.so offers.
 *
 *   cc program.c $(pkg-config --cflags --libs tl)        tl_real is float
 *   cc program.c $(pkg-config --cflags --libs tl-double)
 *
 * Open a context, call operations with it, close it:
 *
 *   tl_ctx *ctx;
 *   float x[4] = {1, 2, 3, 4}, y[4];
 *   if (tl_device_open(&ctx, "cpu", "all", 0) != TL_OK || tl_scale(ctx, y, x, 4, 2) != TL_OK)
 *       fprintf(stderr, "%s\n", tl_error());
 *   tl_device_close(ctx);
 *
 * An operation runs on the device of its context: libtl.so's tl_conv2d_fwd(ctx, …) is
 * ctx->ops->conv2d_fwd(ctx, …), and its pointers lie in that device's memory, which on the cpu is
 * the program's own (tl/device.h: tl_device_get, _copy_in, _copy_out; tl/tensor.h). Every function
 * that can fail returns a tl_status, and tl_error() says why in one line.
 *
 * Where to look: tl/device.h; sizes and their checks in tl/geometry.h, which come first; then the
 * operations in tl/layers.h, conv2d.h, matmul.h, reduce.h, elementwise.h, optim.h, and what holds
 * for all of them in tl/context.h. An operation cannot see how long an array is: one that is too
 * short is read or written beyond its end. Gradients without writing backward by hand are in
 * tl/tape.h; whole nets in tl/module.h, params.h and train.h. share/doc/tl has a page and two
 * examples. */
#ifndef TL_TL_H
#define TL_TL_H

#include "tl/alloc.h"
#include "tl/backend.h"
#include "tl/checkpoint.h"
#include "tl/data.h"
#include "tl/device.h"
#include "tl/init.h"
#include "tl/loss.h"
#include "tl/metrics.h"
#include "tl/module.h"
#include "tl/nets.h"
#include "tl/optim.h"
#include "tl/params.h"
#include "tl/tape.h"
#include "tl/tensor.h"
#include "tl/train.h"
#include "tl/version.h"

/* A program that was compiled for one precision and linked with the other's library would compute
 * nonsense: it names what only the right one has, so that the linker refuses. */
#ifdef TL_REAL_DOUBLE
extern const char tl_is_double;
static const char *const tl_real_is __attribute__((used)) = &tl_is_double;
#else
extern const char tl_is_float;
static const char *const tl_real_is __attribute__((used)) = &tl_is_float;
#endif

#endif
