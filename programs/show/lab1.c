/* lab1.c: how quick your matrix product is, beside three plain loops and BLAS (show.h). */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "programs/progress.h"
#include "show.h"
#include "tl/backend.h"
#include "tl/device.h"

enum { WAYS = 3, SIZES = 4, SAMPLES = 5 };
static const char *const way_name[WAYS] = {"naive", "yours", "BLAS"};

/* One product of two n x n matrices; host and device memory are one on the cpu. */
typedef struct product {
    show *s;
    int n;
    tl_real *a, *b, *c;                /* on the device */
    tl_real *host_a, *host_b, *host_c; /* what is computed by the host lies here */
} product;

/* C = A·B as the definition has it: the product of a row and a column for each element. */
static tl_status naive(const product *p) {
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++) {
            tl_real sum = 0;
            for (int k = 0; k < p->n; k++) sum += p->host_a[i * p->n + k] * p->host_b[k * p->n + j];
            p->host_c[i * p->n + j] = sum;
        }
    return TL_OK;
}

static tl_status yours(const product *p) {
    const tl_matmul_geom g = {.m = p->n, .n = p->n, .k = p->n};
    TL_TRY(p->s->ctx->ops->matmul(p->s->ctx, p->c, p->a, p->b, &g));
    return tl_device_sync(p->s->ctx);
}

/* On the cpu OpenBLAS itself; on a CUDA device cuBLAS, as your gemm calls it. */
static tl_status blas(const product *p) {
    int n = p->n;
    if (p->s->ctx->stream) {
        const tl_matmul_geom g = {.m = n, .n = n, .k = n};
        TL_TRY(p->s->ctx->ops->gemm(p->s->ctx, p->c, p->a, p->b, &g));
        return tl_device_sync(p->s->ctx);
    }
#ifdef TL_REAL_DOUBLE
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, p->host_a, n, p->host_b, n,
                0, p->host_c, n);
#else
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, p->host_a, n, p->host_b, n,
                0, p->host_c, n);
#endif
    return TL_OK;
}

static tl_status (*const way[WAYS])(const product *) = {naive, yours, blas};

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of some samples, each of as many runs as take a hundredth of a second. */
static tl_status flops_per_s(double *result, const product *p, int which) {
    double sample[SAMPLES], flop = 2.0 * p->n * p->n * p->n;
    TL_TRY(way[which](p)); /* the first run is not timed: memory is touched, threads start */
    for (int i = 0; i < SAMPLES; i++) {
        double begin = now_seconds(), end = begin;
        int runs = 0;
        for (; end - begin < 0.01; runs++, end = now_seconds()) TL_TRY(way[which](p));
        sample[i] = flop * runs / (end - begin);
    }
    qsort(sample, SAMPLES, sizeof *sample, by_size);
    *result = sample[SAMPLES / 2];
    return TL_OK;
}

/* Whether your product is what the plain loops say, within what rounding may do to n terms. */
static tl_status agrees(bool *same, const product *p, tl_real *mine) {
    size_t size = (size_t)p->n * (size_t)p->n;
    TL_TRY(naive(p));
    TL_TRY(yours(p));
    TL_TRY(show_get(p->s, mine, p->c, size));
    *same = true;
    for (size_t i = 0; i < size; i++)
        *same &= fabs((double)mine[i] - (double)p->host_c[i]) <= 1e-6 * p->n;
    return TL_OK;
}

static tl_status measure(show *s, int n, double rate[WAYS], tl_real *host) {
    size_t size = (size_t)n * (size_t)n;
    product p = {s, n, NULL, NULL, NULL, host, host + size, host + 2 * size};
    bool same;
    for (size_t i = 0; i < 2 * size; i++) host[i] = (tl_real)show_draw(s, (uint32_t)n, i);
    TL_TRY(show_array(s, &p.a, size, p.host_a));
    TL_TRY(show_array(s, &p.b, size, p.host_b));
    TL_TRY(show_array(s, &p.c, size, NULL));
    TL_TRY(agrees(&same, &p, host + 3 * size));
    TL_NEED(same, TL_EINVAL,
            "your product of two %d x %d matrices is wrong, and how quick it is says nothing: "
            "make grade LAB=1 T=matmul",
            n, n);
    for (int i = 0; i < WAYS; i++) TL_TRY(flops_per_s(&rate[i], &p, i));
    printf("%6d", n);
    for (int i = 0; i < WAYS; i++) printf("  %8.3g", rate[i] * 1e-9);
    printf("   yours: %.2g x naive, %.2g %% of BLAS\n", rate[1] / rate[0], 100 * rate[1] / rate[2]);
    return TL_OK;
}

static tl_status write(show *s, int n, const double rate[WAYS]) {
    jsonl_begin(s->j);
    jsonl_text(s->j, "kind", "products");
    jsonl_whole(s->j, "n", (uint64_t)n);
    for (int i = 0; i < WAYS; i++) jsonl_number(s->j, way_name[i], rate[i]);
    return jsonl_end(s->j);
}

tl_status show_lab1(show *s) {
    bool slow = show_emulated(s);
    double rate[WAYS] = {0};
    int largest = slow ? 96 : 512;
    tl_real *host = calloc(4 * (size_t)largest * (size_t)largest, sizeof *host);
    TL_NEED(host, TL_ENOMEM, "no memory for matrices of %d x %d", largest, largest);
    printf("\nGFLOP/s of a product of two n x n matrices, %s, on %s\n\n%6s", TL_REAL_NAME,
           s->ctx->ops->name, "n");
    for (int i = 0; i < WAYS; i++) printf("  %8s", way_name[i]);
    putchar('\n');
    tl_status status = TL_OK;
    for (int i = SIZES - 1; i >= 0 && status == TL_OK; i--) {
        int n = largest >> i;
        status = measure(s, n, rate, host);
        if (status == TL_OK) status = write(s, n, rate);
    }
    free(host);
    TL_TRY(status);
    printf("\nn = %d, in GFLOP/s:\n", largest);
    for (int i = 0; i < WAYS; i++) rate[i] *= 1e-9;
    show_bars(way_name, rate, WAYS, "GFLOP/s");
    if (slow) printf("\n(a processor plays the GPU here: these times say nothing about one)\n");
    return TL_OK;
}
