// layers.cpp: linear, max pooling, ReLU, cross-entropy, dropout, as kernels of PyTorch operators.
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "operators.h"
#include "tl_library.h"

namespace gradlab {
namespace {

// ---- linear -------------------------------------------------------------------------------------

template <class Real>
tl_linear_geom linear_geometry(const Session<Real> &s, const Tensor &x, const Tensor &y) {
    tl_linear_geom g{fit(x.size(0)), fit(x.size(1)), fit(y.size(1))};
    s.need(s.tl.tl_linear_check(&g));
    return g;
}

Tensor linear(const Tensor &x_, const Tensor &w_, const OptionalTensor &b_) {
    check_linear<int64_t>(x_, w_, b_);
    Tensor x = x_.contiguous(), w = w_.contiguous(), b = b_ ? b_->contiguous() : Tensor();
    Tensor y = at::empty({x.size(0), w.size(0)}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "linear", [&] {
        if (y.numel() == 0) return;
        if (x.size(1) == 0) { // an empty sum, and the bias
            b.defined() ? y.copy_(b.expand_as(y)) : y.zero_();
            return;
        }
        Session<scalar_t> s(x);
        tl_linear_geom g = linear_geometry(s, x, y);
        const scalar_t *bias = b.defined() ? in<scalar_t>(b) : nullptr;
        s.need(
            s.tl.linear_fwd(s.ctx, out<scalar_t>(y), in<scalar_t>(x), in<scalar_t>(w), bias, &g));
    });
    return y;
}

Tensor linear_backward_input(const Tensor &dy_, const Tensor &w_) {
    check_linear_backward<int64_t>("linear_backward_input", "weight", dy_, 1, w_, 0);
    Tensor dy = dy_.contiguous(), w = w_.contiguous();
    Tensor dx = zeros({dy.size(0), w.size(1)}, dy.options());
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "linear_backward_input", [&] {
        if (dx.numel() == 0 || dy.numel() == 0) return;
        Session<scalar_t> s(dy);
        tl_linear_geom g = linear_geometry(s, dx, dy);
        s.need(
            s.tl.linear_bwd_input(s.ctx, out<scalar_t>(dx), in<scalar_t>(dy), in<scalar_t>(w), &g));
    });
    return dx;
}

Tensor linear_backward_weight(const Tensor &dy_, const Tensor &x_) {
    check_linear_backward<int64_t>("linear_backward_weight", "input", dy_, 0, x_, 0);
    Tensor dy = dy_.contiguous(), x = x_.contiguous();
    Tensor dw = zeros({dy.size(1), x.size(1)}, dy.options());
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "linear_backward_weight", [&] {
        if (dw.numel() == 0 || dy.numel() == 0) return;
        Session<scalar_t> s(dy);
        tl_linear_geom g = linear_geometry(s, x, dy);
        s.need(s.tl.linear_bwd_weight(s.ctx, out<scalar_t>(dw), in<scalar_t>(dy), in<scalar_t>(x),
                                      &g));
    });
    return dw;
}

Tensor linear_backward_bias(const Tensor &dy_) {
    check_first("linear_backward_bias", "dy", dy_, 2);
    Tensor dy = dy_.contiguous(), db = zeros({dy.size(1)}, dy.options());
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "linear_backward_bias", [&] {
        if (dy.numel() == 0) return;
        Session<scalar_t> s(dy);
        tl_linear_geom g = linear_geometry(s, dy, dy);
        s.need(s.tl.linear_bwd_bias(s.ctx, out<scalar_t>(db), in<scalar_t>(dy), &g));
    });
    return db;
}

// ---- max pooling --------------------------------------------------------------------------------

template <class Real> tl_pool2d_geom pool_geometry(const Session<Real> &s, const Conv<int64_t> &g) {
    tl_pool2d_geom to{};
    to.n = fit(g.n), to.c = fit(g.c), to.h = fit(g.h), to.w = fit(g.w);
    to.r = fit(g.r), to.s = fit(g.s);
    to.stride_h = fit(g.stride[0]), to.stride_w = fit(g.stride[1]);
    to.pad_h = fit(g.padding[0]), to.pad_w = fit(g.padding[1]);
    s.need(s.tl.tl_pool2d_check(&to));
    return to;
}

