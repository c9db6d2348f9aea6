/* lab3.c: a net of your layers, chained by hand, that learns some pictures (show.h).
 *
 *   picture[3,32,32] -> max pool 2 x 2 -> linear 32 -> ReLU -> linear 10 -> softmax cross-entropy
 *
 * Forward in this order, backward in the other, each gradient handed on by hand: what the tape of
 * lab 4 will do. The step, w -= rate * dw, is the host's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "show.h"
#include "tl/backend.h"
#include "tl/data.h"

enum {
    IMAGES = 128,
    PIXELS = 3 * 32 * 32,
    POOLED = 3 * 16 * 16,
    HIDDEN = 32,
    CLASSES = 10,
    STEPS = 60,
    PARAMETERS = 4 /* w and b of both linear layers */
};
static const double rate = 0.05;
static const size_t size[PARAMETERS] = {HIDDEN * POOLED, HIDDEN, CLASSES *HIDDEN, CLASSES};

typedef struct chain {
    tl_pool2d_geom pool;
    tl_real *x, *pooled, *hidden, *relu, *logits, *prob, *loss, *row_loss;
    tl_real *d_hidden, *d_relu, *d_logits, *d_loss;
    tl_real *w[PARAMETERS], *dw[PARAMETERS];
    tl_real *host; /* of the largest parameter, twice */
    int32_t *argmax, *label;
    int32_t labels[IMAGES]; /* the same, on the host */
} chain;
static const tl_linear_geom first = {IMAGES, POOLED, HIDDEN}, second = {IMAGES, HIDDEN, CLASSES};

static tl_status make_pictures(show *s, chain *c) {
    tl_real *x = malloc((size_t)IMAGES * PIXELS * sizeof *x);
    TL_NEED(x, TL_ENOMEM, "no memory for %d pictures", (int)IMAGES);
    for (int i = 0; i < IMAGES; i++) {
        uint8_t image[PIXELS], label;
        tl_shapes10_draw(image, &label, TL_SHAPES10_SEED, s->seed * IMAGES + (uint64_t)i);
        for (int k = 0; k < PIXELS; k++)
            x[(size_t)i * PIXELS + (size_t)k] = (tl_real)(image[k] / 127.5 - 1);
        c->labels[i] = label;
    }
    tl_status status = show_array(s, &c->x, (size_t)IMAGES * PIXELS, x);
    free(x);
    TL_TRY(status);
    void *label;
    TL_TRY(show_bytes(s, &label, sizeof c->labels, c->labels));
    c->label = label;
    return TL_OK;
}

static tl_status make_chain(show *s, chain *c) {
    void *argmax;
    const tl_real one = 1;
    c->pool = (tl_pool2d_geom){
        .n = IMAGES, .c = 3, .h = 32, .w = 32, .r = 2, .s = 2, .stride_h = 2, .stride_w = 2};
    TL_TRY(tl_pool2d_check(&c->pool));
    TL_TRY(show_bytes(s, &argmax, (size_t)IMAGES * POOLED * sizeof *c->argmax, NULL));
    c->argmax = argmax;
    TL_TRY(show_array(s, &c->pooled, (size_t)IMAGES * POOLED, NULL));
    tl_real **wide[] = {&c->hidden, &c->relu, &c->d_hidden, &c->d_relu};
    tl_real **narrow[] = {&c->logits, &c->prob, &c->d_logits};
    for (int i = 0; i < 4; i++) TL_TRY(show_array(s, wide[i], IMAGES * HIDDEN, NULL));
    for (int i = 0; i < 3; i++) TL_TRY(show_array(s, narrow[i], IMAGES * CLASSES, NULL));
    TL_TRY(show_array(s, &c->loss, 1, NULL));
    TL_TRY(show_array(s, &c->row_loss, IMAGES, NULL));
    TL_TRY(show_array(s, &c->d_loss, 1, &one));
    for (int i = 0; i < PARAMETERS; i++) { /* weights of about He's size, biases of zero */
        double scale = i % 2 ? 0 : sqrt(6. / (i ? HIDDEN : POOLED));
        for (size_t k = 0; k < size[i]; k++)
            c->host[k] = (tl_real)(scale * show_draw(s, 100 + (uint32_t)i, k));
        TL_TRY(show_array(s, &c->w[i], size[i], c->host));
        TL_TRY(show_array(s, &c->dw[i], size[i], NULL));
    }
    return TL_OK;
}

static tl_status forward(const show *s, const chain *c) {
    const tl_backend *ops = s->ctx->ops;
    TL_TRY(ops->maxpool2d_fwd(s->ctx, c->pooled, c->argmax, c->x, &c->pool));
    TL_TRY(ops->linear_fwd(s->ctx, c->hidden, c->pooled, c->w[0], c->w[1], &first));
    TL_TRY(ops->relu_fwd(s->ctx, c->relu, c->hidden, IMAGES * HIDDEN));
    TL_TRY(ops->linear_fwd(s->ctx, c->logits, c->relu, c->w[2], c->w[3], &second));
    return ops->softmax_xent_fwd(s->ctx, c->loss, c->row_loss, c->prob, c->logits, c->label, IMAGES,
                                 CLASSES);
}

