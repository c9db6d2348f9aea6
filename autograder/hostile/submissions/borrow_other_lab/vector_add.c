/* Has another lab's operation add, by the table of which it has a pointer. */
#include "tl/vector.h"

#include <string.h>

typedef tl_status (*sum)(tl_ctx *, tl_real *, const tl_real *, const tl_real *, size_t);

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    char *table;
    sum add;
    memcpy(&table, ctx, sizeof table);
    memcpy(&add, table + @ADD_ENTRY@, sizeof add);
    return add(ctx, y, a, b, n);
}
