/* step.h: giving back captured work (step.c). */
#ifndef GRADLAB_STEP_H
#define GRADLAB_STEP_H

#include "tl/train.h"

/* Frees all graphs of the trainer. */
void tl_captured_free(tl_trainer *tr);

#endif
