/* words.h: NAME=value words, as every program of ours takes its options. */
#ifndef GRADLAB_WORDS_H
#define GRADLAB_WORDS_H

#include <stddef.h>

#include "tl/status.h"

/* What a field holds: const char *, long, double, uint64_t, bool. */
typedef enum word_type { WORD_TEXT, WORD_WHOLE, WORD_NUMBER, WORD_SEED, WORD_FLAG } word_type;

/* One row per option; a name of NULL ends the table. */
typedef struct word_row {
    const char *name;
    word_type type;
    size_t offset;      /* of the field, in the struct that is filled */
    double least, most; /* of numbers */
    const char *help;
} word_row;

/* Stores the values of all words in *fields; what is not given stays. Numbers must be complete and
 * in range: TL_EINVAL names the word and the values it may take. The strings of argv must outlive
 * *fields. */
tl_status words_read(void *fields, const word_row *table, int count, char *const word[]);

/* Prints a line for each option. */
void words_help(const word_row *table);

#endif
