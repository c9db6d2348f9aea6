/* verdict.h: what a claim found, and the line of claims.jsonl that says so.
 *
 * One JSON object a line, schema gradlab-claims/1, written at once at the end of the claim's
 * process. A claim that leaves no line was never judged. */
#ifndef TESTS_VERDICT_H
#define TESTS_VERDICT_H

#include "claim.h"
#include "expect.h"

enum { FINDING_PATTERNS = 12, MAP_LINES = 12, MAP_COLUMNS = 40, WINDOW = 16 };

/* What lies around the worst element in the plane of the last two dimensions. */
typedef struct finding_window {
    int rows, cols; /* 0: none */
    int row, col;   /* where in the plane its first element lies */
    double got[WINDOW][WINDOW], want[WINDOW][WINDOW];
    bool wrong[WINDOW][WINDOW];
} finding_window;

/* A failure. Only kind, text and call are always there. */
typedef struct finding {
    char kind[CALL_KIND];
    char text[1024]; /* one line in words */
    char call[512];
    char file[64]; /* of the judged code */
    int line;
    bool last;      /* no further call could be made */
    size_t printed; /* bytes that the judged code had printed by then */
    bool traced;    /* a place was known by then: what comes later is of another case */
    /* of an array that is wrong in places */
    char array[48]; /* "" if it is none */
    expect_shape shape;
    size_t worst, wrong, total;
    double got, want, allowed;
    char bound[200]; /* where the allowance comes from */
    char pattern[FINDING_PATTERNS][24];
    int patterns;
    double ratio; /* that all wrong elements have to what they should be; NaN: none */
    char map[MAP_LINES][MAP_COLUMNS + 1];
    int map_lines;
    finding_window window;
} finding;

/* Fills kind and call, the rest with nothing. */
void finding_begin(finding *f, const claim *c, const char *kind);
/* Whether the test or the machine is at fault: only the judged code costs points. */
bool finding_is_ours(const finding *f);
/* "im2col.c:42: text" gives file and line. */
void finding_place(finding *f, const char *error);
void finding_pattern(finding *f, const char *name);
/* A pattern that only the claim can see, if the running case is the one whose failure is told. */
void finding_pattern_of_case(claim *c, const char *name);

/* A failure in words alone; `last`: no further call can be made (claim_take). */
__attribute__((format(printf, 4, 5))) void finding_take(claim *c, const char *kind, bool last,
                                                        const char *format, ...);

/* Appends the line to c->verdicts; f NULL: the claim holds. */
void verdict_write(claim *c, finding *f);

#endif
