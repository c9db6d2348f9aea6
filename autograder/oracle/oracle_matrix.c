/* oracle_matrix.c: sums, matrix products and the linear layer by definition. */
#include "oracle.h"

#include <math.h>

/* sum of x[i * stride], one after the other: at most gamma_n of double away from the truth, which
 * the bounds of both builds count as the oracle's share. */
double oracle_sum(const double *x, size_t n, size_t stride, double *scale) {
    double sum = 0, absolute = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i * stride];
        absolute += fabs(x[i * stride]);
    }
    if (scale) *scale = absolute;
    return sum;
}

/* y[j] = sum over i of x[i,j] */
void oracle_sum_rows(double *y, double *scale, const double *x, int rows, int cols) {
    for (int j = 0; j < cols; j++)
        y[j] = oracle_sum(x + j, (size_t)rows, (size_t)cols, scale ? &scale[j] : NULL);
}

/* y[i] = sum over j of x[i,j] */
void oracle_sum_cols(double *y, double *scale, const double *x, int rows, int cols) {
    for (int i = 0; i < rows; i++)
        y[i] = oracle_sum(x + (size_t)i * (size_t)cols, (size_t)cols, 1, scale ? &scale[i] : NULL);
}

/* Only a larger element takes the lead, so of equal ones the first keeps it. */
int oracle_argmax(const double *x, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

/* C[i,j] = sum over l of op(A)[i,l] op(B)[l,j]; a transposed operand is read with its indices
 * exchanged, nothing is moved. */
void oracle_matmul(double *C, double *scale, const double *A, const double *B,
                   const tl_matmul_geom *g) {
    size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0, absolute = 0;
            for (size_t l = 0; l < k; l++) {
                double a = g->trans_a ? A[l * m + i] : A[i * k + l];
                double b = g->trans_b ? B[j * k + l] : B[l * n + j];
                sum += a * b;
                absolute += fabs(a * b);
            }
            C[i * n + j] = sum;
            if (scale) scale[i * n + j] = absolute;
        }
}

/* y[j,i] = x[i,j] */
void oracle_transpose(double *y, const double *x, int rows, int cols) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            y[(size_t)j * (size_t)rows + (size_t)i] = x[(size_t)i * (size_t)cols + (size_t)j];
}

/* y[i,o] = b[o] + sum over j of x[i,j] w[o,j] */
void oracle_linear_fwd(double *y, double *scale, const double *x, const double *w, const double *b,
                       const tl_linear_geom *g) {
    for (int i = 0; i < g->n; i++)
        for (int o = 0; o < g->out; o++) {
            double sum = b ? b[o] : 0, absolute = fabs(sum);
            for (int j = 0; j < g->in; j++) {
                double term = x[i * g->in + j] * w[o * g->in + j];
                sum += term;
                absolute += fabs(term);
            }
            y[i * g->out + o] = sum;
            if (scale) scale[i * g->out + o] = absolute;
        }
}

/* dx[i,j] = sum over o of dy[i,o] w[o,j] */
void oracle_linear_bwd_input(double *dx, double *scale, const double *dy, const double *w,
                             const tl_linear_geom *g) {
    for (int i = 0; i < g->n; i++)
        for (int j = 0; j < g->in; j++) {
            double sum = 0, absolute = 0;
            for (int o = 0; o < g->out; o++) {
                double term = dy[i * g->out + o] * w[o * g->in + j];
                sum += term;
                absolute += fabs(term);
            }
            dx[i * g->in + j] = sum;
            if (scale) scale[i * g->in + j] = absolute;
        }
}

/* dw[o,j] = sum over i of dy[i,o] x[i,j] */
void oracle_linear_bwd_weight(double *dw, double *scale, const double *dy, const double *x,
                              const tl_linear_geom *g) {
    for (int o = 0; o < g->out; o++)
        for (int j = 0; j < g->in; j++) {
            double sum = 0, absolute = 0;
            for (int i = 0; i < g->n; i++) {
                double term = dy[i * g->out + o] * x[i * g->in + j];
                sum += term;
                absolute += fabs(term);
            }
            dw[o * g->in + j] = sum;
            if (scale) scale[o * g->in + j] = absolute;
        }
}

/* db[o] = sum over i of dy[i,o]: a sum, not a mean; the loss has taken the mean already. */
void oracle_linear_bwd_bias(double *db, double *scale, const double *dy, const tl_linear_geom *g) {
    oracle_sum_rows(db, scale, dy, g->n, g->out);
}
