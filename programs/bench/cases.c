/* cases.c: what can be timed, and at which shapes (question.h, ladder.h). */
#include "ladder.h"
#include "question.h"

const bench_case bench_cases[] = {
    {"sum", "array", true, define_sum},
    {"sum_rows", "matrix", true, define_sum_rows},
    {"sum_cols", "matrix", true, define_sum_cols},
    {"gemm", "gemm", true, define_gemm},
    {"conv2d_fwd", "conv2d", true, define_conv2d_fwd},
    {"conv2d_bwd_input", "conv2d", true, define_conv2d_bwd_input},
    {"conv2d_bwd_weight", "conv2d", true, define_conv2d_bwd_weight},
    {"conv2d_bwd_bias", "conv2d", true, define_conv2d_bwd_bias},
    {"maxpool2d_fwd", "pool", false, define_maxpool2d_fwd},
    {"maxpool2d_bwd", "pool", true, define_maxpool2d_bwd},
    {"linear_fwd", "linear", true, define_linear_fwd},
    {"linear_bwd_input", "linear", true, define_linear_bwd_input},
    {"linear_bwd_weight", "linear", true, define_linear_bwd_weight},
    {"linear_bwd_bias", "linear", true, define_linear_bwd_bias},
    {"softmax_xent_fwd", "loss", false, define_softmax_xent_fwd},
    {"softmax_xent_bwd", "loss", false, define_softmax_xent_bwd},
    {"conv2d_relu_fwd", "conv2d", true, define_conv2d_relu_fwd},
    {"conv2d_relu_bwd_input", "conv2d", true, define_conv2d_relu_bwd_input},
    {"conv2d_block_fwd", "block", true, define_conv2d_block_fwd},
    {"conv2d_block_bwd", "block", true, define_conv2d_block_bwd},
    {"pool_relu_fwd", "windows", true, define_pool_relu_fwd},
    {"pool_relu_bwd", "windows", true, define_pool_relu_bwd},
    {"relu_mask", "array", true, define_relu_mask},
    {"linear_block_fwd", "linear", true, define_linear_block_fwd},
    {"linear_block_bwd", "linear", true, define_linear_block_bwd},
    {"xent_head_fwd", "loss", false, define_xent_head_fwd},
    {"xent_head_bwd", "loss", false, define_xent_head_bwd},
    {"sgd_step", "weights", false, define_sgd_step},
    {"adam_step", "weights", false, define_adam_step},
    {NULL, NULL, false, NULL},
};

/* where */
enum { ANY, GPU };
#define SHAPE(family, name, where, ...)                                                            \
    {#family, #name, where, {__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int)},
const bench_shape bench_shapes[] = {
#include "shapes.def"
    {NULL, NULL, ANY, {0}, 0},
};
