// results.h: what a case computed, for comparison with another device; the runners define it here.
//
// Goes to the file that CORPUS_RESULTS names, a line for each buffer that a case reads back:
//     f|i SIZE HEX WITHIN…    floating point or not, bytes an element, all bytes, and for each
//                             element how far apart two right devices may lie
//     open                    the case shows what hostcuda does where CUDA leaves it open
#ifndef HOSTCUDA_RESULTS_H
#define HOSTCUDA_RESULTS_H

#include <cstdio>
#include <cstdlib>

static FILE *results_file() {
    const char *path = getenv("CORPUS_RESULTS");
    return path ? fopen(path, "a") : nullptr;
}

void corpus_result(bool floating, size_t size, const void *values, int n, const double *within) {
    FILE *file = results_file();
    if (!file) return;
    fprintf(file, "%c %zu ", floating ? 'f' : 'i', size);
    for (size_t i = 0; i < n * size; i++) fprintf(file, "%02x", ((const unsigned char *)values)[i]);
    for (int i = 0; i < n; i++) fprintf(file, " %.9g", within[i]);
    fputc('\n', file);
    fclose(file); // at once: the case may end at its next EXPECT
}

void corpus_open() {
    FILE *file = results_file();
    if (file) fputs("open\n", file), fclose(file);
}

#endif
