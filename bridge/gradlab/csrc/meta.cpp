// meta.cpp: the operators without their values: what torch.compile and fake tensors ask for.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "operators.h"

namespace gradlab {
namespace {

using Sym = c10::SymInt;

Tensor made(const Tensor &like, std::initializer_list<Sym> size) {
    return at::empty_symint(SymIntArrayRef(size), like.options());
}
Tensor made_like(const Tensor &like) { return at::empty_symint(like.sym_sizes(), like.options()); }

Tensor conv2d(const Tensor &x, const Tensor &w, const OptionalTensor &b, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation) {
    auto g = conv_of<Sym>(x, w, b, stride, padding, dilation);
    return made(x, {g.n, g.k, g.p, g.q});
}

Tensor conv2d_backward_input(const Tensor &dy, const Tensor &w, SymIntArrayRef size,
                             IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
    auto g = conv_of_input<Sym>(dy, w, size, stride, padding, dilation);
    return made(dy, {g.n, g.c, g.h, g.w});
}

Tensor conv2d_backward_weight(const Tensor &dy, const Tensor &x, SymIntArrayRef kernel,
                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
    auto g = conv_of_weight<Sym>(dy, x, kernel, stride, padding, dilation);
    return made(dy, {g.k, g.c, g.r, g.s});
}

Tensor conv2d_backward_bias(const Tensor &dy) {
    check_first("conv2d_backward_bias", "dy", dy, 4);
    return made(dy, {dy.sym_size(1)});
}

Tensor im2col(const Tensor &x, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
    auto g = im2col_of<Sym>(x, kernel, dilation, padding, stride);
    return made(x, {g.n, g.c * g.r * g.s, g.p * g.q});
}

Tensor col2im(const Tensor &col, SymIntArrayRef size, IntArrayRef kernel, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride) {
    auto g = col2im_of<Sym>(col, size, kernel, dilation, padding, stride);
    return made(col, {g.n, g.c, g.h, g.w});
}

Tensor linear(const Tensor &x, const Tensor &w, const OptionalTensor &b) {
    check_linear<Sym>(x, w, b);
    return made(x, {x.sym_size(0), w.sym_size(0)});
}

Tensor linear_backward_input(const Tensor &dy, const Tensor &w) {
    check_linear_backward<Sym>("linear_backward_input", "weight", dy, 1, w, 0);
    return made(dy, {dy.sym_size(0), w.sym_size(1)});
}

Tensor linear_backward_weight(const Tensor &dy, const Tensor &x) {
    check_linear_backward<Sym>("linear_backward_weight", "input", dy, 0, x, 0);
    return made(dy, {dy.sym_size(1), x.sym_size(1)});
}

Tensor linear_backward_bias(const Tensor &dy) {
    check_first("linear_backward_bias", "dy", dy, 2);
    return made(dy, {dy.sym_size(1)});
}

Two max_pool2d(const Tensor &x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding) {
    auto g = max_pool_of<Sym>(x, kernel, stride, padding);
    Tensor y = made(x, {g.n, g.c, g.p, g.q});
    return {y, at::empty_symint(y.sym_sizes(), y.options().dtype(at::kInt))};
}

Tensor max_pool2d_backward(const Tensor &dy, const Tensor &argmax, SymIntArrayRef size,
                           IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding) {
    auto g = max_pool_backward_of<Sym>(dy, argmax, size, kernel, stride, padding);
    return made(dy, {g.n, g.c, g.h, g.w});
}

Tensor relu(const Tensor &x) {
    check_supported("relu", "input", x);
    return made_like(x);
}

Tensor relu_backward(const Tensor &dy, const Tensor &y) {
    check_supported("relu_backward", "dy", dy);
    check_same_size<Sym>("relu_backward", "y", y, dy);
    return made_like(dy);
}

Two cross_entropy_rows(const Tensor &logits, const Tensor &label) {
    check_rows<Sym>("cross_entropy_rows", logits, label);
    Tensor prob = made_like(logits);
    return {made(logits, {logits.sym_size(0)}), prob};
}

Tensor cross_entropy_rows_backward(const Tensor &d_rows, const Tensor &logits, const Tensor &prob,
                                   const Tensor &label) {
    check_rows_backward<Sym>(d_rows, logits, prob, label);
    return made_like(prob);
}

Five batch_norm(const Tensor &x, const Tensor &gamma, const Tensor &beta,
                const Tensor &running_mean, const Tensor &running_var, double, double) {
    const char *op = "batch_norm";
    check_batch_norm<Sym>(op, x, true,
                          {{"weight", &gamma},
                           {"bias", &beta},
                           {"running_mean", &running_mean},
                           {"running_var", &running_var}});
    return {made_like(x), made_like(gamma), made_like(gamma), made_like(gamma), made_like(gamma)};
}

Three batch_norm_backward(const Tensor &dy, const Tensor &x, const Tensor &gamma,
                          const Tensor &mean, const Tensor &inv_std) {
    const char *op = "batch_norm_backward";
    check_batch_norm<Sym>(op, x, false,
                          {{"weight", &gamma}, {"mean", &mean}, {"inv_std", &inv_std}});
    check_same_size<Sym>(op, "dy", dy, x);
    return {made_like(x), made_like(gamma), made_like(gamma)};
}

Tensor batch_norm_eval(const Tensor &x, const Tensor &gamma, const Tensor &beta, const Tensor &mean,
                       const Tensor &var, double) {
    check_batch_norm<Sym>(
        "batch_norm_eval", x, false,
        {{"weight", &gamma}, {"bias", &beta}, {"running_mean", &mean}, {"running_var", &var}});
    return made_like(x);
}

Tensor dropout(const Tensor &x, double p, const Tensor &seed) {
    check_dropout(x, p, seed);
    return made_like(x);
}

void sgd_step(const Tensor &w, const OptionalTensor &velocity, const Tensor &dw, double, double,
              double, bool) {
    check_supported("sgd_step", "w", w);
    check_same_size<Sym>("sgd_step", "dw", dw, w);
    if (velocity) check_same_size<Sym>("sgd_step", "velocity", *velocity, w);
}

void adam_step(const Tensor &w, const Tensor &m, const Tensor &v, const Tensor &dw, int64_t, double,
               double, double, double, double) {
    check_supported("adam_step", "w", w);
    check_same_size<Sym>("adam_step", "dw", dw, w);
    check_same_size<Sym>("adam_step", "m", m, w);
    check_same_size<Sym>("adam_step", "v", v, w);
}

Tensor dropout_backward(const Tensor &dy, double p, const Tensor &seed) {
    return dropout(dy, p, seed);
}

} // namespace

TORCH_LIBRARY_IMPL(gradlab_cpp, Meta, m) {
#define GRADLAB_META(name, ...) m.impl(#name, TORCH_FN(name));
    GRADLAB_OPERATORS(GRADLAB_META)
    GRADLAB_UPDATES(GRADLAB_META)
#undef GRADLAB_META
}

} // namespace gradlab
