/* tl/folder.h: making the folders that programs write to. */
#ifndef TL_FOLDER_H
#define TL_FOLDER_H

#include "tl/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a folder and the folders above it; one that is there is fine. TL_EIO names path and reason,
 * and ends with `fix`, which says what to do about it ("": nothing more). */
tl_status tl_make_folder(const char *path, const char *fix);

#ifdef __cplusplus
}
#endif

#endif
