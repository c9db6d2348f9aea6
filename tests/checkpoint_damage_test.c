/* checkpoint_damage_test.c: claims about damaged checkpoints (tl/checkpoint.h): cut at any boundary
 * or with any bit of a field flipped, they are refused and the run is as it was. */
#include "trainer_fixture.h"

TestSuite(checkpoint_damage, .init = setup, .fini = teardown);

static const char options[] = "net=tiny seed=77";

/* A run in the third step of its second epoch, its checkpoint as bytes, and the same for a run that
 * has not begun, which is what damaged files are loaded into. */
typedef struct pair {
    rig other;
    bytes saved, before;
    tl_record *sound; /* of `saved`: where its sections lie */
} pair;

static bytes state_of(rig *r) {
    EXPECT_OK(tl_checkpoint_save(&r->tr, path, options));
    return load();
}

static pair open_pair(void) {
    pair p;
    rig r;
    open_rig(&r, TL_OPTIMIZER_ADAM, 1);
    train_until(&r, EPOCH_STEPS + 3);
    p.saved = state_of(&r);
    close_rig(&r);
    EXPECT_OK(tl_record_read(&p.sound, path));
    open_rig(&p.other, TL_OPTIMIZER_ADAM, 2);
    p.before = state_of(&p.other);
    return p;
}

static void close_pair(pair *p) {
    tl_record_free(p->sound);
    free(p->saved.at);
    free(p->before.at);
    close_rig(&p->other);
}

/* Where the header of section i begins, and where its data ends. */
static size_t header_of(const pair *p, int i) {
    return (size_t)((const char *)p->sound->section[i].data - (const char *)p->sound->bytes) -
           SECTION;
}
static size_t end_of(const pair *p, int i) {
    return header_of(p, i) + SECTION + (size_t)p->sound->section[i].bytes;
}

static void expect_refused(pair *p, const void *at, size_t size, const char *what, int section) {
    store(at, size);
    tl_status status = tl_checkpoint_load(&p->other.tr, path, options);
    cr_assert_eq(status, TL_EFORMAT, "%s of section %d: %s", what, section, tl_status_name(status));
    cr_assert(strstr(tl_error(), path), "the file should be named in: %s", tl_error());
    bytes after = state_of(&p->other);
    cr_assert(after.size == p->before.size && memcmp(after.at, p->before.at, after.size) == 0,
              "%s of section %d changed the run", what, section);
    free(after.at);
}

Test(checkpoint_damage, cut_at_every_boundary_it_is_refused) {
    pair p = open_pair();
    cr_assert_gt(p.sound->sections, 10);
    for (int i = 0; i < p.sound->sections; i++) {
        expect_refused(&p, p.saved.at, header_of(&p, i), "cut before the header", i);
        expect_refused(&p, p.saved.at, header_of(&p, i) + SECTION, "cut behind the header", i);
        if (end_of(&p, i) < p.saved.size)
            expect_refused(&p, p.saved.at, end_of(&p, i), "cut behind the data", i);
    }
    expect_refused(&p, p.saved.at, 0, "cut to nothing", 0);
    close_pair(&p);
}

Test(checkpoint_damage, with_a_flipped_bit_in_any_field_it_is_refused) {
    static const struct {
        const char *field;
        size_t at; /* within the section's header; from SECTION on in its data */
    } flip[] = {{"name", 0},
                {"last of the name", 47},
                {"dtype", DTYPE},
                {"ndim", NDIM},
                {"first dim", DIM},
                {"last dim", DIM + 24},
                {"bytes", BYTES},
                {"CRC", CRC},
                {"reserved word", CRC + 4},
                {"data", SECTION}};
    pair p = open_pair();
    for (int i = 0; i < p.sound->sections; i++) {
        for (size_t k = 0; k < sizeof flip / sizeof *flip; k++) {
            unsigned char *byte = p.saved.at + header_of(&p, i) + flip[k].at;
            *byte ^= (unsigned char)(1 << (i + (int)k) % 8);
            expect_refused(&p, p.saved.at, p.saved.size, flip[k].field, i);
            *byte ^= (unsigned char)(1 << (i + (int)k) % 8);
        }
        size_t end = end_of(&p, i), next = (end + 7) / 8 * 8;
        for (size_t at = end; at < next; at++) {
            p.saved.at[at] ^= 16;
            expect_refused(&p, p.saved.at, p.saved.size, "padding", i);
            p.saved.at[at] ^= 16;
        }
    }
    store(p.saved.at, p.saved.size);
    EXPECT_OK(tl_checkpoint_load(&p.other.tr, path, options)); /* every flip was undone */
    close_pair(&p);
}
