/* record_damage_test.c: claims about damaged record files (tl/record.h): all are refused, and the
 * line says why. */
#include "record_fixture.h"

TestSuite(record_damage, .init = setup, .fini = teardown);

static void put_u32(bytes b, size_t offset, uint32_t value) {
    memcpy(b.at + offset, &value, sizeof value);
}
static void put_u64(bytes b, size_t offset, uint64_t value) {
    memcpy(b.at + offset, &value, sizeof value);
}

/* Makes the CRC of the section at `offset` right again after a deliberate change, so that the
 * reader has to notice the change itself. */
static void reseal(bytes b, size_t offset, size_t data) {
    uint32_t crc = tl_crc32(0, b.at + offset, CRC);
    put_u32(b, offset + CRC, tl_crc32(crc, b.at + offset + SECTION, data));
}

static void expect_refused(const void *at, size_t size, const char *word) {
    store(at, size);
    tl_record *r = (tl_record *)1;
    cr_assert_eq(tl_record_read(&r, path), TL_EFORMAT, "%s", word);
    cr_assert_null(r);
    cr_assert(strstr(tl_error(), word), "\"%s\" expected in: %s", word, tl_error());
    cr_assert(strstr(tl_error(), path), "the file should be named in: %s", tl_error());
}

Test(record_damage, every_truncation_is_refused) {
    write_small();
    bytes b = load();
    tl_record *r;
    for (size_t size = 0; size < b.size; size++) {
        store(b.at, size);
        cr_assert_eq(tl_record_read(&r, path), TL_EFORMAT, "%zu of %zu bytes", size, b.size);
        cr_assert_null(r);
    }
    free(b.at);
}

