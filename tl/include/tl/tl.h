/* tl/tl.h: everything that libtl.so offers.
 *
 *   cc program.c $(pkg-config --cflags --libs tl)        tl_real is float
 *   cc program.c $(pkg-config --cflags --libs tl-double)
 *
 * Open a context (tl/device.h), call operations with it, close it. An operation runs on the device
 * of its context: libtl.so's tl_conv2d_fwd(ctx, …) is ctx->ops->conv2d_fwd(ctx, …), and its
 * pointers lie in that device's memory (tl/backend.h: copy_in, copy_out, zero, sync; tl/alloc.h).
 * Every function that can fail returns a tl_status, and tl_error() says why in one line. */
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

#endif
