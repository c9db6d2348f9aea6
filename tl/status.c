/* status.c: the failure line of each thread (tl/status.h). */
#include "tl/status.h"

#include "status_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char error_line[512];
static _Thread_local char unwritten_line[512]; /* the first one of TL_ENOTIMPL */

const char *tl_status_name(tl_status status) {
    switch (status) {
    case TL_OK:
        return "TL_OK";
    case TL_ENOTIMPL:
        return "TL_ENOTIMPL";
    case TL_EINVAL:
        return "TL_EINVAL";
    case TL_ESHAPE:
        return "TL_ESHAPE";
    case TL_ENOMEM:
        return "TL_ENOMEM";
    case TL_EIO:
        return "TL_EIO";
    case TL_EFORMAT:
        return "TL_EFORMAT";
    case TL_EDEVICE:
        return "TL_EDEVICE";
    }
    return "TL_?";
}

const char *tl_error(void) { return error_line; }

void tl_error_set(const char *line) { snprintf(error_line, sizeof error_line, "%s", line); }

tl_status tl_fail(tl_status status, const char *file, int line, const char *format, ...) {
    const char *slash = strrchr(file, '/');
    int used = snprintf(error_line, sizeof error_line, "%s:%d: ", slash ? slash + 1 : file, line);
    if (used < 0 || (size_t)used >= sizeof error_line) return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_line + used, sizeof error_line - (size_t)used, format, arguments);
    va_end(arguments);
    if (status == TL_ENOTIMPL && !unwritten_line[0])
        memcpy(unwritten_line, error_line, sizeof unwritten_line);
    return status;
}

tl_status tl_root_cause(tl_status status) {
    if (!unwritten_line[0]) return status;
    tl_error_set(unwritten_line);
    return TL_ENOTIMPL;
}
