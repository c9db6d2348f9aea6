/* words.c: reading NAME=value words (words.h). */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tl_status unknown_option(const word_row *table, const char *word, size_t length) {
    char known[512] = "";
    for (const word_row *row = table; row->name; row++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? " " : "", row->name);
    }
    return TL_FAIL(TL_EINVAL, "unknown option %.*s; the options are %s", (int)length, word, known);
}

void words_help(const word_row *table) {
    printf("%s NAME=value …\n", program_invocation_short_name);
    for (const word_row *row = table; row->name; row++) printf("  %-11s%s\n", row->name, row->help);
}

/* Stores the value of one option; numbers must be complete and in range. */
static tl_status store(void *fields, const word_row *row, const char *value) {
    void *field = (char *)fields + row->offset;
    char *end = NULL;
    errno = 0;
    if (row->type == WORD_TEXT) {
        *(const char **)field = value;
        return TL_OK;
    }
    if (row->type == WORD_SEED) {
        *(uint64_t *)field = strtoull(value, &end, 10);
        TL_NEED(*value >= '0' && *value <= '9' && *end == '\0' && errno == 0, TL_EINVAL,
                "SEED=%s: use a whole number from 0 to 2^64-1", value);
        return TL_OK;
    }
    if (row->type == WORD_NUMBER) {
        *(double *)field = strtod(value, &end);
        TL_NEED(*value && *end == '\0' && *(double *)field >= row->least &&
                    *(double *)field <= row->most,
                TL_EINVAL, "%s=%s: use a number from %g to %g", row->name, value, row->least,
                row->most);
        return TL_OK;
    }
    long whole = strtol(value, &end, 10);
    TL_NEED(*value && *end == '\0' && errno == 0 && (double)whole >= row->least &&
                (double)whole <= row->most,
            TL_EINVAL, "%s=%s: use a whole number from %.0f to %.0f", row->name, value, row->least,
            row->most);
    if (row->type == WORD_FLAG)
        *(bool *)field = whole != 0;
    else
        *(long *)field = whole;
    return TL_OK;
}

/* The row of a NAME=value word, or NULL. */
static const word_row *find_row(const word_row *table, const char *word) {
    size_t length = strcspn(word, "=");
    for (const word_row *row = table; row->name; row++)
        if (strlen(row->name) == length && strncmp(row->name, word, length) == 0) return row;
    return NULL;
}

tl_status words_read(void *fields, const word_row *table, int count, char *const word[]) {
    for (int i = 0; i < count; i++) {
        size_t length = strcspn(word[i], "=");
        TL_NEED(word[i][length] == '=', TL_EINVAL, "'%s' is not of the form NAME=value", word[i]);
        const word_row *row = find_row(table, word[i]);
        if (!row) return unknown_option(table, word[i], length);
        TL_NEED(word[i][length + 1] != '\0', TL_EINVAL, "%s= has no value", row->name);
        TL_TRY(store(fields, row, word[i] + length + 1));
    }
    return TL_OK;
}
