/* main_shapes10.c: the program `shapes10 DIR [SEED]`: draws the data set into DIR/shapes10.
 * Exit status: 0 the set is complete, 1 it could not be written, 2 wrong arguments. */
#include "tl/data.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* A whole number without sign, spaces or anything behind it; 0 if the text is none. strtoull alone
 * would take "-1" for 2^64 - 1. */
static int parse_seed(const char *text, uint64_t *seed) {
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

int main(int argc, char **argv) {
    uint64_t seed = TL_SHAPES10_SEED;
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes: let the write fail, which says where */
    if (argc < 2 || argc > 3) {
        fprintf(stderr,
                "usage: %s DIR [SEED]\nDraws the data set shapes10 into DIR/shapes10 (184 MB).\n",
                argv[0]);
        return 2;
    }
    if (argc == 3 && !parse_seed(argv[2], &seed)) {
        fprintf(stderr, "shapes10: SEED is \"%s\", expected a whole number 0 .. 2^64 - 1\n",
                argv[2]);
        return 2;
    }
    if (tl_shapes10_write(argv[1], seed) != TL_OK) {
        fprintf(stderr, "shapes10: %s\n", tl_error());
        return 1;
    }
    fprintf(stderr, "shapes10: 50000 training and 10000 test images, seed %llu, in %s/shapes10\n",
            (unsigned long long)seed, argv[1]);
    return 0;
}
