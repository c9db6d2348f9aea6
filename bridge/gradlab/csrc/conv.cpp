// conv.cpp: convolution, its gradients, unfold and fold, as kernels of PyTorch operators.
//
// Operations of tl overwrite in forward and add in backward, and take at least one image: so a
// gradient starts as zeros, and an empty batch never gets to tl.
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "operators.h"
#include "tl_library.h"

namespace gradlab {
namespace {

tl_conv2d_geom geometry(const Conv<int64_t> &g) {
    tl_conv2d_geom to{};
    to.n = fit(g.n), to.c = fit(g.c), to.h = fit(g.h), to.w = fit(g.w);
    to.k = fit(g.k), to.r = fit(g.r), to.s = fit(g.s);
    to.stride_h = fit(g.stride[0]), to.stride_w = fit(g.stride[1]);
    to.pad_h = fit(g.padding[0]), to.pad_w = fit(g.padding[1]);
    to.dil_h = fit(g.dilation[0]), to.dil_w = fit(g.dilation[1]);
    return to;
}

// A convolution that is about to run: its geometry, checked, and its scratch.
template <class Real> struct Run {
    Session<Real> session;
    tl_conv2d_geom g;

    Run(const Tensor &like, const Conv<int64_t> &sizes) : session(like), g(geometry(sizes)) {
        session.need(session.tl.tl_conv2d_check(&g));
    }
    Work work(const Tensor &like) const {
        return {like, session.tl.tl_conv2d_work_bytes(&g, session.ctx->ops->column_bytes)};
    }
};

Tensor conv2d(const Tensor &x_, const Tensor &w_, const OptionalTensor &b_, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation) {
    auto sizes = conv_of<int64_t>(x_, w_, b_, stride, padding, dilation);
    Tensor y = at::empty({sizes.n, sizes.k, sizes.p, sizes.q}, x_.options());
    Tensor x = x_.contiguous(), w = w_.contiguous(), b = b_ ? b_->contiguous() : Tensor();
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "conv2d", [&] {
        if (y.numel() == 0) return;
        if (sizes.c == 0) { // an empty sum, and the bias
            b.defined() ? y.copy_(b.view({-1, 1, 1}).expand_as(y)) : y.zero_();
            return;
        }
        Run<scalar_t> run(x, sizes);
        Work work = run.work(x);
        const Session<scalar_t> &s = run.session;
        const scalar_t *bias = b.defined() ? in<scalar_t>(b) : nullptr;
        s.need(s.tl.conv2d_fwd(s.ctx, out<scalar_t>(y), in<scalar_t>(x), in<scalar_t>(w), bias,
                               &run.g, work.get()));
    });
    return y;
}

Tensor conv2d_backward_input(const Tensor &dy_, const Tensor &w_, IntArrayRef size,
                             IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
    auto sizes = conv_of_input<int64_t>(dy_, w_, size, stride, padding, dilation);
    Tensor dx = zeros({sizes.n, sizes.c, sizes.h, sizes.w}, dy_.options());
    Tensor dy = dy_.contiguous(), w = w_.contiguous();
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "conv2d_backward_input", [&] {
        if (dx.numel() == 0 || dy.numel() == 0) return;
        Run<scalar_t> run(dy, sizes);
        Work work = run.work(dy);
        const Session<scalar_t> &s = run.session;
        s.need(s.tl.conv2d_bwd_input(s.ctx, out<scalar_t>(dx), in<scalar_t>(dy), in<scalar_t>(w),
                                     &run.g, work.get()));
    });
    return dx;
}

