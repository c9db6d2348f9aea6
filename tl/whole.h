/* whole.h: a net that runs as one operation where the device has it planned. */
#ifndef GRADLAB_WHOLE_H
#define GRADLAB_WHOLE_H

#include "tl/module.h"

/* Lets a sequential, of layers and of blocks of layers, run as a whole (tl/net.h): one node on the
 * tape, its results in one piece of memory. Where the table has no such entry, or the net is none
 * of that kind, its modules run one after the other, as before. */
void tl_module_whole(tl_module *net);

#endif
