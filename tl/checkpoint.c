/* checkpoint.c: the state of a run, or the weights of a net, in one file (tl/checkpoint.h). */
#include "tl/checkpoint.h"

#include "history_internal.h"
#include "tl/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sections of a checkpoint besides the arrays and the history. The seed is the whole state of the
 * random numbers. */
enum { POSITION_EPOCH, POSITION_FIRST, POSITION_INDEX, POSITION_SEED, POSITION_WORDS };
enum { STATE_SECTIONS = 4 }; /* options, position, sums/loss, sums/hits */

/* Arrays laid out like the parameters: the values, then the optimiser's. `o` is NULL for weights.
 */
typedef struct flat {
    const char *prefix;
    tl_real *array; /* device memory, p->size elements */
} flat;

static int list_flats(flat list[3], const tl_params *p, const tl_optimizer *o) {
    static const char *const state_prefix[2] = {"s0", "s1"};
    int count = 0;
    list[count++] = (flat){"w", p->value};
    for (int i = 0; o != NULL && i < o->states; i++)
        list[count++] = (flat){state_prefix[i], o->state[i]};
    return count;
}

/* Host memory for one flat array or one buffer, whichever is longest; zeros, as the gaps must be.
 */
static tl_status new_staging(tl_real **host, const tl_params *p) {
    size_t most = p->size;
    for (int i = 0; i < p->entries; i++) {
        const tl_tensor *buffer = p->entry[i].buffer;
        if (buffer != NULL && buffer->size > most) most = buffer->size;
    }
    *host = calloc(most, sizeof **host);
    TL_NEED(*host != NULL, TL_ENOMEM, "out of host memory for %zu parameters", most);
    return TL_OK;
}

/* Parameter names have up to 47 characters, section names too: a prefix may be too much. */
static tl_status section_name(char name[TL_SECTION_NAME], const char *prefix, const char *of) {
    int length = snprintf(name, TL_SECTION_NAME, "%s/%s", prefix, of);
    TL_NEED(length < TL_SECTION_NAME, TL_EINVAL, "parameter name \"%s\" is too long for a file",
            of);
    return TL_OK;
}

/* ---- saving ------------------------------------------------------------------------------------
 */

/* One section, with the shape of t and the content of host. */
static tl_status add_tensor(tl_writer *w, const char *prefix, const char *of, const tl_tensor *t,
                            const tl_real *host) {
    char name[TL_SECTION_NAME];
    uint64_t dim[TL_MAX_DIMS];
    TL_TRY(section_name(name, prefix, of));
    for (int i = 0; i < TL_MAX_DIMS; i++) dim[i] = (uint64_t)t->dim[i];
    return tl_writer_add(w, name, TL_DTYPE_REAL, t->ndim, dim, host);
}

/* One copy from the device for the whole array, then a section for each parameter, without gaps. */
static tl_status add_flat(tl_writer *w, const tl_params *p, const flat *f, tl_real *host) {
    TL_TRY(p->ctx->ops->copy_out(p->ctx, host, f->array, p->size * sizeof *host));
    for (int i = 0; i < p->entries; i++) {
        const tl_param *e = &p->entry[i];
        if (e->var != NULL)
            TL_TRY(add_tensor(w, f->prefix, e->name, e->var->value, host + e->offset));
    }
    return TL_OK;
}

static tl_status add_arrays(tl_writer *w, const tl_params *p, const tl_optimizer *o,
                            tl_real *host) {
    flat list[3];
    int count = list_flats(list, p, o);
    for (int i = 0; i < count; i++) TL_TRY(add_flat(w, p, &list[i], host));
    for (int i = 0; i < p->entries; i++) {
        const tl_param *e = &p->entry[i];
        if (e->buffer == NULL) continue;
        TL_TRY(tl_tensor_to_host(e->buffer, host));
        TL_TRY(add_tensor(w, "b", e->name, e->buffer, host));
    }
    return TL_OK;
}

