/* edit.c: collects insertions and replacements, applies them, and words refusals. */
#define _GNU_SOURCE
#include "rewriter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct edit {
    size_t start, length, order;
    char *text;
} edit;

void *grow(void *array, size_t count, size_t size) {
    if (count & (count - 1)) return array; /* room was made at the last power of two */
    array = realloc(array, (count ? 2 * count : 1) * size);
    if (!array) exit(2);
    return array;
}

static void add(source *s, size_t start, size_t length, char *text) {
    s->edits = grow(s->edits, s->edit_count, sizeof *s->edits);
    s->edits[s->edit_count] = (edit){start, length, s->edit_count, text};
    s->edit_count++;
}

/* The newlines of the replaced text are kept: the lines below must not move. */
void edit_replace(source *s, size_t start, size_t length, const char *text) {
    size_t kept = strlen(text);
    char *full = malloc(kept + length * 2 + 1);
    if (!full) exit(2);
    memcpy(full, text, kept);
    for (size_t i = start; i < start + length; i++) {
        if (s->text[i] != '\n') continue;
        if (i > start && s->text[i - 1] == '\\') full[kept++] = '\\';
        full[kept++] = '\n';
    }
    full[kept] = '\0';
    add(s, start, length, full);
}

void edit_insert(source *s, size_t at, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) exit(2);
    va_end(arguments);
    add(s, at, 0, text);
}

static int by_position(const void *a, const void *b) {
    const edit *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

void edit_write(const source *s) {
    if (s->edit_count) qsort(s->edits, s->edit_count, sizeof *s->edits, by_position);
    size_t at = 0;
    for (size_t i = 0; i < s->edit_count; i++) {
        const edit *e = &s->edits[i];
        if (e->start > at) fwrite(s->text + at, 1, e->start - at, stdout);
        fputs(e->text, stdout);
        if (e->start + e->length > at) at = e->start + e->length;
    }
    fwrite(s->text + at, 1, s->size - at, stdout);
}

/* Outside of any #if the refusal is certain and printed here. Within one the branch may never be
 * compiled, so the message is put into the output for the compiler to print if it gets there. */
void refuse(source *s, size_t index, const char *what, const char *instead) {
    const token *t = &s->tokens[index];
    if (t->conditional == 0 && !t->in_define) {
        fprintf(stderr, "%s:%d: error: %s is not supported by hostcuda: %s\n", s->path, t->line,
                what, instead);
        s->failed = true;
        return;
    }
    char *text = NULL;
    const char *form = t->kind == TOKEN_DIRECTIVE
                           ? "#error %s is not supported by hostcuda: %s"
                           : "_Pragma(\"GCC error \\\"%s is not supported by hostcuda: %s\\\"\") ";
    if (asprintf(&text, form, what, instead) < 0) exit(2);
    edit_replace(s, t->start, t->length, text);
    free(text);
}
