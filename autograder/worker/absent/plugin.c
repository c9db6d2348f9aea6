/* plugin.c: stands for tl/device_plugin.c in a worker that judges C on the cpu. Such a worker opens
 * no plug-in: the CUDA half of a task is not to do the work of its C half. */
#include "tl/device_plugin.h"

tl_status device_plugin_load(const tl_plugin **plugin, const char *device) {
    *plugin = NULL;
    return TL_FAIL(TL_EDEVICE, "DEVICE=%s: this worker runs on the cpu, and opens no other device",
                   device);
}
