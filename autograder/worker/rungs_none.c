/* rungs_none.c: no rungs: what stands beside a student's code has the plain path alone. */
#include "labs/common/program/rungs.h"

const rung rung_table[] = {{NULL, NULL, 0, NULL}};
