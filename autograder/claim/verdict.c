/* verdict.c: a claim's line of JSON. */
#define _GNU_SOURCE
#include "verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "limits.h"
#include "pattern.h"

void finding_begin(finding *f, const claim *c, const char *kind) {
    memset(f, 0, sizeof *f);
    snprintf(f->kind, sizeof f->kind, "%s", kind);
    memcpy(f->call, c->call, sizeof f->call);
    memcpy(f->bound, c->bound, sizeof f->bound);
    f->ratio = NAN;
    f->printed = call_evidence_now()->output_bytes;
    f->traced = call_evidence_now()->line != 0;
}

void finding_place(finding *f, const char *error) {
    /* (a sentence may have a colon, and a number behind it: a file's name has no blank) */
    const char *colon = error + strcspn(error, ": ");
    int line = *colon == ':' ? atoi(colon + 1) : 0;
    if (line <= 0 || colon - error >= (long)sizeof f->file) return;
    snprintf(f->file, sizeof f->file, "%.*s", (int)(colon - error), error);
    f->line = line;
}

void finding_take(claim *c, const char *kind, bool last, const char *format, ...) {
    finding f;
    finding_begin(&f, c, kind);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f.text, sizeof f.text, format, arguments);
    va_end(arguments);
    finding_place(&f, f.text);
    claim_take(c, &f, last);
}

void finding_pattern(finding *f, const char *name) {
    for (int i = 0; i < f->patterns; i++)
        if (strcmp(f->pattern[i], name) == 0) return;
    if (f->patterns < FINDING_PATTERNS)
        snprintf(f->pattern[f->patterns++], sizeof f->pattern[0], "%s", name);
}

void finding_pattern_of_case(claim *c, const char *name) {
    if (c->finding && c->case_failed && c->failed_case == c->cases)
        finding_pattern(c->finding, name);
}

/* ---- JSON ---- */

/* The length of the UTF-8 character at p (n bytes are there), or 0: bytes of a student's program
 * are no text before this has been asked. */
static size_t utf8(const unsigned char *p, size_t n) {
    size_t length = p[0] < 0x80       ? 1
                    : p[0] >> 5 == 6  ? 2
                    : p[0] >> 4 == 14 ? 3
                    : p[0] >> 3 == 30 ? 4
                                      : 0;
    if (length == 0 || length > n) return 0;
    unsigned code = length == 1 ? p[0] : p[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (p[i] >> 6 != 2) return 0;
        code = code << 6 | (p[i] & 0x3Fu);
    }
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = code >= 0xD800 && code < 0xE000;
    return code < least[length] || surrogate || code > 0x10FFFF ? 0 : length;
}

static void put_bytes(FILE *out, const char *text, size_t n) {
    putc('"', out);
    for (size_t i = 0, length; i < n; i += length) {
        const unsigned char *p = (const unsigned char *)text + i;
        length = utf8(p, n - i);
        if (length == 0) { /* no character: its byte as U+00XX, so that something of it is seen */
            fprintf(out, "\\u%04x", *p);
            length = 1;
        } else if (*p == '"' || *p == '\\') {
            fprintf(out, "\\%c", *p);
        } else if (*p < 0x20 || *p == 0x7F) {
            fprintf(out, "\\u%04x", *p);
        } else {
            fwrite(p, 1, length, out);
        }
    }
    putc('"', out);
}

static void put_text(FILE *out, const char *name, const char *value) {
    fprintf(out, ",\"%s\":", name);
    put_bytes(out, value, strlen(value));
}

/* JSON has neither NaN nor infinity: words. */
static void put_value(FILE *out, double value) {
    if (isnan(value))
        fputs("\"nan\"", out);
    else if (isinf(value))
        fputs(value > 0 ? "\"inf\"" : "\"-inf\"", out);
    else
        fprintf(out, "%.9g", value);
}

static void put_number(FILE *out, const char *name, double value) {
    fprintf(out, ",\"%s\":", name);
    put_value(out, value);
}

/* A list of strings that lie `stride` bytes apart. */
static void put_list(FILE *out, const char *name, const char *first, size_t stride, int count) {
    if (count == 0) return;
    fprintf(out, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        const char *text = first + (size_t)i * stride;
        if (i) putc(',', out);
        put_bytes(out, text, strlen(text));
    }
    putc(']', out);
}

static void put_rows(FILE *out, const char *name, const finding_window *w,
                     const double value[WINDOW][WINDOW]) {
    fprintf(out, ",\"%s\":[", name);
    for (int i = 0; i < w->rows; i++)
        for (int j = 0; j < w->cols; j++) {
            fputs(j ? "," : i ? "],[" : "[", out);
            put_value(out, value[i][j]);
        }
    fputs("]]", out);
}

static void put_window(FILE *out, const finding_window *w) {
    if (w->rows == 0) return;
    fprintf(out, ",\"window\":{\"row\":%d,\"col\":%d", w->row, w->col);
    put_rows(out, "got", w, w->got);
    put_rows(out, "want", w, w->want);
    char marks[WINDOW][WINDOW + 1] = {{0}};
    for (int i = 0; i < w->rows; i++)
        for (int j = 0; j < w->cols; j++) marks[i][j] = w->wrong[i][j] ? '#' : '.';
    put_list(out, "wrong", marks[0], sizeof marks[0], w->rows);
    fputs("}", out);
}