Tensor conv2d_backward_weight(const Tensor &dy_, const Tensor &x_, IntArrayRef kernel,
                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
    auto sizes = conv_of_weight<int64_t>(dy_, x_, kernel, stride, padding, dilation);
    Tensor dw = zeros({sizes.k, sizes.c, sizes.r, sizes.s}, dy_.options());
    Tensor dy = dy_.contiguous(), x = x_.contiguous();
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "conv2d_backward_weight", [&] {
        if (dw.numel() == 0 || dy.numel() == 0) return;
        Run<scalar_t> run(dy, sizes);
        Work work = run.work(dy);
        const Session<scalar_t> &s = run.session;
        s.need(s.tl.conv2d_bwd_weight(s.ctx, out<scalar_t>(dw), in<scalar_t>(dy), in<scalar_t>(x),
                                      &run.g, work.get()));
    });
    return dw;
}

Tensor conv2d_backward_bias(const Tensor &dy_) {
    check_first("conv2d_backward_bias", "dy", dy_, 4);
    Tensor dy = dy_.contiguous(), db = zeros({dy.size(1)}, dy.options());
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "conv2d_backward_bias", [&] {
        if (dy.numel() == 0) return;
        // a filter of one tap: the sum over pixels knows no other
        Conv<int64_t> sizes{dy.size(0), 1, dy.size(2), dy.size(3), dy.size(1), 1,
                            1,          0, 0,          {1, 1},     {0, 0},     {1, 1}};
        Run<scalar_t> run(dy, sizes);
        const Session<scalar_t> &s = run.session;
        s.need(s.tl.conv2d_bwd_bias(s.ctx, out<scalar_t>(db), in<scalar_t>(dy), &run.g));
    });
    return db;
}

// tl has the columns of all images in one matrix [C*R*S, N*P*Q], PyTorch a matrix for each image:
// so they are made, and taken, an image at a time.
Tensor im2col(const Tensor &x_, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
    auto sizes = im2col_of<int64_t>(x_, kernel, dilation, padding, stride);
    int64_t rows = sizes.c * sizes.r * sizes.s, columns = sizes.p * sizes.q;
    Tensor x = x_.contiguous(), col = at::empty({sizes.n, rows, columns}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "im2col", [&] {
        if (col.numel() == 0) return;
        Run<scalar_t> run(x, sizes);
        const Session<scalar_t> &s = run.session;
        const scalar_t *from = in<scalar_t>(x);
        scalar_t *to = out<scalar_t>(col);
        for (int64_t n = 0; n < sizes.n; n++, to += rows * columns, from += x.stride(0))
            s.need(s.tl.im2col(s.ctx, to, from, 1, &run.g));
    });
    return col;
}

Tensor col2im(const Tensor &col_, IntArrayRef size, IntArrayRef kernel, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride) {
    auto sizes = col2im_of<int64_t>(col_, size, kernel, dilation, padding, stride);
    Tensor x = zeros({sizes.n, sizes.c, sizes.h, sizes.w}, col_.options());
    Tensor col = col_.contiguous();
    AT_DISPATCH_FLOATING_TYPES(col.scalar_type(), "col2im", [&] {
        if (col.numel() == 0) return;
        Run<scalar_t> run(col, sizes);
        const Session<scalar_t> &s = run.session;
        const scalar_t *from = in<scalar_t>(col);
        scalar_t *to = out<scalar_t>(x);
        for (int64_t n = 0; n < sizes.n; n++, to += x.stride(0), from += col.stride(0))
            s.need(s.tl.col2im(s.ctx, to, from, 1, &run.g));
    });
    return x;
}

void implement(torch::Library &m) {
    m.impl("conv2d", TORCH_FN(conv2d));
    m.impl("conv2d_backward_input", TORCH_FN(conv2d_backward_input));
    m.impl("conv2d_backward_weight", TORCH_FN(conv2d_backward_weight));
    m.impl("conv2d_backward_bias", TORCH_FN(conv2d_backward_bias));
    m.impl("im2col", TORCH_FN(im2col));
    m.impl("col2im", TORCH_FN(col2im));
}

} // namespace

TORCH_LIBRARY_IMPL(gradlab_cpp, CPU, m) { implement(m); }
TORCH_LIBRARY_IMPL(gradlab_cpp, CUDA, m) { implement(m); }

} // namespace gradlab
