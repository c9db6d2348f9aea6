/* define_reduce.c: sums as the oracle has them (question.h). */
#include "autograder/oracle/oracle.h"
#include "question.h"

void define_sum(question *q) {
    size_t n = (size_t)q->number[0];
    double *want = question_doubles(q, 1), *scale = question_doubles(q, 1);
    *want = oracle_sum(question_given(q, "x", 0, n), n, 1, scale);
    question_expect(q, "y", 0, want, scale, 1, n);
}

void define_sum_rows(question *q) {
    int rows = q->number[0], cols = q->number[1];
    size_t m = (size_t)cols;
    double *want = question_doubles(q, m), *scale = question_doubles(q, m);
    oracle_sum_rows(want, scale, question_given(q, "x", 0, (size_t)rows * m), rows, cols);
    question_expect(q, "y", 0, want, scale, m, (size_t)rows);
}

void define_sum_cols(question *q) {
    int rows = q->number[0], cols = q->number[1];
    size_t m = (size_t)rows;
    double *want = question_doubles(q, m), *scale = question_doubles(q, m);
    oracle_sum_cols(want, scale, question_given(q, "x", 0, m * (size_t)cols), rows, cols);
    question_expect(q, "y", 0, want, scale, m, (size_t)cols);
}
