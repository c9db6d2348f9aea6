/* plugin_status.h: where the failure lines of a plug-in go. */
#ifndef GRADLAB_PLUGIN_STATUS_H
#define GRADLAB_PLUGIN_STATUS_H

#include "tl/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called first of all: until then failure lines are lost. *host must stay. */
void plugin_status_host(const tl_host_services *host);

#ifdef __cplusplus
}
#endif
#endif