Two max_pool2d(const Tensor &x_, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding) {
    auto sizes = max_pool_of<int64_t>(x_, kernel, stride, padding);
    Tensor x = x_.contiguous();
    Tensor y = at::empty({sizes.n, sizes.c, sizes.p, sizes.q}, x.options());
    Tensor argmax = at::empty(y.sizes(), x.options().dtype(at::kInt));
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "max_pool2d", [&] {
        if (y.numel() == 0) return;
        Session<scalar_t> s(x);
        tl_pool2d_geom g = pool_geometry(s, sizes);
        s.need(
            s.tl.maxpool2d_fwd(s.ctx, out<scalar_t>(y), out<int32_t>(argmax), in<scalar_t>(x), &g));
    });
    return {y, argmax};
}

// On a GPU the answer would have to be waited for: there a label out of bounds makes its row's loss
// NaN, and the argmax is PyTorch's to trust as well. On the cpu it would be written through.
void check_below(const Tensor &index, int64_t end, const char *what) {
    if (!index.is_cpu()) return;
    const int32_t *from = in<int32_t>(index);
    uint32_t most = 0; // a negative one is large
    for (int64_t i = 0; i < index.numel(); i++)
        most = std::max(most, static_cast<uint32_t>(from[i]));
    TORCH_CHECK_INDEX(most < end, what, " ", static_cast<int32_t>(most), " is out of bounds.");
}

Tensor max_pool2d_backward(const Tensor &dy_, const Tensor &argmax_, IntArrayRef size,
                           IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding) {
    auto sizes = max_pool_backward_of<int64_t>(dy_, argmax_, size, kernel, stride, padding);
    Tensor dy = dy_.contiguous(), argmax = argmax_.contiguous();
    Tensor dx = zeros({sizes.n, sizes.c, sizes.h, sizes.w}, dy.options());
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "max_pool2d_backward", [&] {
        if (dx.numel() == 0) return;
        check_below(argmax, sizes.h * sizes.w, "max_pool2d_backward(): argmax");
        Session<scalar_t> s(dy);
        tl_pool2d_geom g = pool_geometry(s, sizes);
        s.need(s.tl.maxpool2d_bwd(s.ctx, out<scalar_t>(dx), in<scalar_t>(dy), in<int32_t>(argmax),
                                  &g));
    });
    return dx;
}

// ---- ReLU, cross-entropy, dropout ---------------------------------------------------------------

Tensor relu(const Tensor &x_) {
    check_supported("relu", "input", x_);
    Tensor x = x_.contiguous(), y = at::empty(x.sizes(), x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "relu", [&] {
        if (x.numel() == 0) return;
        Session<scalar_t> s(x);
        s.need(s.tl.relu_fwd(s.ctx, out<scalar_t>(y), in<scalar_t>(x), x.numel()));
    });
    return y;
}

Tensor relu_backward(const Tensor &dy_, const Tensor &y_) {
    check_supported("relu_backward", "dy", dy_);
    check_same_size<int64_t>("relu_backward", "y", y_, dy_);
    Tensor dy = dy_.contiguous(), y = y_.contiguous(), dx = zeros(dy.sizes(), dy.options());
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "relu_backward", [&] {
        if (dy.numel() == 0) return;
        Session<scalar_t> s(dy);
        s.need(
            s.tl.relu_bwd(s.ctx, out<scalar_t>(dx), in<scalar_t>(dy), in<scalar_t>(y), dy.numel()));
    });
    return dx;
}

