/* status_internal.h: the failure line, for code that has one ready made: a plug-in's. */
#ifndef GRADLAB_STATUS_INTERNAL_H
#define GRADLAB_STATUS_INTERNAL_H

/* Stores the line that tl_error() of this thread returns next, cut at 511 bytes. */
void tl_error_set(const char *line);

#endif
