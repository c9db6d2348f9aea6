/* jsonl.c: writing JSON lines (jsonl.h). */
#include "jsonl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A run that was killed may have left half a line: cuts the file behind its last whole one. */
static tl_status cut_half_line(jsonl *j) {
    long end = 0;
    rewind(j->file);
    for (int c; (c = getc(j->file)) != EOF;)
        if (c == '\n') end = ftell(j->file);
    TL_NEED(!ferror(j->file) && ftruncate(fileno(j->file), end) == 0 &&
                fseek(j->file, end, SEEK_SET) == 0,
            TL_EIO, "cannot go on with %s: %s", j->path, strerror(errno));
    return TL_OK;
}

tl_status jsonl_open(jsonl *j, const char *path, bool append) {
    *j = (jsonl){.path = path};
    if (append) j->file = fopen(path, "r+"); /* NULL if there is none yet */
    if (j->file) return cut_half_line(j);
    j->file = fopen(path, "w");
    TL_NEED(j->file, TL_EIO, "cannot write %s: %s", path, strerror(errno));
    return TL_OK;
}

void jsonl_close(jsonl *j) {
    if (j->file) fclose(j->file);
    j->file = NULL;
}

tl_status jsonl_holds(const jsonl *j, const char *text, bool *found) {
    char *line = NULL;
    size_t room = 0;
    *found = false;
    FILE *file = fopen(j->path, "r");
    TL_NEED(file, TL_EIO, "cannot read %s: %s", j->path, strerror(errno));
    while (!*found && getline(&line, &room, file) > 0) *found = strstr(line, text) != NULL;
    bool failed = ferror(file);
    free(line);
    fclose(file);
    TL_NEED(!failed, TL_EIO, "cannot read %s", j->path);
    return TL_OK;
}

static void quoted(FILE *file, const char *text) {
    putc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else
            putc(*c, file);
    }
    putc('"', file);
}

static void number(FILE *file, double value) {
    if (isfinite(value))
        fprintf(file, "%.17g", value);
    else
        fputs("null", file);
}

static void name_field(jsonl *j, const char *name) {
    if (!j->first) fputs(", ", j->file);
    j->first = false;
    quoted(j->file, name);
    fputs(": ", j->file);
}

void jsonl_begin(jsonl *j) {
    putc('{', j->file);
    j->first = true;
}

void jsonl_text(jsonl *j, const char *name, const char *value) {
    name_field(j, name);
    quoted(j->file, value);
}

void jsonl_whole(jsonl *j, const char *name, uint64_t value) {
    name_field(j, name);
    fprintf(j->file, "%llu", (unsigned long long)value);
}

void jsonl_number(jsonl *j, const char *name, double value) {
    name_field(j, name);
    number(j->file, value);
}

void jsonl_numbers(jsonl *j, const char *name, const double value[], int count) {
    name_field(j, name);
    putc('[', j->file);
    for (int i = 0; i < count; i++) {
        if (i) fputs(", ", j->file);
        number(j->file, value[i]);
    }
    putc(']', j->file);
}

tl_status jsonl_end(jsonl *j) {
    fputs("}\n", j->file);
    TL_NEED(fflush(j->file) == 0 && !ferror(j->file), TL_EIO, "cannot write %s: %s", j->path,
            strerror(errno));
    return TL_OK;
}
