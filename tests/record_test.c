/* record_test.c: claims about record files (tl/record.h): what is written comes back, and PATH is
 * either the old file or the whole new one. */
#include "record_fixture.h"

#include <signal.h>
#include <sys/resource.h>

TestSuite(record, .init = setup, .fini = teardown);

Test(record, crc_is_that_of_zlib) {
    const char *text = "123456789";
    cr_assert_eq(tl_crc32(0, text, 9), 0xCBF43926u);
    cr_assert_eq(tl_crc32(0, text, 0), 0u);
    cr_assert_eq(tl_crc32(0, "a", 1), 0xE8B7BE43u);
    const char *fox = "The quick brown fox jumps over the lazy dog";
    cr_assert_eq(tl_crc32(0, fox, 43), 0x414FA339u);
    for (size_t cut = 0; cut <= 43; cut++)
        cr_assert_eq(tl_crc32(tl_crc32(0, fox, cut), fox + cut, 43 - cut), 0x414FA339u);
}

Test(record, every_dtype_and_shape_comes_back) {
    static const struct {
        const char *name;
        tl_dtype dtype;
        int ndim;
        uint64_t dim[4], bytes;
    } want[] = {
        {"a u8", TL_U8, 1, {13, 1, 1, 1}, 13},
        {"b/i32", TL_I32, 2, {3, 5, 1, 1}, 60},
        {"c", TL_U32, 3, {1, 1, 1, 1}, 4},
        {"d", TL_U64, 4, {2, 3, 1, 2}, 96},
        {"e", TL_F32, 4, {5, 1, 3, 1}, 60},
        {"a name of forty-seven characters, the most of it", TL_F64, 2, {1, 7, 1, 1}, 56},
    };
    enum { WANTED = sizeof want / sizeof *want };
    unsigned char data[WANTED][96];
    tl_writer *w;
    cr_assert_eq(tl_writer_open(&w, path), TL_OK);
    for (int i = 0; i < WANTED; i++) {
        for (int k = 0; k < 96; k++) data[i][k] = (unsigned char)(37 * i + 11 * k + 1);
        char name[64];
        snprintf(name, sizeof name, "%.47s", want[i].name);
        cr_assert_eq(tl_writer_add(w, name, want[i].dtype, want[i].ndim, want[i].dim, data[i]),
                     TL_OK, "%s", tl_error());
    }
    cr_assert_eq(tl_writer_commit(&w), TL_OK);
    tl_record *r;
    cr_assert_eq(tl_record_read(&r, path), TL_OK, "%s", tl_error());
    cr_assert_eq(r->sections, WANTED);
    for (int i = 0; i < WANTED; i++) {
        const tl_section *s = &r->section[i], *found;
        cr_assert_eq(strncmp(s->name, want[i].name, 47), 0);
        cr_assert(s->dtype == want[i].dtype && s->ndim == want[i].ndim);
        cr_assert_eq(memcmp(s->dim, want[i].dim, sizeof s->dim), 0);
        cr_assert_eq(s->bytes, want[i].bytes);
        cr_assert_eq((uintptr_t)s->data % 8, 0, "data must be 8-byte aligned");
        cr_assert_eq(memcmp(s->data, data[i], s->bytes), 0);
        uint64_t elements = s->bytes / tl_dtype_bytes(s->dtype);
        cr_assert_eq(tl_record_find(r, &found, s->name, s->dtype, elements), TL_OK);
        cr_assert_eq(found, s);
    }
    tl_record_free(r);
    tl_record_free(NULL);
}