Test(record_damage, every_flipped_bit_is_refused) {
    write_small();
    bytes b = load();
    tl_record *r;
    for (size_t bit = 0; bit < 8 * b.size; bit++) {
        b.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
        store(b.at, b.size);
        cr_assert_eq(tl_record_read(&r, path), TL_EFORMAT, "bit %zu of byte %zu", bit % 8, bit / 8);
        b.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    store(b.at, b.size);
    cr_assert_eq(tl_record_read(&r, path), TL_OK, "the file was not damaged at all");
    tl_record_free(r);
    free(b.at);
}

/* Up to nine bytes at once: whatever they become, reading must neither crash nor succeed. */
Test(record_damage, random_damage_is_refused) {
    write_small();
    bytes b = load();
    unsigned char *damaged = malloc(b.size);
    uint32_t random = 1;
    for (int trial = 0; trial < 3000; trial++) {
        memcpy(damaged, b.at, b.size);
        for (int k = 0; k < 1 + trial % 9; k++) {
            random = random * 1664525 + 1013904223;
            damaged[(random >> 8) % b.size] = (unsigned char)(random >> 24);
        }
        store(damaged, b.size);
        tl_record *r;
        tl_status status = tl_record_read(&r, path);
        int same = memcmp(damaged, b.at, b.size) == 0;
        cr_assert_eq(status, same ? TL_OK : TL_EFORMAT, "trial %d", trial);
        tl_record_free(r);
    }
    free(damaged);
    free(b.at);
}

Test(record_damage, faults_are_named) {
    write_small();
    bytes b = load();
    unsigned char *longer = calloc(1, b.size + 1);
    memcpy(longer, b.at, b.size);
    expect_refused(longer, b.size + 1, "1 bytes follow the last section");
    free(longer);
    expect_refused(b.at, b.size - 1, "its data ends beyond the file"); /* within the padding */
    put_u32(b, 8, 7);
    expect_refused(b.at, b.size, "version 7, this program reads version 1");
    put_u32(b, 8, 1);
    put_u32(b, 12, UINT32_MAX);
    expect_refused(b.at, b.size, "claims 4294967295 sections");
    put_u32(b, 12, 1);
    expect_refused(b.at, b.size, "bytes follow the last section");
    put_u32(b, 12, 3);
    expect_refused(b.at, b.size, "claims 3 sections");
    put_u32(b, 12, 2);
    b.at[HEADER + SECTION] ^= 1;
    expect_refused(b.at, b.size, "section 1 of 2 (\"ab\"): its CRC-32 is wrong");
    b.at[HEADER + SECTION] ^= 1;
    b.at[HEADER + SECTION + 6] = 1;
    expect_refused(b.at, b.size, "its padding is not zero");
    b.at[HEADER + SECTION + 6] = 0;
    b.at[0] = 't';
    expect_refused(b.at, b.size, "does not start with TLRECORD");
    free(b.at);
}

/* Headers whose CRC is right, and which lie all the same. */
Test(record_damage, lying_headers_are_refused) {
    static const struct {
        size_t offset;
        uint64_t value;
        const char *word;
    } lie[] = {
        {DIM, UINT64_MAX, "its bytes differ"},
        {DIM, 0, "a dim is 0"},
        {DIM, 6, "its bytes differ"},
        {BYTES, UINT64_MAX, "its bytes differ"},
        {DIM + 8, 2, "an unused dim"},
        {DTYPE, (uint64_t)1 << 32, "its dtype is unknown"},
        {DTYPE, (uint64_t)1 << 32 | 99, "its dtype is unknown"},
        {DTYPE, TL_U8, "its number of dims"},
        {DTYPE, (uint64_t)5 << 32 | TL_U8, "its number of dims"},
        {DTYPE, UINT64_MAX << 32 | TL_U8, "its number of dims"},
        {0, 0, "its name is empty"},
    };
    write_small();
    bytes b = load();
    unsigned char right[SMALL_SIZE];
    memcpy(right, b.at, sizeof right);
    for (size_t i = 0; i < sizeof lie / sizeof *lie; i++) {
        memcpy(b.at, right, sizeof right);
        put_u64(b, HEADER + lie[i].offset, lie[i].value);
        reseal(b, HEADER, 5);
        expect_refused(b.at, b.size, lie[i].word);
    }
    free(b.at);
}

/* Counts so large that sums and products wrap, or that a careless reader would allocate by them. */
Test(record_damage, huge_sizes_are_refused) {
    static const struct {
        uint64_t dim[2];
        const char *word;
    } huge[] = {
        {{UINT64_MAX, UINT64_MAX}, "overflows"},
        {{(uint64_t)1 << 32, (uint64_t)1 << 32}, "overflows"},       /* wraps to 0 */
        {{(uint64_t)1 << 32, ((uint64_t)1 << 32) + 1}, "overflows"}, /* wraps to 2^32 */
        {{UINT64_MAX, 1}, "ends beyond the file"},                   /* the end of the data wraps */
        {{UINT64_MAX - 7, 1}, "ends beyond the file"},
        {{1, (uint64_t)1 << 40}, "ends beyond the file"},
        {{3, 7}, "ends beyond the file"}, /* 21 bytes where 16 are left */
    };
    write_small();
    bytes b = load();
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        put_u32(b, SMALL_SECOND + DTYPE, TL_U8);
        put_u64(b, SMALL_SECOND + DIM, huge[i].dim[0]);
        put_u64(b, SMALL_SECOND + DIM + 8, huge[i].dim[1]);
        put_u64(b, SMALL_SECOND + BYTES, huge[i].dim[0] * huge[i].dim[1]);
        reseal(b, SMALL_SECOND, 12);
        expect_refused(b.at, b.size, huge[i].word);
    }
    free(b.at);
}

Test(record_damage, bad_names_are_refused) {
    write_small();
    bytes b = load();
    memset(b.at + SMALL_SECOND, 'x', TL_SECTION_NAME);
    reseal(b, SMALL_SECOND, 12);
    expect_refused(b.at, b.size, "its name is empty or does not end");
    memset(b.at + SMALL_SECOND, 0, TL_SECTION_NAME);
    memcpy(b.at + SMALL_SECOND, "ab", 2);
    reseal(b, SMALL_SECOND, 12);
    expect_refused(b.at, b.size, "two sections are called \"ab\"");
    free(b.at);
}
