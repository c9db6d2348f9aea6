/* folder.c: making a folder with all that are above it (tl/folder.h). */
#include "tl/folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* 0, or errno. What is there already may be a file, or a link to a folder. */
static int make_one(const char *path) {
    struct stat s;
    if (mkdir(path, 0777) == 0) return 0;
    if (errno != EEXIST) return errno;
    return stat(path, &s) != 0 ? errno : S_ISDIR(s.st_mode) ? 0 : ENOTDIR;
}

tl_status tl_make_folder(const char *path, const char *fix) {
    char part[PATH_MAX];
    TL_NEED(strlen(path) < sizeof part, TL_EIO, "cannot make folder %.40s…: the path is too long%s",
            path, fix);
    for (size_t i = 0; path[i];) {
        i += strcspn(path + i + 1, "/") + 1; /* to the end of this name */
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        int failed = make_one(part);
        TL_NEED(!failed, TL_EIO, "cannot make folder %s: %s%s%s%s", path, path[i] ? part : "",
                path[i] ? ": " : "", strerror(failed), fix);
    }
    return TL_OK;
}
