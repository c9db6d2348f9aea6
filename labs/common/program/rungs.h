/* rungs.h: which kernels of kernels/ replace the plain path of a device. */
#ifndef GRADLAB_RUNGS_H
#define GRADLAB_RUNGS_H

#include "tl/backend.h"

/* Overwrites entries of ops, the table of the device it names, as `choice` says: "all", "none", or
 * "conv2d:1,sgemm:4". TL_EINVAL lists the rungs of the device if one is unknown. */
tl_status rungs_apply(tl_backend *ops, const char *choice);

#endif
