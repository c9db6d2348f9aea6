/* status_internal.h: the failure line, for code that has one ready made: a plug-in's, and why a
 * program failed. */
#ifndef GRADLAB_STATUS_INTERNAL_H
#define GRADLAB_STATUS_INTERNAL_H

#include "tl/status.h"

/* Stores the line that tl_error() of this thread returns next, cut at 511 bytes. */
void tl_error_set(const char *line);

/* What the work of this thread comes to, of which the latest call gave `status`. A function that
 * returns no status and is not written yet cannot stop its caller: that goes on with a shape that
 * "differs" or a rate that is no number, and fails elsewhere or not at all. After the first such
 * call this is TL_ENOTIMPL with the line of that function; else `status` with its own. */
tl_status tl_root_cause(tl_status status);

#endif
