/* backend.c: what a dispatch table holds where a device has no operation (tl/backend.h). */
#include "tl/backend.h"

/* One function per operation, so that the message can name it. Parameter names are left out because
 * nothing looks at them; compilers older than C23 take that as an extension. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wc2x-extensions"
#endif

#define MISSING(name, arguments)                                                                   \
    static tl_status missing_##name arguments {                                                    \
        return TL_FAIL(TL_ENOTIMPL, "this device has no operation %s", #name);                     \
    }
TL_BACKEND_OPS(MISSING)

void tl_backend_fill(tl_backend *ops) {
#define FILL(name, arguments)                                                                      \
    if (!ops->name) ops->name = missing_##name;
    TL_BACKEND_OPS(FILL)
#undef FILL
}
