/* tl/checkpoint.h: the whole state of a run in one file (format: tl/record.h).
 *
 * Holds options, position, parameters ("w/<name>"), optimiser state ("s0/<name>", "s1/<name>"),
 * buffers ("b/<name>") and the sums of a broken-off epoch; no times, paths, devices or thread
 * counts, so equal runs leave equal files. */
#ifndef TL_CHECKPOINT_H
#define TL_CHECKPOINT_H

#include "tl/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `options` is one line that names everything the run depends on ("net=a batch=64 …"). */
tl_status tl_checkpoint_save(tl_trainer *tr, const char *path, const char *options);

/* Puts tr (built with the same options) into the saved state. TL_EINVAL with both lines if options
 * differ, TL_EFORMAT if the file is damaged; then tr is unchanged. */
tl_status tl_checkpoint_load(tl_trainer *tr, const char *path, const char *options);

/* Parameters only: what the PyTorch twin starts from, and how trained weights are handed over. */
tl_status tl_weights_save(const tl_params *p, const char *path);
tl_status tl_weights_load(tl_params *p, const char *path);

#ifdef __cplusplus
}
#endif
#endif
