/* plan.c: what chance decides in one epoch, as sections of a file (tl/plan.h). */
#include "tl/plan.h"

#include "tl/record.h"
#include "tl/rng.h"

#include <stdio.h>
#include <stdlib.h>

/* The steps that the file covers; `first` counts from the start of the run, as tl_step.index does.
 */
typedef struct span {
    uint32_t epoch;
    uint64_t first, steps, images;
} span;

/* The schedule is defined on the steps of the run alone, so a plan beyond them is refused. */
static tl_status find_span(span *s, const tl_trainer *tr, uint32_t epoch, uint64_t max_steps) {
    const uint64_t count = tr->train.count, batch = (uint64_t)tr->batch;
    TL_NEED(count >= 1 && count <= UINT32_MAX, TL_EINVAL, "a plan of %llu images",
            (unsigned long long)count);
    const uint64_t epoch_steps = (count + batch - 1) / batch;
    *s =
        (span){.epoch = epoch, .first = epoch * epoch_steps, .steps = epoch_steps, .images = count};
    if (max_steps > 0 && max_steps < epoch_steps) {
        s->steps = max_steps; /* without the last, smaller batch: all are full */
        s->images = max_steps * batch;
    }
    TL_NEED(s->first + s->steps <= tr->schedule.total, TL_EINVAL,
            "step %llu of a plan lies beyond the %llu steps of the run",
            (unsigned long long)(s->first + s->steps), (unsigned long long)tr->schedule.total);
    return TL_OK;
}

/* calloc: mask bits are set one by one, and the spare bits of a row's last byte stay zero. */
static tl_status new_section(void **data, uint64_t elements, size_t element_bytes) {
    *data = calloc(elements, element_bytes);
    TL_NEED(*data != NULL, TL_ENOMEM, "out of host memory for %llu numbers of a plan",
            (unsigned long long)elements);
    return TL_OK;
}

/* Which image stands where. The shuffle covers the whole epoch, also when the plan is shorter. */
static tl_status add_order(tl_writer *w, const tl_trainer *tr, const span *s) {
    void *data;
    TL_TRY(new_section(&data, s->images, sizeof(uint32_t)));
    uint32_t *order = data;
    for (uint32_t i = 0; i < s->images; i++)
        order[i] = tl_rng_permute(tr->seed, s->epoch, (uint32_t)tr->train.count, i);
    tl_status status = tl_writer_add(w, "order", TL_U32, 1, (uint64_t[]){s->images}, order);
    free(order);
    return status;
}

/* Crops and flips by position, as the loader draws them; offsets up to 2*pad must fit a byte. */
static tl_status add_crops(tl_writer *w, const tl_trainer *tr, const span *s) {
    TL_NEED(tr->pad >= 0 && 2 * tr->pad <= UINT8_MAX, TL_EINVAL,
            "a plan cannot hold crops of images padded by %d, at most %d", tr->pad, UINT8_MAX / 2);
    void *data;
    TL_TRY(new_section(&data, 3 * s->images, 1));
    uint8_t *crop = data, *flip = crop + 2 * s->images;
    for (uint32_t i = 0; i < s->images; i++) {
        tl_crop draw = tl_rng_crop(tr->seed, s->epoch, i, tr->pad);
        crop[2 * (size_t)i] = (uint8_t)draw.dy;
        crop[2 * (size_t)i + 1] = (uint8_t)draw.dx;
        flip[i] = (uint8_t)draw.flip;
    }
    tl_status status = tl_writer_add(w, "crop", TL_U8, 2, (uint64_t[]){s->images, 2}, crop);
    if (status == TL_OK) status = tl_writer_add(w, "flip", TL_U8, 1, (uint64_t[]){s->images}, flip);
    free(data);
    return status;
}

/* In double, as the trainer hands them to the optimiser. */
static tl_status add_rates(tl_writer *w, const tl_trainer *tr, const span *s) {
    void *data;
    TL_TRY(new_section(&data, s->steps, sizeof(double)));
    double *lr = data;
    for (uint64_t i = 0; i < s->steps; i++) lr[i] = tl_schedule_lr(&tr->schedule, s->first + i);
    tl_status status = tl_writer_add(w, "lr", TL_F64, 1, (uint64_t[]){s->steps}, lr);
    free(lr);
    return status;
}

/* The bits of one step's mask. Rows are drawn for a full batch: a smaller one has the same first
 * elements, since a draw depends on its index alone. */
static void draw_mask(uint8_t *row, uint64_t seed, uint64_t step, uint32_t layer, uint64_t elements,
                      uint32_t threshold) {
    for (uint64_t i = 0; i < elements; i++)
        row[i / 8] |= (uint8_t)(tl_rng_keep(seed, step, layer, i, threshold) << i % 8);
}

static tl_status add_masks(tl_writer *w, const tl_trainer *tr, const span *s, uint32_t layer,
                           size_t size, double p) {
    const uint64_t elements = (uint64_t)tr->batch * size, row = (elements + 7) / 8;
    const uint32_t threshold = tl_dropout_threshold(p);
    char name[TL_SECTION_NAME];
    void *data;
    snprintf(name, sizeof name, "keep%u", layer);
    TL_TRY(new_section(&data, s->steps * row, 1));
    /* Steps are independent and rows do not share a byte. */
#pragma omp parallel for num_threads(tr->ctx->threads)
    for (uint64_t i = 0; i < s->steps; i++)
        draw_mask((uint8_t *)data + i * row, tr->seed, s->first + i, layer, elements, threshold);
    tl_status status = tl_writer_add(w, name, TL_U8, 2, (uint64_t[]){s->steps, row}, data);
    free(data);
    return status;
}

/* Sections appear in a fixed order: equal plans are equal files. */
static tl_status add_sections(tl_writer *w, const tl_trainer *tr, const tl_net_spec *spec,
                              const span *s) {
    TL_TRY(add_order(w, tr, s));
    if (tr->augment) TL_TRY(add_crops(w, tr, s));
    TL_TRY(add_rates(w, tr, s));
    double p;
    size_t size;
    for (uint32_t layer = 0; (size = tl_net_dropout_size(spec, layer, &p)) > 0; layer++)
        TL_TRY(add_masks(w, tr, s, layer, size, p));
    return TL_OK;
}

tl_status tl_plan_write(const tl_trainer *tr, const tl_net_spec *spec, uint32_t epoch,
                        uint64_t max_steps, const char *path) {
    span s;
    tl_writer *w;
    TL_TRY(find_span(&s, tr, epoch, max_steps));
    TL_TRY(tl_writer_open(&w, path));
    tl_status status = add_sections(w, tr, spec, &s);
    if (status == TL_OK) status = tl_writer_commit(&w);
    tl_writer_discard(&w);
    return status;
}
