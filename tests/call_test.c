/* call_test.c: the call interface itself: it must notice what it is there to notice. */
#include "autograder/call/call_arguments.h"
#include "autograder/call/call_ops.h"
#include "autograder/call/call_row.h"
#include "autograder/claim/expect.h"

#include <string.h>

static const call_target *const cpu = &claim_targets[0];

/* fill of `filled` elements on an array of 8 that was declared with `role`. */
static call_report run_fill(tl_real y[8], call_role role, int64_t filled) {
    call_report r;
    const call_fill_arguments own = {.n = (size_t)filled, .value = 3};
    const call_request q = {.op = CALL_fill,
                            .arguments = &own,
                            .argument_bytes = sizeof own,
                            .buffer = {{"y", CALL_REAL, role, 8, y}},
                            .buffers = 1};
    call_run(cpu, &q, &r);
    return r;
}

static void expect_fault(claim *c, const call_report *r, const char *word) {
    expect_true(c, strstr(r->fault, word) != NULL, "the fault says \"%s\", not \"%s\"", r->fault,
                word);
}

CLAIM(call, what_behaves_has_no_fault) {
    tl_real y[8];
    call_report r = run_fill(y, CALL_OUT, 8);
    expect_ok(c, &r);
    expect_true(c, y[0] == 3 && y[7] == 3, "the output did not come back");
}

CLAIM(call, a_write_behind_the_end_is_noticed) {
    tl_real y[8];
    call_report r = run_fill(y, CALL_OUT, 9);
    expect_fault(c, &r, "1 elements behind the end of y");
}

CLAIM(call, an_element_never_written_is_noticed) {
    tl_real y[8];
    call_report r = run_fill(y, CALL_OUT, 5);
    expect_fault(c, &r, "3 of 8 elements of y were never written");
}

CLAIM(call, a_changed_input_is_noticed) {
    tl_real y[8] = {0};
    call_report r = run_fill(y, CALL_IN, 8);
    expect_fault(c, &r, "input y was changed");
}

/* An output that is added to instead of overwritten: the poison turns into an ordinary NaN. */
CLAIM(call, a_sum_with_poison_is_not_a_result) {
    tl_real y[4], x[4] = {1, 2, 3, 4};
    const call_axpy_arguments own = {.n = 4, .alpha = 1};
    call_report r;
    const call_request q = {
        .op = CALL_axpy,
        .arguments = &own,
        .argument_bytes = sizeof own,
        .buffer = {{"y", CALL_REAL, CALL_OUT, 4, y}, {"x", CALL_REAL, CALL_IN, 4, x}},
        .buffers = 2};
    call_run(cpu, &q, &r);
    expect_ok(c, &r);
    for (int i = 0; i < 4; i++) expect_true(c, y[i] != y[i], "y[%d] is %g", i, (double)y[i]);
}

/* Adding to what lies behind the end leaves a NaN a NaN, but not the same NaN. */
CLAIM(call, an_addition_behind_the_end_is_noticed) {
    tl_real y[4] = {0}, x[8] = {0};
    const call_axpy_arguments own = {.n = 8, .alpha = 1};
    call_report r;
    const call_request q = {
        .op = CALL_axpy,
        .arguments = &own,
        .argument_bytes = sizeof own,
        .buffer = {{"y", CALL_REAL, CALL_INOUT, 4, y}, {"x", CALL_REAL, CALL_IN, 8, x}},
        .buffers = 2};
    call_run(cpu, &q, &r);
    expect_fault(c, &r, "4 elements behind the end of y");
}

/* Names come from the list that numbers the operations; a row in another's place has another name.
 */
CLAIM(call, every_operation_has_a_row) {
    for (int op = 0; op < CALL_OPS; op++) {
        const char *name = call_op_name((call_op)op);
        const call_row *row = &call_rows[op];
        expect_true(c, name && *name, "operation %d has no name", op);
        expect_true(c, row->name && row->run, "%s has no row in call_table.c", name);
        expect_true(c, strcmp(row->name, name) == 0, "the row of %s is that of %s", name,
                    row->name);
    }
}

CLAIM(call, a_number_that_is_no_operation_is_refused) {
    static const int bad[] = {-1, CALL_OPS, 1 << 20};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        call_report r;
        tl_real y[1] = {0};
        claim_case(c, cpu, "operation %d", bad[i]);
        call_run(cpu,
                 &(const call_request){.op = (call_op)bad[i],
                                       .buffer = {{"y", CALL_REAL, CALL_INOUT, 1, y}},
                                       .buffers = 1},
                 &r);
        expect_status(c, &r, TL_EINVAL);
        expect_true(c, !r.reached, "operation %d was called", bad[i]);
        expect_true(c, !call_op_name((call_op)bad[i]), "operation %d has a name", bad[i]);
    }
}

CLAIM(call, a_device_that_is_not_there_is_an_error_in_words) {
    static const call_target bad[] = {{.device = "toaster", .rungs = "none", .threads = 1},
                                      {.device = "cpu", .rungs = "no_such_rung:1", .threads = 1},
                                      {.device = "cpu", .rungs = "conv2d:99", .threads = 1},
                                      {.device = "cpu", .rungs = "conv2d:x", .threads = 1},
                                      {.device = "cpu", .rungs = "none", .threads = -1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        call_report r;
        tl_real y[3];
        claim_case(c, &bad[i], "fill");
        call_fill(&bad[i], &r, y, 3, 1);
        expect_status(c, &r, TL_EINVAL);
    }
}

/* A program that is cut off, or names what is not there, fails and leaves nothing behind. */
CLAIM(call, a_bad_graph_program_is_refused) {
    static const int64_t cut[] = {2, 1}, unknown[] = {999}, missing[] = {11, 7};
    static const struct {
        const int64_t *code;
        size_t length;
    } bad[] = {{cut, 2}, {unknown, 1}, {missing, 2}};
    for (int i = 0; i < 3; i++) {
        call_report r;
        tl_real out[1], in[1] = {0};
        int32_t label[1] = {0};
        claim_case(c, cpu, "graph program %d", i);
        call_graph(cpu, &r, out, 1, in, 1, label, 1, bad[i].code, bad[i].length);
        expect_status(c, &r, TL_EINVAL);
    }
}
