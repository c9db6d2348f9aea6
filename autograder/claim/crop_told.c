/* crop_told.c: which part of a crop is wrong, from the pixels. */
#include "crop_told.h"

#include "verdict.h"

#include "tl/rng.h"

/* Pixel (row, col) of image i of the batch as a crop shows it, and whether that is of the picture.
 */
static bool pixel_of(double *pixel, const oracle_batch *b, const tl_device_split *s, int i, int ch,
                     int row, int col, tl_crop crop) {
    row += crop.dy - b->pad;
    col = (crop.flip ? b->w - 1 - col : col) + crop.dx - b->pad;
    bool inside = row >= 0 && row < b->h && col >= 0 && col < b->w;
    size_t plane = (size_t)oracle_batch_image(b, i) * (size_t)b->c + (size_t)ch;
    size_t at = (plane * (size_t)b->h + (size_t)row) * (size_t)b->w + (size_t)col;
    *pixel = s->lut[ch * 256 + (inside ? s->images[at] : 0)];
    return inside;
}

/* Does image i show this crop, all of it or what is of the picture? */
static bool shows(const tl_real *x, const oracle_batch *b, const tl_device_split *s, int i,
                  tl_crop crop, bool picture_alone) {
    for (int ch = 0; ch < b->c; ch++)
        for (int row = 0; row < b->h; row++)
            for (int col = 0; col < b->w; col++) {
                double pixel;
                bool inside = pixel_of(&pixel, b, s, i, ch, row, col, crop);
                if (*x++ != pixel && (inside || !picture_alone)) return false;
            }
    return true;
}

/* … or one that begins anywhere else in one direction? */
static bool shows_moved(const tl_real *x, const oracle_batch *b, const tl_device_split *s, int i,
                        tl_crop crop, bool in_rows) {
    for (int begin = -b->pad; begin <= 3 * b->pad; begin++) {
        *(in_rows ? &crop.dy : &crop.dx) = begin;
        if (shows(x, b, s, i, crop, false)) return true;
    }
    return false;
}

void crop_tell(claim *c, const tl_real *x, const oracle_batch *b, const tl_device_split *s) {
    const size_t image = (size_t)b->c * (size_t)b->h * (size_t)b->w;
    bool inside = true, rows = true, columns = true;
    if (!b->augment || b->pad == 0) return;
    for (int i = 0; i < b->n; i++, x += image) {
        tl_crop crop = tl_rng_crop(b->seed, b->epoch, b->first + (uint32_t)i, b->pad);
        inside = inside && shows(x, b, s, i, crop, true);
        rows = rows && shows_moved(x, b, s, i, crop, true);
        columns = columns && shows_moved(x, b, s, i, crop, false);
    }
    if (inside && !(rows && columns)) finding_pattern_of_case(c, "beyond_the_picture");
    if (rows && !columns) finding_pattern_of_case(c, "rows_shifted");
    if (columns && !rows) finding_pattern_of_case(c, "columns_shifted");
}