/* The sums matter within an epoch only. At its start they are whatever the last evaluation left,
 * and are written as zeros: equal runs leave equal files, however often they were evaluated. */
static tl_status add_state(tl_writer *w, tl_trainer *tr, const char *options) {
    tl_metric_sums sums = {0};
    TL_NEED(tr->history.epochs == tr->epoch, TL_EINVAL,
            "%" PRIu32 " epochs are done, but the history holds %" PRIu32, tr->epoch,
            tr->history.epochs);
    if (tr->first > 0) TL_TRY(tr->ctx->ops->copy_out(tr->ctx, &sums, tr->sums, sizeof sums));
    const uint64_t position[POSITION_WORDS] = {tr->epoch, tr->first, tr->index, tr->seed};
    const uint64_t hits[2] = {sums.hits, sums.count};
    TL_TRY(tl_writer_add(w, "options", TL_U8, 1, (uint64_t[]){strlen(options)}, options));
    TL_TRY(tl_writer_add(w, "position", TL_U64, 1, (uint64_t[]){POSITION_WORDS}, position));
    TL_TRY(tl_writer_add(w, "sums/loss", TL_F64, 1, (uint64_t[]){1}, &sums.loss));
    TL_TRY(tl_writer_add(w, "sums/hits", TL_U64, 1, (uint64_t[]){2}, hits));
    return tl_history_write(&tr->history, w);
}

/* A checkpoint of tr with its options, or the weights p alone if tr is NULL. */
static tl_status save(const tl_params *p, tl_trainer *tr, const char *path, const char *options) {
    tl_writer *w;
    tl_real *host;
    TL_TRY(new_staging(&host, p));
    tl_status status = tl_writer_open(&w, path);
    if (status == TL_OK && tr != NULL) status = add_state(w, tr, options);
    if (status == TL_OK) status = add_arrays(w, p, tr != NULL ? &tr->optimizer : NULL, host);
    if (status == TL_OK) status = tl_writer_commit(&w);
    tl_writer_discard(&w);
    free(host);
    return status;
}

tl_status tl_checkpoint_save(tl_trainer *tr, const char *path, const char *options) {
    return save(tr->params, tr, path, options);
}

tl_status tl_weights_save(const tl_params *p, const char *path) {
    return save(p, NULL, path, NULL);
}

/* ---- checking: reads the record, changes nothing -----------------------------------------------
 */

static const tl_section *section_called(const tl_record *r, const char *name) {
    for (int i = 0; i < r->sections; i++)
        if (strcmp(r->section[i].name, name) == 0) return &r->section[i];
    return NULL;
}

static int is_weight(const tl_section *s) { return strncmp(s->name, "w/", 2) == 0; }
static int is_buffer(const tl_section *s) { return strncmp(s->name, "b/", 2) == 0; }

/* Weights of the other precision are whole and right, just not for this build: say so first. */
static tl_status check_precision(const tl_record *r) {
    const tl_dtype other = TL_DTYPE_REAL == TL_F32 ? TL_F64 : TL_F32;
    const char *theirs = other == TL_F32 ? "float" : "double";
    for (int i = 0; i < r->sections; i++)
        TL_NEED(!is_weight(&r->section[i]) || r->section[i].dtype != other, TL_EINVAL,
                "%s holds %s weights, this is a %s build; use a build with REAL=%s", r->path,
                theirs, TL_REAL_NAME, theirs);
    return TL_OK;
}

/* Length of the word at `at`, up to the next space or `end`. */
static int word(const char *at, const char *end) {
    const char *stop = memchr(at, ' ', (size_t)(end - at));
    return (int)((stop ? stop : end) - at);
}

/* Compared as text: whoever adds an option to the line makes older files refuse to fit. Named is
 * the first word that differs; a file may hold anything, so its words are bounded by its end. */
