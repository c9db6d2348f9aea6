/* backend.c: what a dispatch table holds where a device has no operation (tl/backend.h). */
#include "tl/backend.h"

static tl_status missing(const tl_ctx *ctx, const char *name) {
    TL_NEED(!ctx || !ctx->ops->portable, TL_ENOTIMPL,
            "BITS=portable: %s has no kernel whose bits are the same on every machine; use "
            "BITS=fast",
            name);
    return TL_FAIL(TL_ENOTIMPL, "this device has no operation %s", name);
}

/* One function per operation, so that the message can name it. Parameter names are left out because
 * nothing looks at them; compilers older than C23 take that as an extension. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wc2x-extensions"
#endif

#define OP(name, lab, flops, ...)                                                                  \
    static tl_status missing_##name(tl_ctx *ctx TL_EACH(TL_TYPE, __VA_ARGS__)) {                   \
        return missing(ctx, #name);                                                                \
    }
#include "tl/ops.def"

void tl_backend_fill(tl_backend *ops) {
#define OP(name, ...)                                                                              \
    if (!ops->name) ops->name = missing_##name;
#include "tl/ops.def"
}

/* The rows of ops.def and the contracts in the headers say the same. (A compiler tells of a changed
 * type; names and sizes are what the claims of the labs go by.) */
#define CONTRACT(name, lab, flops, ...)                                                            \
    _Static_assert(__builtin_types_compatible_p(                                                   \
                       __typeof__(tl_##name), tl_status(tl_ctx * TL_EACH(TL_TYPE, __VA_ARGS__))),  \
                   #name ": its row in tl/ops.def and its declaration differ");
#define OP      CONTRACT
#define OP_CUDA CONTRACT
#include "tl/ops.def"
