/* 01_tiles.cu: the linear layer with bias and ReLU in few kernels, for small batches. (tl/fused.h)
 *
 * At batch 64 a product has too few outputs to fill a GPU. Forward cuts the inner dimension into
 * fixed pieces, down to a tile's depth, whose sums are added in order; backward makes dx, dw and
 * db in one launch, whose blocks do not wait for each other, and applies the ReLU's mask while it
 * reads dy.
 *
 *   01_tiles_forward.cu    y
 *   01_tiles_backward.cu   dx, dw and db
 *   01_narrow.h            dw and db of a layer with few outputs */
#include "kernels/linear/01_tiles.h"

extern "C" void tl_rung_linear_tiles(tl_backend *ops) {
    ops->linear_block_fwd = tl_rung_linear_block_fwd;
    ops->linear_block_bwd = tl_rung_linear_block_bwd;
    ops->linear_fwd = tl_rung_linear_fwd;
    ops->linear_bwd_input = tl_rung_linear_bwd_input;
    ops->linear_bwd_weight = tl_rung_linear_bwd_weight;
}
