/* params_test.c: claims about the flat parameters of a net (tl/params.h). */
#include "tl/params.h"

#include "tl/device.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT_OK(call) cr_assert_eq(call, TL_OK, "%s", tl_error())

static tl_ctx *ctx;

/* Linear 5 to 3, batch norm, linear 3 to 64: sizes below 64, of 64, and of three times 64. */
static tl_module *small_net(void) {
    tl_module_seed seed = {.seed = 1};
    tl_module *net, *m;
    EXPECT_OK(tl_module_sequential(&net, ctx));
    EXPECT_OK(tl_module_linear(&m, ctx, 5, 3, &seed));
    EXPECT_OK(tl_module_append(net, m));
    EXPECT_OK(tl_module_batchnorm2d(&m, ctx, 3));
    EXPECT_OK(tl_module_append(net, m));
    EXPECT_OK(tl_module_linear(&m, ctx, 3, 64, &seed));
    EXPECT_OK(tl_module_append(net, m));
    return net;
}
enum { COUNT = 15 + 3 + 3 + 3 + 192 + 64, SIZE = 4 * 64 + 192 + 64 };

static void setup(void) { EXPECT_OK(tl_device_open(&ctx, "cpu", "none", 2)); }
static void teardown(void) {
    cr_expect_eq(tl_alloc_read_stats(ctx->alloc).live_blocks, 0, "something leaked");
    tl_device_close(ctx);
}
TestSuite(params, .init = setup, .fini = teardown);

/* Which elements of the flat arrays belong to a parameter: the others are gaps. */
static void mark_used(const tl_params *p, char used[SIZE]) {
    memset(used, 0, SIZE);
    for (int i = 0; i < p->entries; i++)
        for (size_t k = 0; p->entry[i].var && k < p->entry[i].var->value->size; k++)
            used[p->entry[i].offset + k]++;
}

Test(params, values_are_kept_in_order_at_aligned_places) {
    static const char *const name[] = {"0.linear.weight",
                                       "0.linear.bias",
                                       "1.batchnorm2d.weight",
                                       "1.batchnorm2d.bias",
                                       "1.batchnorm2d.running_mean",
                                       "1.batchnorm2d.running_var",
                                       "2.linear.weight",
                                       "2.linear.bias"};
    tl_module *twin = small_net(), *net = small_net();
    tl_params *p;
    EXPECT_OK(tl_params_new(&p, net));
    cr_assert(p->count == COUNT && p->size == SIZE && p->entries == 8);
    for (int i = 0; i < p->entries; i++) {
        const tl_param *e = &p->entry[i];
        cr_assert_str_eq(e->name, name[i]);
        cr_assert((e->var == NULL) != (e->buffer == NULL));
        if (e->var == NULL) continue;
        const tl_var *same = twin->child[name[i][0] - '0']->param[strstr(name[i], "bias") != NULL];
        cr_assert_eq(e->offset % 64, 0);
        cr_assert_eq(e->var->value->data, p->value + e->offset);
        cr_assert_eq(e->var->grad->data, p->grad + e->offset);
        cr_assert(!e->var->value->owner && !e->var->grad->owner);
        cr_assert_eq(
            memcmp(e->var->value->data, same->value->data, same->value->size * sizeof(tl_real)), 0,
            "%s", name[i]);
    }
    tl_module_free(net);
    tl_params_free(p);
    tl_module_free(twin);
}

Test(params, gaps_and_gradients_are_zero) {
    tl_module *net = small_net();
    tl_params *p;
    char used[SIZE];
    EXPECT_OK(tl_params_new(&p, net));
    mark_used(p, used);
    for (int i = 0; i < SIZE; i++) {
        cr_assert(used[i] <= 1, "two parameters share element %d", i);
        cr_assert(used[i] || p->value[i] == 0, "gap at %d", i);
        cr_assert_eq(p->grad[i], 0);
        p->grad[i] = 1;
    }
    EXPECT_OK(tl_params_zero_grad(p));
    for (int i = 0; i < SIZE; i++) cr_assert_eq(p->grad[i], 0);
    tl_module_free(net);
    tl_params_free(p);
}

Test(params, the_tensors_own_memory_is_released) {
    tl_module *net = small_net();
    size_t before = tl_alloc_read_stats(ctx->alloc).live_blocks;
    tl_params *p;
    EXPECT_OK(tl_params_new(&p, net));
    /* Six values and six gradients went, two arrays came; the two buffers stay as they are. */
    cr_assert_eq(tl_alloc_read_stats(ctx->alloc).live_blocks, before - 12 + 2);
    tl_module_free(net);
    tl_params_free(p);
    tl_params_free(NULL);
}

Test(params, a_net_without_or_with_flat_parameters_is_refused) {
    tl_module *net = small_net(), *empty;
    tl_params *p, *again;
    EXPECT_OK(tl_module_relu(&empty, ctx));
    cr_assert_eq(tl_params_new(&p, empty), TL_EINVAL);
    cr_assert(strstr(tl_error(), "tl_module_visit"), "where to look is not said: %s", tl_error());
    cr_assert_null(p);
    EXPECT_OK(tl_params_new(&p, net));
    cr_assert_eq(tl_params_new(&again, net), TL_EINVAL);
    cr_assert_null(again);
    cr_assert(strstr(tl_error(), "0.linear.weight"), "%s", tl_error());
    tl_module_free(empty);
    tl_module_free(net);
    tl_params_free(p);
}
