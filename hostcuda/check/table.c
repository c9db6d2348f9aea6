/* table.c: what profile.c counted, by kernel and source line: a table and JSON lines. */
#define _GNU_SOURCE
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_line(const void *a, const void *b) {
    const hc_check_site *x = a, *y = b;
    if (x->kernel != y->kernel) /* in the order of their first launch */
        for (const hc_kernel_counts *k = hc_counts_first(); k; k = k->next)
            if (k == x->kernel || k == y->kernel) return k == x->kernel ? -1 : 1;
    int file = strcmp(x->file, y->file);
    return file ? file : x->line - y->line;
}

static double per(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

typedef struct line_counts {
    const hc_check_site *site;
    uint64_t loads, stores, atomics, requests, partial;
    uint64_t global_requests, sectors, shared_requests, conflicts;
} line_counts;

static void print_line(FILE *table, FILE *json, const line_counts *c) {
    const hc_check_site *s = c->site;
    const char *file = *s->file ? hc_report_shorten(s->file) : "?";
    const char *slash = strrchr(file, '/');
    fprintf(table, "  %-26.26s %5d %10llu %10llu %8llu %9.2f %9llu %8.0f%%\n",
            slash ? slash + 1 : file, s->line, (unsigned long long)c->loads,
            (unsigned long long)c->stores, (unsigned long long)c->atomics,
            per(c->sectors, c->global_requests), (unsigned long long)c->conflicts,
            100 * per(c->partial, c->requests));
    if (!json) return;
    fprintf(json, "{\"kernel\": \"%s\", \"file\": \"%s\", \"line\": %d, \"loads\": %llu, ",
            s->kernel->counts.kernel, file, s->line, (unsigned long long)c->loads);
    fprintf(json,
            "\"stores\": %llu, \"atomics\": %llu, \"requests\": %llu, \"partial_requests\": %llu, "
            "\"global_requests\": %llu, \"global_sectors\": %llu, \"shared_requests\": %llu, "
            "\"bank_conflicts\": %llu}\n",
            (unsigned long long)c->stores, (unsigned long long)c->atomics,
            (unsigned long long)c->requests, (unsigned long long)c->partial,
            (unsigned long long)c->global_requests, (unsigned long long)c->sectors,
            (unsigned long long)c->shared_requests, (unsigned long long)c->conflicts);
}

static void print_kernel(FILE *table, FILE *json, const hostcuda_kernel_counts *k) {
    fprintf(table, "%s: %llu launches, %llu blocks, %llu threads\n", k->kernel,
            (unsigned long long)k->launches, (unsigned long long)k->blocks,
            (unsigned long long)k->threads);
    fprintf(table, "  %-26s %5s %10s %10s %8s %9s %9s %9s\n", "file", "line", "loads", "stores",
            "atomics", "sect/req", "conflicts", "partial");
    if (json)
        fprintf(json,
                "{\"kernel\": \"%s\", \"launches\": %llu, \"blocks\": %llu, \"threads\": %llu}\n",
                k->kernel, (unsigned long long)k->launches, (unsigned long long)k->blocks,
                (unsigned long long)k->threads);
}

/* Sites of one line, such as the copies of an unrolled loop, are one row. */
static void print_profile(FILE *table, FILE *json) {
    unsigned count;
    hc_check_site *all = hc_check_sites(&count), *used = malloc(count * sizeof *used);
    size_t n = 0;
    if (!all || !used) return;
    hc_check_find_lines(1, count);
    for (unsigned i = 1; i < count; i++)
        if (all[i].kernel && all[i].threads) used[n++] = all[i];
    qsort(used, n, sizeof *used, by_line);
    for (size_t i = 0; i < n;) {
        line_counts c = {.site = &used[i]};
        if (i == 0 || used[i].kernel != used[i - 1].kernel)
            print_kernel(table, json, &used[i].kernel->counts);
        size_t first = i;
        for (; i < n && by_line(&used[first], &used[i]) == 0; i++) {
            const hc_check_site *s = &used[i];
            *(s->kind & ACCESS_ATOMIC  ? &c.atomics
              : s->kind & ACCESS_WRITE ? &c.stores
                                       : &c.loads) += s->threads;
            c.requests += s->requests, c.partial += s->partial;
            c.global_requests += s->global_requests, c.sectors += s->sectors;
            c.shared_requests += s->shared_requests, c.conflicts += s->conflicts;
        }
        print_line(table, json, &c);
    }
    free(used);
}

static const char *profile_path(void) {
    const char *path = getenv("HOSTCUDA_PROFILE");
    return path && *path ? path : NULL;
}

static __attribute__((constructor)) void at_start(void) { hc_check_count(profile_path() != NULL); }

/* HOSTCUDA_PROFILE=file: the table to stderr, JSON lines to the file; "-" for the table alone. */
static __attribute__((destructor)) void at_exit(void) {
    const char *path = profile_path();
    if (!path || !hc_counts_first()) return;
    FILE *json = strcmp(path, "-") == 0 ? NULL : fopen(path, "a");
    if (!json && strcmp(path, "-") != 0) perror(path);
    print_profile(stderr, json);
    if (json && fclose(json) != 0) perror(path);
}