static tl_status check_options(const tl_record *r, const char *options) {
    const tl_section *s = section_called(r, "options");
    TL_NEED(s != NULL && s->dtype == TL_U8, TL_EFORMAT,
            "%s holds no options: it is no checkpoint of a run", r->path);
    const char *theirs = s->data, *their_end = theirs + s->bytes;
    const char *ours = options, *our_end = options + strlen(options);
    for (;;) {
        int their_word = word(theirs, their_end), our_word = word(ours, our_end);
        TL_NEED(
            their_word == our_word && memcmp(theirs, ours, (size_t)our_word) == 0, TL_EINVAL,
            "%s was made with other options: it has %.*s, this run %.*s; give it the same", r->path,
            !their_word       ? 7
            : their_word < 80 ? their_word
                              : 80,
            their_word ? theirs : "nothing", our_word ? our_word : 7, our_word ? ours : "nothing");
        theirs += their_word, ours += our_word;
        if (theirs == their_end && ours == our_end) return TL_OK;
        theirs += theirs < their_end, ours += ours < our_end; /* over the space */
    }
}

/* A position at the very end of an epoch (first == count) is valid: a run stops after any step. */
static tl_status check_position(const tl_record *r, const tl_trainer *tr, uint32_t *epochs) {
    const tl_section *s;
    TL_TRY(tl_record_find(r, &s, "position", TL_U64, POSITION_WORDS));
    const uint64_t *position = s->data;
    TL_NEED(position[POSITION_EPOCH] <= UINT32_MAX && position[POSITION_FIRST] <= tr->train.count,
            TL_EFORMAT, "%s stands at image %llu of epoch %llu, but an epoch has %zu images",
            r->path, (unsigned long long)position[POSITION_FIRST],
            (unsigned long long)position[POSITION_EPOCH], tr->train.count);
    *epochs = (uint32_t)position[POSITION_EPOCH];
    TL_TRY(tl_record_find(r, &s, "sums/loss", TL_F64, 1));
    return tl_record_find(r, &s, "sums/hits", TL_U64, 2);
}

/* The section of a tensor, which must have its shape, not just as many elements. */
static tl_status find_tensor(const tl_record *r, const tl_section **s, const char *prefix,
                             const char *of, const tl_tensor *t) {
    char name[TL_SECTION_NAME];
    TL_TRY(section_name(name, prefix, of));
    TL_TRY(tl_record_find(r, s, name, TL_DTYPE_REAL, t->size));
    int same = (*s)->ndim == t->ndim;
    for (int i = 0; i < TL_MAX_DIMS; i++) same = same && (*s)->dim[i] == (uint64_t)t->dim[i];
    char shape[TL_SHAPE_TEXT];
    TL_NEED(same, TL_EFORMAT, "%s: section \"%s\" has another shape than %s, as many elements",
            r->path, name, tl_shape_text(shape, t->ndim, t->dim));
    return TL_OK;
}

/* *found counts the sections of the arrays, all of which are there and fit. */
static tl_status check_arrays(const tl_record *r, const tl_params *p, const tl_optimizer *o,
                              int *found) {
    flat list[3];
    const tl_section *s;
    int count = list_flats(list, p, o);
    *found = 0;
    for (int i = 0; i < p->entries; i++) {
        const tl_param *e = &p->entry[i];
        if (e->buffer != NULL) TL_TRY(find_tensor(r, &s, "b", e->name, e->buffer));
        for (int k = 0; e->var != NULL && k < count; k++)
            TL_TRY(find_tensor(r, &s, list[k].prefix, e->name, e->var->value));
        *found += e->buffer != NULL ? 1 : count;
    }
    return TL_OK;
}

/* Names are unique and all that we know are there, so what goes beyond their number is unknown. */
static tl_status check_count(const tl_record *r, int present, int known) {
    TL_NEED(present == known, TL_EFORMAT, "%s has %d sections, this net and optimiser have %d",
            r->path, present, known);
    return TL_OK;
}

/* ---- loading: only after every check has passed ------------------------------------------------
 */