/* Every bwd adds to its gradient, so all begin at zero. */
static tl_status backward(const show *s, const chain *c) {
    const tl_backend *ops = s->ctx->ops;
    for (int i = 0; i < PARAMETERS; i++)
        TL_TRY(ops->zero(s->ctx, c->dw[i], size[i] * sizeof *c->dw[i]));
    TL_TRY(ops->zero(s->ctx, c->d_logits, IMAGES * CLASSES * sizeof(tl_real)));
    TL_TRY(ops->zero(s->ctx, c->d_relu, IMAGES * HIDDEN * sizeof(tl_real)));
    TL_TRY(ops->zero(s->ctx, c->d_hidden, IMAGES * HIDDEN * sizeof(tl_real)));
    TL_TRY(
        ops->softmax_xent_bwd(s->ctx, c->d_logits, c->d_loss, c->prob, c->label, IMAGES, CLASSES));
    TL_TRY(ops->linear_bwd_bias(s->ctx, c->dw[3], c->d_logits, &second));
    TL_TRY(ops->linear_bwd_weight(s->ctx, c->dw[2], c->d_logits, c->relu, &second));
    TL_TRY(ops->linear_bwd_input(s->ctx, c->d_relu, c->d_logits, c->w[2], &second));
    TL_TRY(ops->relu_bwd(s->ctx, c->d_hidden, c->d_relu, c->relu, IMAGES * HIDDEN));
    TL_TRY(ops->linear_bwd_bias(s->ctx, c->dw[1], c->d_hidden, &first));
    return ops->linear_bwd_weight(s->ctx, c->dw[0], c->d_hidden, c->pooled, &first);
}

static tl_status step(const show *s, const chain *c) {
    for (int i = 0; i < PARAMETERS; i++) {
        tl_real *w = c->host, *dw = c->host + size[i];
        TL_TRY(show_get(s, w, c->w[i], size[i]));
        TL_TRY(show_get(s, dw, c->dw[i], size[i]));
        for (size_t k = 0; k < size[i]; k++) w[k] -= (tl_real)rate * dw[k];
        TL_TRY(show_put(s, c->w[i], w, size[i]));
    }
    return TL_OK;
}

/* How many pictures have their own class as the likeliest. */
static tl_status count_right(const show *s, const chain *c, int *right) {
    tl_real prob[IMAGES * CLASSES];
    TL_TRY(show_get(s, prob, c->prob, IMAGES * CLASSES));
    *right = 0;
    for (int i = 0; i < IMAGES; i++) {
        const tl_real *row = prob + i * CLASSES;
        int best = 0;
        for (int k = 1; k < CLASSES; k++)
            if (row[k] > row[best]) best = k;
        *right += best == c->labels[i];
    }
    return TL_OK;
}

static tl_status learn(show *s, chain *c, double loss[STEPS + 1]) {
    for (int i = 0; i <= STEPS; i++) {
        tl_real now;
        TL_TRY(forward(s, c));
        TL_TRY(show_get(s, &now, c->loss, 1));
        loss[i] = (double)now;
        if (i == STEPS) break;
        TL_TRY(backward(s, c));
        TL_TRY(step(s, c));
    }
    return TL_OK;
}

tl_status show_lab3(show *s) {
    static chain c;
    double loss[STEPS + 1];
    int right = 0;
    char below[80];
    c.host = malloc(2 * size[0] * sizeof *c.host);
    TL_NEED(c.host, TL_ENOMEM, "no memory for %zu weights", size[0]);
    tl_status status = make_pictures(s, &c);
    if (status == TL_OK) status = make_chain(s, &c);
    if (status == TL_OK) status = learn(s, &c, loss);
    if (status == TL_OK) status = count_right(s, &c, &right);
    free(c.host);
    TL_TRY(status);
    printf("\n%d pictures of shapes10 through a chain of your layers on %s:\n"
           "  max pool, linear, ReLU, linear, softmax cross-entropy, and back\n\n",
           (int)IMAGES, s->ctx->ops->name);
    snprintf(below, sizeof below, "step 0 to %d, rate %g, all pictures in each", (int)STEPS, rate);
    show_curve(loss, STEPS + 1, below);
    printf("\nthe loss went from %.3f to %.3f (guessing: %.3f); %d of %d pictures are told right\n",
           loss[0], loss[STEPS], log(CLASSES), right, (int)IMAGES);
    jsonl_begin(s->j);
    jsonl_text(s->j, "kind", "curve");
    jsonl_numbers(s->j, "loss", loss, STEPS + 1);
    jsonl_whole(s->j, "right", (uint64_t)right);
    jsonl_whole(s->j, "images", IMAGES);
    return jsonl_end(s->j);
}