/* The bytes themselves, so that a reader in another language can rely on the format's text. */
Test(record, the_file_is_what_the_format_says) {
    write_small();
    bytes b = load();
    cr_assert_eq(b.size, SMALL_SIZE);
    cr_assert_eq(memcmp(b.at, "TLRECORD\1\0\0\0\2\0\0\0", HEADER), 0);
    unsigned char first[SECTION] = "ab";
    first[DTYPE] = TL_U8;
    first[NDIM] = 1;
    first[DIM] = 5;
    first[DIM + 8] = first[DIM + 16] = first[DIM + 24] = 1;
    first[BYTES] = 5;
    memcpy(first + CRC, b.at + HEADER + CRC, 4);
    cr_assert_eq(memcmp(b.at + HEADER, first, SECTION), 0);
    cr_assert_eq(memcmp(b.at + HEADER + SECTION, "hello\0\0", 8), 0);
    unsigned char sealed[CRC + 5];
    memcpy(sealed, first, CRC);
    memcpy(sealed + CRC, "hello", 5);
    uint32_t crc = tl_crc32(0, sealed, sizeof sealed);
    cr_assert_eq(memcmp(b.at + HEADER + CRC, &crc, 4), 0);
    free(b.at);
}

Test(record, equal_contents_give_equal_bytes) {
    write_small();
    bytes one = load();
    write_small();
    bytes two = load();
    cr_assert(one.size == two.size && memcmp(one.at, two.at, one.size) == 0);
    free(one.at);
    free(two.at);
}

Test(record, a_file_without_sections_is_valid) {
    tl_writer *w;
    tl_record *r;
    cr_assert_eq(tl_writer_open(&w, path), TL_OK);
    cr_assert_eq(tl_writer_commit(&w), TL_OK);
    cr_assert_eq(tl_record_read(&r, path), TL_OK, "%s", tl_error());
    cr_assert_eq(r->sections, 0);
    tl_record_free(r);
}

Test(record, find_names_what_differs) {
    write_small();
    tl_record *r;
    const tl_section *s;
    cr_assert_eq(tl_record_read(&r, path), TL_OK);
    cr_assert_eq(tl_record_find(r, &s, "n", TL_U32, 3), TL_OK);
    cr_assert_eq(memcmp(s->data, small_n, sizeof small_n), 0);
    cr_assert_eq(tl_record_find(r, &s, "m", TL_U32, 3), TL_EFORMAT);
    cr_assert(strstr(tl_error(), "no section \"m\""), "%s", tl_error());
    cr_assert_eq(tl_record_find(r, &s, "n", TL_F32, 3), TL_EFORMAT);
    cr_assert(strstr(tl_error(), "u32") && strstr(tl_error(), "f32"), "%s", tl_error());
    cr_assert_eq(tl_record_find(r, &s, "n", TL_U32, 4), TL_EFORMAT);
    cr_assert(strstr(tl_error(), "3 elements, 4 wanted"), "%s", tl_error());
    cr_assert_null(s);
    tl_record_free(r);
}

Test(record, writer_refuses_what_no_reader_would_take) {
    char name[TL_SECTION_NAME + 1];
    memset(name, 'x', sizeof name);
    name[TL_SECTION_NAME] = 0;
    tl_writer *w;
    uint64_t one[4] = {1, 1, 1, 1}, huge[] = {(uint64_t)1 << 33, (uint64_t)1 << 33}, none[] = {0};
    cr_assert_eq(tl_writer_open(&w, path), TL_OK);
    cr_assert_eq(tl_writer_add(w, name, TL_U8, 1, one, "x"), TL_EINVAL);
    cr_assert_eq(tl_writer_add(w, "", TL_U8, 1, one, "x"), TL_EINVAL);
    cr_assert_eq(tl_writer_add(w, "a", (tl_dtype)0, 1, one, "x"), TL_EINVAL);
    cr_assert_eq(tl_writer_add(w, "a", TL_U8, 0, one, "x"), TL_EINVAL);
    cr_assert_eq(tl_writer_add(w, "a", TL_U8, 5, one, "x"), TL_EINVAL);
    cr_assert_eq(tl_writer_add(w, "a", TL_U8, 2, huge, "x"), TL_EINVAL);
    cr_assert_eq(tl_writer_add(w, "a", TL_U8, 1, none, "x"), TL_EINVAL);
    cr_assert_eq(tl_writer_add(w, "a", TL_U8, 1, one, "x"), TL_OK);
    cr_assert_eq(tl_writer_add(w, "a", TL_U8, 1, one, "x"), TL_EINVAL);
    /* None of the refusals has left a byte behind. */
    cr_assert_eq(tl_writer_commit(&w), TL_OK, "%s", tl_error());
    tl_record *r;
    cr_assert_eq(tl_record_read(&r, path), TL_OK, "%s", tl_error());
    cr_assert_eq(r->sections, 1);
    tl_record_free(r);
}

