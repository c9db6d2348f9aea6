/* oracle_train.c: optimisers, schedules and the batch loader by definition. */
#include "oracle.h"

#include <math.h>

#include "tl/rng.h"

/* g = dw + lambda w; v = mu v + g; w -= lr (g + mu v, or v). Scales: the sums of |terms|. */
void oracle_sgd_step(double *w, double *v, double dw, const oracle_sgd *o, double *w_scale,
                     double *v_scale) {
    double g = dw + o->weight_decay * *w, g_scale = fabs(dw) + fabs(o->weight_decay * *w);
    double absolute = fabs(o->momentum * *v) + g_scale;
    *v = o->momentum * *v + g;
    *w_scale = fabs(*w) + o->lr * (o->nesterov ? g_scale + o->momentum * absolute : absolute);
    *w -= o->lr * (o->nesterov ? g + o->momentum * *v : *v);
    *v_scale = absolute;
}

/* Kingma, Ba 2015, algorithm 1, with weight decay in the gradient as PyTorch has it. */
void oracle_adam_step(double *w, double *m, double *v, double dw, const oracle_adam *o) {
    double g = dw + o->weight_decay * *w;
    *m = o->beta1 * *m + (1 - o->beta1) * g;
    *v = o->beta2 * *v + (1 - o->beta2) * g * g;
    double m_hat = *m / (1 - pow(o->beta1, (double)o->t));
    double v_hat = *v / (1 - pow(o->beta2, (double)o->t));
    *w -= o->lr * m_hat / (sqrt(v_hat) + o->eps);
}

/* Closed forms of tl/optim.h; i runs from 0 to total - 1. */
double oracle_schedule(int kind, double base, double factor, uint64_t turn, uint64_t total,
                       uint64_t i) {
    const double pi = 3.14159265358979323846;
    switch (kind) {
    case ORACLE_STEP:
        return base * pow(factor, (double)(i / turn));
    case ORACLE_COSINE:
        return base * (1 + cos(pi * (double)i / (double)total)) / 2;
    case ORACLE_TRIANGULAR:
        return i <= turn ? base * (double)i / (double)turn
                         : base * (double)(total - i) / (double)(total - turn);
    }
    return base;
}

/* Image of position first + i of the epoch's order. */
int oracle_batch_image(const oracle_batch *b, int i) {
    uint32_t position = b->first + (uint32_t)i;
    if (!b->shuffle) return (int)position;
    return (int)tl_rng_permute(b->seed, b->epoch, (uint32_t)b->count, position);
}

uint8_t oracle_batch_byte(const oracle_batch *b, const uint8_t *images, int i, int ch, int row,
                          int col) {
    if (b->augment) {
        /* pixel (row, col) of the crop, mirrored if flipped, in an image padded by b->pad */
        tl_crop crop = tl_rng_crop(b->seed, b->epoch, b->first + (uint32_t)i, b->pad);
        if (crop.flip) col = b->w - 1 - col;
        row += crop.dy - b->pad;
        col += crop.dx - b->pad;
    }
    if (row < 0 || row >= b->h || col < 0 || col >= b->w) return 0;
    size_t image = (size_t)oracle_batch_image(b, i);
    return images[((image * (size_t)b->c + (size_t)ch) * (size_t)b->h + (size_t)row) *
                      (size_t)b->w +
                  (size_t)col];
}