static void put_array(FILE *out, const finding *f) {
    size_t at = f->worst;
    int index[4] = {0};
    for (int i = f->shape.ndim - 1; i >= 0; i--) {
        index[i] = (int)(at % (size_t)f->shape.dim[i]);
        at /= (size_t)f->shape.dim[i];
    }
    put_text(out, "array", f->array);
    fputs(",\"shape\":[", out);
    for (int i = 0; i < f->shape.ndim; i++) fprintf(out, i ? ",%d" : "%d", f->shape.dim[i]);
    fputs("],\"index\":[", out);
    for (int i = 0; i < f->shape.ndim; i++) fprintf(out, i ? ",%d" : "%d", index[i]);
    fputs("]", out);
    if (f->shape.axes) {
        fputs(",\"axes\":[", out);
        for (int i = 0; i < f->shape.ndim; i++)
            fprintf(out, "%s\"%c\"", i ? "," : "", f->shape.axes[i]);
        fputs("]", out);
    }
    put_number(out, "got", f->got);
    put_number(out, "want", f->want);
    put_number(out, "allowed", f->allowed);
    if (f->bound[0]) put_text(out, "bound", f->bound);
    fprintf(out, ",\"wrong\":%zu,\"total\":%zu", f->wrong, f->total);
    if (!isnan(f->ratio)) put_number(out, "ratio", f->ratio);
    put_list(out, "map", f->map[0], sizeof f->map[0], f->map_lines);
    put_window(out, &f->window);
}

bool finding_is_ours(const finding *f) {
    static const char *const ours[] = {"grader", "blind", "machine"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(f->kind, ours[i]) == 0) return true;
    return false;
}

static const char *verdict_of(const finding *f) {
    return !f ? "pass" : finding_is_ours(f) ? "error" : "fail";
}

static void put_failure(FILE *out, finding *f, const claim *c) {
    const call_evidence *e = call_evidence_now();
    char op[32];
    snprintf(op, sizeof op, "%.*s", (int)strcspn(f->call, " ,"), f->call);
    put_text(out, "kind", f->kind);
    put_text(out, "call", f->call);
    put_text(out, "op", op);
    put_text(out, "text", f->text);
    if (f->array[0]) put_array(out, f);
    pattern_over_cases(f, c);
    put_list(out, "patterns", f->pattern[0], sizeof f->pattern[0], f->patterns);
    const claim_size_limit *limit = limits_found(c);
    if (limit) {
        fputs(",\"limit\":{", out);
        fprintf(out, "\"name\":\"%s\",\"right\":%lld,\"wrong\":%lld}", limit->name,
                limit->most_passed, limit->least_failed);
    }
    /* (wrong numbers are no crash's; a checker tells its place late, when the call is over) */
    bool own = !f->array[0] || f->traced || e->checkers;
    int line = own && e->line ? e->line : f->line;
    if (line) {
        put_text(out, "file", own && e->line ? e->file : f->file);
        fprintf(out, ",\"line\":%d", line);
    }
    put_list(out, "backtrace", e->backtrace[0], sizeof e->backtrace[0], own ? e->frames : 0);
    put_list(out, "checker", e->checker[0], sizeof e->checker[0], e->checkers);
}

/* "conv3x3.cu:31: 151552 sectors, 0 conflicts of banks", as text: nothing is judged by it. Of a
 * line that uses shared memory also its requests. */
static void put_costs(FILE *out, const claim *c) {
    char text[CALL_COSTS][160], shared[60];
    for (int i = 0; i < c->costs; i++) {
        const call_cost *cost = &c->cost[i];
        snprintf(shared, sizeof shared, " %lld requests to shared memory,",
                 (long long)cost->shared_requests);
        snprintf(text[i], sizeof text[i], "%s:%d: %lld sectors,%s %lld conflicts of banks",
                 cost->file, cost->line, (long long)cost->sectors,
                 cost->shared_requests ? shared : "", (long long)cost->conflicts);
    }
    put_list(out, "by_line", text[0], sizeof text[0], c->costs);
}

static void put_line(FILE *out, claim *c, finding *f) {
    const call_evidence *e = call_evidence_now();
    const char *device = getenv("GRADLAB_DEVICES");
    fputs("{\"schema\":\"gradlab-claims/1\"", out);
    put_text(out, "claim", c->name);
    put_text(out, "device", device && *device ? device : "cpu");
    put_text(out, "real", TL_REAL_NAME);
    fprintf(out, ",\"seed\":%llu", (unsigned long long)c->seed);
    put_text(out, "verdict", verdict_of(f));
    if (f) put_failure(out, f, c);
    if (e->output_total) {
        fputs(",\"output\":", out);
        put_bytes(out, e->output, e->output_bytes);
        fprintf(out, ",\"output_bytes\":%zu", e->output_total);
        if (f) fprintf(out, ",\"output_by_then\":%zu", f->printed);
    }
    fprintf(out, ",\"cases\":%d,\"compared\":%d", c->cases, c->compared);
    put_number(out, "worst", c->worst);
    put_number(out, "cpu_s", e->cpu_s + (double)clock() / CLOCKS_PER_SEC);
    if (c->said[0]) put_text(out, "said", c->said);
    put_costs(out, c);
    fputs(",\"counters\":{", out);
    for (int i = 0, some = 0; i < CALL_COUNTERS; i++)
        if (c->counter[i] >= 0)
            fprintf(out, "%s\"%s\":%lld", some++ ? "," : "", call_counter_names[i],
                    (long long)c->counter[i]);
    fputs("}}\n", out);
}

/* In one write, so that lines of tests side by side do not mix. */
void verdict_write(claim *c, finding *f) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert(out, "no memory for the verdict");
    put_line(out, c, f);
    bool good = fclose(out) == 0;
    int file = open(c->verdicts, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    good = good && file >= 0 && write(file, text, bytes) == (ssize_t)bytes;
    int reason = errno;
    if (file >= 0) close(file);
    free(text);
    cr_assert(good, "GRADLAB_CLAIMS=%s cannot be written: %s", c->verdicts, strerror(reason));
}
