/* tl/plan.h: what chance decides in one epoch, written down for the PyTorch twin.
 *
 * A file per epoch (format: tl/record.h) with sections
 *   order        u32[images]    index of the image at each position of the epoch
 *   crop         u8[images,2]   dy, dx of its crop (crop and flip only if augmenting)
 *   flip         u8[images]     1: the image is mirrored
 *   lr           f64[steps]     learning rate of each step
 *   keep<layer>  u8[steps,m]    dropout masks, m = batch*size/8 rounded up: bit i%8 of byte i/8 is
 *                               element i, 1: kept
 * A plan of fewer steps holds the first images of the same shuffle. Mask rows are those of a full
 * batch; a smaller last batch uses the beginning of its row. */
#ifndef TL_PLAN_H
#define TL_PLAN_H

#include "tl/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the first `max_steps` steps (0: all) of `epoch` to path. Draws nothing from tr's position.
 */
tl_status tl_plan_write(const tl_trainer *tr, const tl_net_spec *spec, uint32_t epoch,
                        uint64_t max_steps, const char *path);

#ifdef __cplusplus
}
#endif
#endif