/* Sections are looked up again rather than remembered: they were all there a moment ago. */
static tl_status load_arrays(const tl_record *r, const tl_params *p, const tl_optimizer *o,
                             tl_real *host) {
    flat list[3];
    const tl_section *s;
    int count = list_flats(list, p, o);
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < p->entries; i++) {
            const tl_param *e = &p->entry[i];
            if (e->var == NULL) continue;
            TL_TRY(find_tensor(r, &s, list[k].prefix, e->name, e->var->value));
            memcpy(host + e->offset, s->data, (size_t)s->bytes);
        }
        TL_TRY(p->ctx->ops->copy_in(p->ctx, list[k].array, host, p->size * sizeof *host));
    }
    for (int i = 0; i < p->entries; i++) {
        const tl_param *e = &p->entry[i];
        if (e->buffer == NULL) continue;
        TL_TRY(find_tensor(r, &s, "b", e->name, e->buffer));
        TL_TRY(tl_tensor_from_host(e->buffer, s->data));
    }
    return TL_OK;
}

static tl_status load_position(const tl_record *r, tl_trainer *tr) {
    const tl_section *s;
    tl_metric_sums sums;
    TL_TRY(tl_record_find(r, &s, "sums/loss", TL_F64, 1));
    sums.loss = *(const double *)s->data;
    TL_TRY(tl_record_find(r, &s, "sums/hits", TL_U64, 2));
    sums.hits = ((const uint64_t *)s->data)[0];
    sums.count = ((const uint64_t *)s->data)[1];
    TL_TRY(tr->ctx->ops->copy_in(tr->ctx, tr->sums, &sums, sizeof sums));
    TL_TRY(tl_record_find(r, &s, "position", TL_U64, POSITION_WORDS));
    const uint64_t *position = s->data;
    tr->epoch = (uint32_t)position[POSITION_EPOCH];
    tr->first = (uint32_t)position[POSITION_FIRST];
    tr->index = position[POSITION_INDEX];
    tr->seed = position[POSITION_SEED];
    return tl_history_read(&tr->history, r, tr->epoch);
}

/* All checks, then all changes. After the last check only the device itself can fail. */
static tl_status restore(const tl_record *r, tl_trainer *tr, const char *options, tl_real *host) {
    int arrays;
    uint32_t epochs;
    TL_TRY(check_precision(r));
    TL_TRY(check_options(r, options));
    TL_TRY(check_position(r, tr, &epochs));
    TL_TRY(tl_history_prepare(&tr->history, r, epochs));
    TL_TRY(check_arrays(r, tr->params, &tr->optimizer, &arrays));
    TL_TRY(check_count(r, r->sections, arrays + STATE_SECTIONS + tl_history_sections(epochs)));
    TL_TRY(load_arrays(r, tr->params, &tr->optimizer, host));
    return load_position(r, tr);
}

/* Also takes the weights out of a checkpoint: sections of other kinds are not looked at. */
static tl_status restore_weights(const tl_record *r, tl_params *p, tl_real *host) {
    int arrays, present = 0;
    for (int i = 0; i < r->sections; i++)
        present += is_weight(&r->section[i]) || is_buffer(&r->section[i]);
    TL_TRY(check_precision(r));
    TL_TRY(check_arrays(r, p, NULL, &arrays));
    TL_TRY(check_count(r, present, arrays));
    return load_arrays(r, p, NULL, host);
}

tl_status tl_checkpoint_load(tl_trainer *tr, const char *path, const char *options) {
    tl_record *r;
    tl_real *host;
    TL_TRY(new_staging(&host, tr->params));
    tl_status status = tl_record_read(&r, path);
    if (status == TL_OK) status = restore(r, tr, options, host);
    tl_record_free(r);
    free(host);
    return status;
}

tl_status tl_weights_load(tl_params *p, const char *path) {
    tl_record *r;
    tl_real *host;
    TL_TRY(new_staging(&host, p));
    tl_status status = tl_record_read(&r, path);
    if (status == TL_OK) status = restore_weights(r, p, host);
    tl_record_free(r);
    free(host);
    return status;
}