Two cross_entropy_rows(const Tensor &logits_, const Tensor &label_) {
    check_rows<int64_t>("cross_entropy_rows", logits_, label_);
    Tensor logits = logits_.contiguous(), label = label_.contiguous();
    Tensor prob = at::empty(logits.sizes(), logits.options());
    Tensor row_loss = at::empty({logits.size(0)}, logits.options());
    AT_DISPATCH_FLOATING_TYPES(logits.scalar_type(), "cross_entropy_rows", [&] {
        if (logits.size(0) == 0) return;
        check_below(label, logits.size(1), "Target");
        Session<scalar_t> s(logits);
        Tensor mean = at::empty({1}, logits.options());
        s.need(s.tl.softmax_xent_fwd(s.ctx, out<scalar_t>(mean), out<scalar_t>(row_loss),
                                     out<scalar_t>(prob), in<scalar_t>(logits), in<int32_t>(label),
                                     fit(logits.size(0)), fit(logits.size(1))));
    });
    return {row_loss, prob};
}

// tl's is the gradient of a mean: with dloss = rows it is prob - onehot.
Tensor cross_entropy_rows_backward(const Tensor &d_rows, const Tensor &logits, const Tensor &prob_,
                                   const Tensor &label_) {
    check_rows_backward<int64_t>(d_rows, logits, prob_, label_);
    Tensor prob = prob_.contiguous(), label = label_.contiguous();
    Tensor dlogits = zeros(prob.sizes(), prob.options());
    AT_DISPATCH_FLOATING_TYPES(prob.scalar_type(), "cross_entropy_rows_backward", [&] {
        if (prob.size(0) == 0) return;
        check_below(label, prob.size(1), "Target");
        Session<scalar_t> s(prob);
        Tensor rows = at::empty({1}, prob.options()).fill_(prob.size(0));
        s.need(s.tl.softmax_xent_bwd(s.ctx, out<scalar_t>(dlogits), in<scalar_t>(rows),
                                     in<scalar_t>(prob), in<int32_t>(label), fit(prob.size(0)),
                                     fit(prob.size(1))));
        dlogits.mul_(d_rows.unsqueeze(1));
    });
    return dlogits;
}

// The same draws in both directions; `backward` adds to zeros, and so overwrites as well.
template <bool backward> Tensor drop(const Tensor &x_, double p, const Tensor &seed) {
    check_dropout(x_, p, seed);
    Tensor x = x_.contiguous(), y = zeros(x.sizes(), x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "dropout", [&] {
        if (x.numel() == 0 || p == 1) return;
        Session<scalar_t> s(x);
        tl_step step{};
        step.seed = static_cast<uint64_t>(*in<int64_t>(seed));
        s.need(s.tl.tl_device_set_step(s.ctx, &step));
        tl_dropout_geom g{static_cast<size_t>(x.numel()), p, 0};
        auto run = backward ? s.tl.dropout_bwd : s.tl.dropout_fwd;
        s.need(run(s.ctx, out<scalar_t>(y), in<scalar_t>(x), s.ctx->step, &g));
    });
    return y;
}

void implement(torch::Library &m) {
    m.impl("linear", TORCH_FN(linear));
    m.impl("linear_backward_input", TORCH_FN(linear_backward_input));
    m.impl("linear_backward_weight", TORCH_FN(linear_backward_weight));
    m.impl("linear_backward_bias", TORCH_FN(linear_backward_bias));
    m.impl("max_pool2d", TORCH_FN(max_pool2d));
    m.impl("max_pool2d_backward", TORCH_FN(max_pool2d_backward));
    m.impl("relu", TORCH_FN(relu));
    m.impl("relu_backward", TORCH_FN(relu_backward));
    m.impl("cross_entropy_rows", TORCH_FN(cross_entropy_rows));
    m.impl("cross_entropy_rows_backward", TORCH_FN(cross_entropy_rows_backward));
    m.impl("dropout", TORCH_FN(drop<false>));
    m.impl("dropout_backward", TORCH_FN(drop<true>));
}

} // namespace

TORCH_LIBRARY_IMPL(gradlab_cpp, CPU, m) { implement(m); }
TORCH_LIBRARY_IMPL(gradlab_cpp, CUDA, m) { implement(m); }

} // namespace gradlab
