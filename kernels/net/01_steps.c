/* 01_steps.c: the steps of a planned net: written down before the first, and run. (01_planned.h) */
#include "kernels/net/01_planned.h"

short tl_rung_net_buffer(tl_net_plan *plan, size_t bytes) {
    plan->buffer[plan->buffers] = (tl_net_buffer){.bytes = bytes, .first = TL_NET_NONE};
    return (short)(TL_NET_GIVEN + plan->buffers++);
}

void tl_rung_net_call(tl_net_plan *plan, int layer,
                      tl_status (*run)(tl_ctx *, const tl_net_layer *, void *const[]),
                      const short operand[TL_NET_OPERANDS]) {
    short now = (short)plan->steps++;
    tl_net_step *s = &plan->step[now];
    *s = (tl_net_step){.run = run, .layer = (short)layer};
    for (int i = 0; i < TL_NET_OPERANDS; i++) {
        s->operand[i] = operand[i];
        if (operand[i] < TL_NET_GIVEN) continue;
        tl_net_buffer *used = &plan->buffer[operand[i] - TL_NET_GIVEN];
        if (used->first == TL_NET_NONE) used->first = now;
        used->last = now;
    }
}

static tl_status run(tl_ctx *ctx, const tl_net_plan *plan, int from, int to, void *const given[],
                     void *memory) {
    for (int i = from; i < to; i++) {
        const tl_net_step *s = &plan->step[i];
        void *at[TL_NET_OPERANDS];
        for (int o = 0; o < TL_NET_OPERANDS; o++) {
            short id = s->operand[o];
            at[o] = id == TL_NET_NONE   ? NULL
                    : id < TL_NET_GIVEN ? given[id]
                                        : (char *)memory + plan->buffer[id - TL_NET_GIVEN].offset;
        }
        TL_TRY(s->run(ctx, &plan->layer[s->layer], at));
    }
    return TL_OK;
}

/* (no step writes to x, y or dy where they are read) */
tl_status tl_rung_net_fwd(tl_ctx *ctx, const tl_net_plan *plan, tl_real *y, const tl_real *x,
                          void *memory) {
    void *given[TL_NET_GIVEN] = {[TL_NET_X] = (void *)x, [TL_NET_Y] = y};
    return run(ctx, plan, 0, plan->forward_steps, given, memory);
}

tl_status tl_rung_net_bwd(tl_ctx *ctx, const tl_net_plan *plan, tl_real *dx, const tl_real *dy,
                          const tl_real *x, const tl_real *y, void *memory) {
    void *given[TL_NET_GIVEN] = {
        [TL_NET_X] = (void *)x, [TL_NET_Y] = (void *)y, [TL_NET_DY] = (void *)dy, [TL_NET_DX] = dx};
    return run(ctx, plan, plan->forward_steps, plan->steps, given, memory);
}
