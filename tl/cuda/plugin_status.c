/* plugin_status.c: tl_fail inside a plug-in: the line goes to the program (tl/status.h).
 *
 * A plug-in is bound inside, so its operations cannot reach the program's tl_fail, and a second
 * copy of the line here would be one that tl_error() never shows. */
#include "plugin_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The only state of a plug-in: written once, before anything else in it runs. */
static const tl_host_services *services;

void plugin_status_host(const tl_host_services *host) { services = host; }

tl_status tl_fail(tl_status status, const char *file, int line, const char *format, ...) {
    char text[512];
    const char *slash = strrchr(file, '/');
    int used = snprintf(text, sizeof text, "%s:%d: ", slash ? slash + 1 : file, line);
    if (used >= 0 && (size_t)used < sizeof text) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
        va_end(arguments);
    }
    if (services) services->set_error(text);
    return status;
}
