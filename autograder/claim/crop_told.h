/* crop_told.h: what is wrong with the crops of a batch that was loaded with augmentation. */
#ifndef TESTS_CROP_TOLD_H
#define TESTS_CROP_TOLD_H

#include "autograder/oracle/oracle.h"
#include "claim.h"

#include "tl/data.h"

/* After a comparison that failed: x[n,c,h,w] is what batch b of split s became. Adds to the finding
 * "beyond_the_picture" if all pixels of pictures are right, "rows_shifted" ("columns_shifted") if
 * every image is right but for a crop that begins at another row (column). */
void crop_tell(claim *c, const tl_real *x, const oracle_batch *b, const tl_device_split *s);

#endif