Test(record, missing_folders_and_files_are_io_errors) {
    tl_writer *w;
    tl_record *r;
    cr_assert_eq(tl_writer_open(&w, "/nonexistent/folder/file"), TL_EIO);
    cr_assert_null(w);
    cr_assert(strstr(tl_error(), "/nonexistent/folder/file"), "%s", tl_error());
    tl_writer_discard(&w);
    cr_assert_eq(tl_record_read(&r, path), TL_EIO);
    cr_assert(strstr(tl_error(), path) && strstr(tl_error(), "No such file"), "%s", tl_error());
    cr_assert_eq(tl_record_read(&r, folder), TL_EIO, "a folder is not a file");
    cr_assert_eq(tl_record_read(&r, "/dev/null"), TL_EIO, "nor is a device");
    cr_assert_null(r);
}

static void expect_old_file_intact(bytes old) {
    bytes now = load();
    cr_assert(now.size == old.size && memcmp(now.at, old.at, old.size) == 0);
    free(now.at);
    cr_assert_neq(access(part, F_OK), 0, "%s is left over", part);
}

Test(record, discard_keeps_the_old_file) {
    write_small();
    bytes old = load();
    tl_writer *w;
    cr_assert_eq(tl_writer_open(&w, path), TL_OK);
    cr_assert_eq(tl_writer_add(w, "x", TL_U8, 1, (uint64_t[]){4}, "data"), TL_OK);
    bytes now = load();
    cr_assert(now.size == old.size, "the old file must stand until commit");
    free(now.at);
    tl_writer_discard(&w);
    cr_assert_null(w);
    expect_old_file_intact(old);
    free(old.at);
}

/* A file size limit stands in for a full disk: write(2) fails part of the way. */
Test(record, a_full_disk_keeps_the_old_file) {
    enum { LIMIT = 64 << 10 };
    write_small();
    bytes old = load();
    struct rlimit before, small;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = LIMIT;
    signal(SIGXFSZ, SIG_IGN);
    char *data = calloc(2, LIMIT);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    tl_writer *w;
    cr_assert_eq(tl_writer_open(&w, path), TL_OK);
    tl_status added = tl_writer_add(w, "x", TL_U8, 1, (uint64_t[]){2 * LIMIT}, data);
    tl_status committed = tl_writer_commit(&w);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_assert_eq(added, TL_EIO);
    cr_assert_neq(committed, TL_OK, "half a file must not be committed");
    tl_writer_discard(&w);
    expect_old_file_intact(old);
    free(old.at);
    free(data);
}

/* Small writes stay in the stream's buffer until commit, so the failure comes only there. */
Test(record, a_failed_commit_keeps_the_old_file) {
    write_small();
    bytes old = load();
    struct rlimit before, small;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100;
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    tl_writer *w;
    cr_assert_eq(tl_writer_open(&w, path), TL_OK);
    tl_status added = tl_writer_add(w, "x", TL_U8, 1, (uint64_t[]){4}, "data");
    tl_status committed = tl_writer_commit(&w);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_assert_eq(added, TL_OK);
    cr_assert_eq(committed, TL_EIO);
    cr_assert_eq(tl_writer_commit(&w), TL_EINVAL, "a second try must not pass off half a file");
    tl_writer_discard(&w);
    expect_old_file_intact(old);
    free(old.at);
}

Test(record, a_folder_in_the_way_is_an_io_error) {
    cr_assert_eq(mkdir(path, 0777), 0);
    tl_writer *w;
    cr_assert_eq(tl_writer_open(&w, path), TL_OK);
    cr_assert_eq(tl_writer_commit(&w), TL_EIO);
    cr_assert(strstr(tl_error(), path), "%s", tl_error());
    tl_writer_discard(&w);
    cr_assert_neq(access(part, F_OK), 0);
    cr_assert_eq(rmdir(path), 0);
}
