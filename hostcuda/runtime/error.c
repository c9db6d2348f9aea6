/* error.c: CUDA's errors: names, the last one, and the sticky one that only a reset takes away. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static cudaError_t last, sticky;
static hc_site sticky_at, unchecked_at;
static const char *unchecked; /* kernel of a failed launch that nobody asked about */

typedef struct entry {
    cudaError_t error;
    const char *name, *text;
} entry;

#define ENTRY(name, number, text) {name, #name, text},
static const entry entries[] = {HC_ERRORS(ENTRY)};
#undef ENTRY

static const entry *find(cudaError_t error) {
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (entries[i].error == error) return &entries[i];
    return NULL;
}

const char *hc_GetErrorName(cudaError_t error) {
    const entry *e = find(error);
    return e ? e->name : "unrecognized error code";
}

const char *hc_GetErrorString(cudaError_t error) {
    const entry *e = find(error);
    return e ? e->text : "unrecognized error code";
}

cudaError_t hc_fail(cudaError_t error) {
    if (error != cudaErrorNotReady) last = error; /* not ready is an answer, no failure */
    return error;
}

cudaError_t hc_sticky(void) { return sticky; }

void hc_fail_sticky(cudaError_t error, hc_site at) {
    if (sticky) return;
    sticky = last = error;
    sticky_at = at;
}

void hc_note_unchecked(hc_site at, const char *what) {
    unchecked_at = at;
    unchecked = what;
}

cudaError_t hc_GetLastError(const char *file, int line) {
    (void)file, (void)line;
    cudaError_t error = sticky ? sticky : last;
    last = cudaSuccess;
    unchecked = NULL;
    return error;
}

cudaError_t hc_PeekAtLastError(const char *file, int line) {
    (void)file, (void)line;
    unchecked = NULL;
    return sticky ? sticky : last;
}

/* A launch returns nothing: who does not ask goes on with results that were never computed. */
void hc_report_unchecked(void) {
    if (!unchecked) return;
    hc_complain("unchecked-error", unchecked_at.file, unchecked_at.line,
                "write a macro that asks cudaGetLastError() after every launch",
                "the launch of %s failed with %s and the program never asked", unchecked,
                hc_GetErrorName(last));
    unchecked = NULL;
}

void hc_forget_errors(void) {
    last = sticky = cudaSuccess;
    unchecked = NULL;
}
