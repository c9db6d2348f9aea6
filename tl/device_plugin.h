/* device_plugin.h: devices that lie in a shared object beside the program, for device.c. */
#ifndef GRADLAB_DEVICE_PLUGIN_H
#define GRADLAB_DEVICE_PLUGIN_H

#include "tl/plugin.h"

/* Opens libtl_<device>.so in the folder of this program and gives its functions. TL_EDEVICE says
 * what is missing: the file, a library that it needs, or the build that fits this program.
 *
 * A plug-in once opened stays in the process: a CUDA library leaves threads and exit handlers
 * behind, which must not lose their code. Opening it again gives the same one. */
tl_status device_plugin_load(const tl_plugin **plugin, const char *device);

#endif
