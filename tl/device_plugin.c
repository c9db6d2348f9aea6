/* device_plugin.c: finds, opens and checks the shared object of a device (device_plugin.h). */
#define _GNU_SOURCE /* dladdr1, dlinfo */
#include "device_plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "status_internal.h"

static const tl_host_services services = {.set_error = tl_error_set};

/* The folder of what this code is linked into, a program or libtl.so, as an absolute path. Of a
 * library the loader noted it when it loaded it, wherever the program has gone since; of a program
 * the kernel knows it. */
static bool find_folder(char folder[PATH_MAX]) {
    Dl_info object;
    struct link_map *map = NULL;
    if (dladdr1(&services, &object, (void **)&map, RTLD_DL_LINKMAP) != 0 && map && map->l_name[0])
        return dlinfo(map, RTLD_DI_ORIGIN, folder) == 0;
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0) { /* no /proc here: as it was started, if that names the folder */
        const char *started = (const char *)(uintptr_t)getauxval(AT_EXECFN);
        length = started && *started == '/' ? snprintf(folder, PATH_MAX, "%s", started) : 0;
        if (length <= 0 || length >= PATH_MAX) return false;
    }
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0'; /* an absolute path */
    return true;
}

/* Plug-ins lie beside the program or library that make built with them. */
static tl_status find_file(char path[PATH_MAX], const char *device) {
    char folder[PATH_MAX];
    TL_NEED(find_folder(folder), TL_EDEVICE,
            "DEVICE=%s: cannot tell where this program lies (/proc is missing)", device);
    int size = snprintf(path, PATH_MAX, "%s/libtl_%s.so", folder, device);
    TL_NEED(size < PATH_MAX, TL_EDEVICE, "DEVICE=%s: the path of this program is too long", device);
    return TL_OK;
}

/* Why the file is not there. */
static tl_status not_built(const char *device) {
    if (strcmp(device, "cuda") == 0)
        return TL_FAIL(TL_EDEVICE, "DEVICE=cuda: libtl_cuda.so was not built, for make found no "
                                   "nvcc or cuBLAS; run make where the CUDA toolkit is, or use "
                                   "DEVICE=cpu (make doctor says what is there)");
    return TL_FAIL(TL_EDEVICE,
                   "DEVICE=%s: libtl_%s.so does not lie beside this program; make "
                   "builds it where a C++ compiler is, or use DEVICE=cpu (make doctor "
                   "says what is there)",
                   device, device);
}

tl_status device_plugin_load(const tl_plugin **plugin, const char *device) {
    *plugin = NULL;
    char path[PATH_MAX];
    TL_TRY(find_file(path, device));
    if (access(path, F_OK) != 0) return not_built(device);
    /* All symbols now, so that a missing library shows here; none of them for others, for the
     * program has functions of the same names. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    TL_NEED(library, TL_EDEVICE,
            "DEVICE=%s: the plug-in does not load (run make again, where cuBLAS is): %s", device,
            dlerror());
    /* POSIX promises what ISO C does not: the address of a function fits an object pointer. */
    tl_plugin_open_fn open_plugin = NULL;
    void *symbol = dlsym(library, "tl_plugin_open");
    memcpy(&open_plugin, &symbol, sizeof symbol);
    if (open_plugin) *plugin = open_plugin(TL_PLUGIN_ABI, sizeof(tl_real), &services);
    dlclose(library); /* the handle only: see device_plugin.h */
    TL_NEED(open_plugin, TL_EDEVICE, "DEVICE=%s: %s is no plug-in of gradlab: run make again",
            device, path);
    return *plugin ? TL_OK : TL_EDEVICE; /* the plug-in has said what does not fit */
}
