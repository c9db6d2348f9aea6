/* shape.c: the text of a shape, for messages (tl/tensor.h). */
#include "tl/tensor.h"

#include <stdio.h>

char *tl_shape_text(char text[TL_SHAPE_TEXT], int ndim, const int dim[]) {
    /* Four numbers of up to 11 characters fit. A wrong ndim is what a message may be about, so dim
     * is never read beyond TL_MAX_DIMS, and the cut shows. */
    int shown = ndim > TL_MAX_DIMS ? TL_MAX_DIMS : ndim;
    int used = snprintf(text, TL_SHAPE_TEXT, "[");
    for (int i = 0; i < shown; i++) {
        const char *comma = i > 0 ? "," : "";
        used += snprintf(text + used, TL_SHAPE_TEXT - (size_t)used, "%s%d", comma, dim[i]);
    }
    snprintf(text + used, TL_SHAPE_TEXT - (size_t)used, "%s", shown < ndim ? ",...]" : "]");
    return text;
}
