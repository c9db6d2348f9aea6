/* tl/checkpoint.h: the whole state of a run in one file (format: tl/record.h).
 *
 * Holds options, position, parameters ("w/<name>"), optimiser state ("s0/<name>", "s1/<name>"),
 * buffers ("b/<name>"), the sums of a broken-off epoch, and losses and accuracies of the finished
 * ones ("history" f64[epochs,4]: tl/history.h; absent in the first epoch); no times, paths, devices
 * or thread counts, so equal runs leave equal files. */
#ifndef TL_CHECKPOINT_H
#define TL_CHECKPOINT_H

#include "tl/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `options` is one line that names everything the run depends on ("net=a batch=64 …"). TL_EINVAL if
 * tr->history does not hold one row for each of tr->epoch epochs. */
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
