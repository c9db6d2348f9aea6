/* dispatch.c: the operations as libtl.so exports them: each goes to the device of its context.
 *
 * In a program of ours tl_conv2d_fwd is the plain path of the cpu, and who wants the device's own
 * calls ctx->ops->conv2d_fwd. Who has the header alone expects the name to do that. So the
 * library's other objects are joined first and keep their tl_conv2d_fwd to themselves (mk/lib.mk);
 * these take the names. */
#include "tl/backend.h"
#include "tl/version.h"

#define TL_PASS(op, lab, flops, ...)                                                               \
    tl_status tl_##op(tl_ctx *ctx TL_EACH(TL_PARAM, __VA_ARGS__)) {                                \
        TL_NEED(ctx, TL_EINVAL, "tl_" #op ": ctx is NULL");                                        \
        /* the cpu has none of CUDA's own operations */                                            \
        TL_NEED(ctx->ops->op, TL_ENOTIMPL, "device %s has no operation " #op, ctx->ops->name);     \
        return ctx->ops->op(ctx TL_EACH(TL_NAME, __VA_ARGS__));                                    \
    }
#define OP      TL_PASS
#define OP_CUDA TL_PASS
#include "tl/ops.def"

/* what tl/tl.h asks the linker for */
#ifdef TL_REAL_DOUBLE
const char tl_is_double = 1;
#else
const char tl_is_float = 1;
#endif

const char *tl_version(void) { return TL_VERSION; }
int tl_abi(void) { return TL_ABI; }
size_t tl_real_bytes(void) { return sizeof(tl_real); }
