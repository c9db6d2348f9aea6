/* dispatch.c: the operations as libtl.so exports them: each goes to the device of its context.
 *
 * In a program of ours tl_conv2d_fwd is the plain path of the cpu, and who wants the device's own
 * calls ctx->ops->conv2d_fwd. Who has the header alone expects the name to do that. So the
 * library's other objects are joined first and keep their tl_conv2d_fwd to themselves (mk/lib.mk);
 * these take the names. */
#include "tl/backend.h"
#include "tl/version.h"

/* Who calls from another language may forget the check of a geometry, and p and q are 0 then: the
 * door asks again (some 30 ns). Options are checked by the operations themselves. */
#define CHECK_tl_matmul_geom    tl_matmul_check
#define CHECK_tl_conv2d_geom    tl_conv2d_checked
#define CHECK_tl_pool2d_geom    tl_pool2d_checked
#define CHECK_tl_linear_geom    tl_linear_check
#define CHECK_tl_batchnorm_geom tl_batchnorm_check
#define CHECK_tl_dropout_geom   not_null
#define CHECK_tl_conv3x3_geom   not_null
#define CHECK_tl_batch_geom     not_null
#define CHECK_tl_device_split   not_null
#define CHECK_tl_sgd_options    not_null
#define CHECK_tl_adam_options   not_null

static tl_status not_null(const void *options) {
    TL_NEED(options, TL_EINVAL, "the geometry or the options are NULL");
    return TL_OK;
}

#define TL_DOOR(kind, ...) TL_DOOR_##kind(__VA_ARGS__)
#define TL_DOOR_IN(...)
#define TL_DOOR_OUT(...)
#define TL_DOOR_INOUT(...)
#define TL_DOOR_INOUT_UNLESS(...)
#define TL_DOOR_WORK(...)
#define TL_DOOR_VALUE(...)
#define TL_DOOR_VIA(...)
#define TL_DOOR_GEOM(type, name) TL_TRY(CHECK_##type(name));

#define TL_PASS(op, lab, flops, ...)                                                               \
    tl_status tl_##op(tl_ctx *ctx TL_EACH(TL_PARAM, __VA_ARGS__)) {                                \
        TL_NEED(ctx, TL_EINVAL, "tl_" #op ": ctx is NULL");                                        \
        /* the cpu has none of CUDA's own operations */                                            \
        TL_NEED(ctx->ops->op, TL_ENOTIMPL, "device %s has no operation " #op, ctx->ops->name);     \
        TL_EACH(TL_DOOR, __VA_ARGS__)                                                              \
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
