// autograd.cpp: what each operator's derivative is, in terms of the others.
//
// Convolution, its gradient for the input and that for the weight are linear in each factor, and
// each is the derivative of the others: so double backward needs no further kernel. The same holds
// for linear, and for unfold and fold.
#include <torch/library.h>

#include "derivative.h"

namespace gradlab {
namespace {

using Sizes = std::vector<c10::SymInt>;

// The last two sizes: height and width.
Sizes plane(const Tensor &t) {
    auto s = t.sym_sizes();
    return {s[s.size() - 2], s[s.size() - 1]};
}

// ---- convolution --------------------------------------------------------------------------------

Tensor conv2d(const Tensor &x, const Tensor &w, const OptionalTensor &b, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation) {
    check_rank("conv2d", "input", x, 4);
    check_rank("conv2d", "weight", w, 4);
    auto rule = [st = stride.vec(), pad = padding.vec(), dil = dilation.vec()](
                    const Derivative &node, const variable_list &dy, const variable_list &saved) {
        const Tensor &d = dy[0], &x = saved[0], &w = saved[1];
        return gradients(
            node,
            [&] { return call<op::conv2d_backward_input>(d, w, Sizes(plane(x)), st, pad, dil); },
            [&] { return call<op::conv2d_backward_weight>(d, x, Sizes(plane(w)), st, pad, dil); },
            [&] { return call<op::conv2d_backward_bias>(d); });
    };
    return differentiable<op::conv2d>({x, w}, {}, rule, x, w, b, stride, padding, dilation);
}

Tensor conv2d_backward_input(const Tensor &dy, const Tensor &w, SymIntArrayRef size,
                             IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
    check_rank("conv2d_backward_input", "weight", w, 4);
    auto rule = [st = stride.vec(), pad = padding.vec(), dil = dilation.vec()](
                    const Derivative &node, const variable_list &gs, const variable_list &saved) {
        const Tensor &g = gs[0], &dy = saved[0], &w = saved[1];
        return gradients(
            node, [&] { return call<op::conv2d>(g, w, OptionalTensor(), st, pad, dil); },
            [&] { return call<op::conv2d_backward_weight>(dy, g, plane(w), st, pad, dil); });
    };
    return differentiable<op::conv2d_backward_input>({dy, w}, {}, rule, dy, w, size, stride,
                                                     padding, dilation);
}

Tensor conv2d_backward_weight(const Tensor &dy, const Tensor &x, SymIntArrayRef kernel,
                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
    check_rank("conv2d_backward_weight", "input", x, 4);
    auto rule = [st = stride.vec(), pad = padding.vec(), dil = dilation.vec()](
                    const Derivative &node, const variable_list &gs, const variable_list &saved) {
        const Tensor &g = gs[0], &dy = saved[0], &x = saved[1];
        return gradients(
            node, [&] { return call<op::conv2d>(x, g, OptionalTensor(), st, pad, dil); },
            [&] { return call<op::conv2d_backward_input>(dy, g, plane(x), st, pad, dil); });
    };
    return differentiable<op::conv2d_backward_weight>({dy, x}, {}, rule, dy, x, kernel, stride,
                                                      padding, dilation);
}

Tensor conv2d_backward_bias(const Tensor &dy) {
    auto rule = [size = dy.sym_sizes().vec()](const Derivative &, const variable_list &g,
                                              const variable_list &) {
        return variable_list{g[0].view({1, -1, 1, 1}).expand_symint(size)};
    };
    return differentiable<op::conv2d_backward_bias>({}, {}, rule, dy);
}

Tensor im2col(const Tensor &x, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
    check_rank("im2col", "input", x, 4);
    auto rule = [size = plane(x), k = kernel.vec(), dil = dilation.vec(), pad = padding.vec(),
                 st = stride.vec()](const Derivative &, const variable_list &g,
                                    const variable_list &) {
        return variable_list{call<op::col2im>(g[0], size, k, dil, pad, st)};
    };
    return differentiable<op::im2col>({}, {}, rule, x, kernel, dilation, padding, stride);
}

Tensor col2im(const Tensor &col, SymIntArrayRef size, IntArrayRef kernel, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride) {
    auto rule = [k = kernel.vec(), dil = dilation.vec(), pad = padding.vec(), st = stride.vec()](
                    const Derivative &, const variable_list &g, const variable_list &) {
        return variable_list{call<op::im2col>(g[0], k, dil, pad, st)};
    };
    return differentiable<op::col2im>({}, {}, rule, col, size, kernel, dilation, padding, stride);
}

// ---- linear, ReLU, dropout ----------------------------------------------------------------------

Tensor linear(const Tensor &x, const Tensor &w, const OptionalTensor &b) {
    auto rule = [](const Derivative &node, const variable_list &dy, const variable_list &saved) {
        return gradients(
            node, [&] { return call<op::linear_backward_input>(dy[0], saved[1]); },
            [&] { return call<op::linear_backward_weight>(dy[0], saved[0]); },
            [&] { return call<op::linear_backward_bias>(dy[0]); });
    };
    return differentiable<op::linear>({x, w}, {}, rule, x, w, b);
}

Tensor linear_backward_input(const Tensor &dy, const Tensor &w) {
    auto rule = [](const Derivative &node, const variable_list &g, const variable_list &saved) {
        return gradients(
            node, [&] { return call<op::linear>(g[0], saved[1], OptionalTensor()); },
            [&] { return call<op::linear_backward_weight>(saved[0], g[0]); });
    };
    return differentiable<op::linear_backward_input>({dy, w}, {}, rule, dy, w);
}

Tensor linear_backward_weight(const Tensor &dy, const Tensor &x) {
    auto rule = [](const Derivative &node, const variable_list &g, const variable_list &saved) {
        return gradients(
            node, [&] { return call<op::linear>(saved[1], g[0], OptionalTensor()); },
            [&] { return call<op::linear_backward_input>(saved[0], g[0]); });
    };
    return differentiable<op::linear_backward_weight>({dy, x}, {}, rule, dy, x);
}

Tensor linear_backward_bias(const Tensor &dy) {
    auto rule = [size = dy.sym_sizes().vec()](const Derivative &, const variable_list &g,
                                              const variable_list &) {
        return variable_list{g[0].unsqueeze(0).expand_symint(size)};
    };
    return differentiable<op::linear_backward_bias>({}, {}, rule, dy);
}

Tensor relu(const Tensor &x) {
    auto rule = [](const Derivative &, const variable_list &dy, const variable_list &saved) {
        return variable_list{call<op::relu_backward>(dy[0], saved[0])};
    };
    return differentiable<op::relu>({}, {0}, rule, x);
}

// (nothing changes with y, but where it is 0)
Tensor relu_backward(const Tensor &dy, const Tensor &y) {
    auto rule = [](const Derivative &, const variable_list &g, const variable_list &saved) {
        return variable_list{call<op::relu_backward>(g[0], saved[0]), Tensor()};
    };
    return differentiable<op::relu_backward>({y}, {}, rule, dy, y);
}

template <class Op> Tensor drop(const Tensor &x, double p, const Tensor &seed) {
    auto rule = [p](const Derivative &, const variable_list &g, const variable_list &saved) {
        return variable_list{call<op::dropout_backward>(g[0], p, saved[0]), Tensor()};
    };
    return differentiable<Op>({seed}, {}, rule, x, p, seed);
}

Tensor dropout(const Tensor &x, double p, const Tensor &seed) {
    return drop<op::dropout>(x, p, seed);
}
Tensor dropout_backward(const Tensor &dy, double p, const Tensor &seed) {
    return drop<op::dropout_backward>(dy, p, seed);
}

// ---- max pooling, cross-entropy -----------------------------------------------------------------

Two max_pool2d(const Tensor &x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding) {
    check_rank("max_pool2d", "input", x, 4);
    auto rule = [size = plane(x), k = kernel.vec(), st = stride.vec(), pad = padding.vec()](
                    const Derivative &, const variable_list &dy, const variable_list &saved) {
        return variable_list{call<op::max_pool2d_backward>(dy[0], saved[0], size, k, st, pad)};
    };
    return differentiable<op::max_pool2d>({}, {1}, rule, x, kernel, stride, padding);
}

Tensor max_pool2d_backward(const Tensor &dy, const Tensor &argmax, SymIntArrayRef size,
                           IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding) {
    auto rule = [](const Derivative &, const variable_list &g, const variable_list &saved) {
        Tensor at = saved[0].to(at::kLong);
        return variable_list{g[0].flatten(2).gather(2, at.flatten(2)).view_as(at), Tensor()};
    };
    return differentiable<op::max_pool2d_backward>({argmax}, {}, rule, dy, argmax, size, kernel,
                                                   stride, padding);
}

Two cross_entropy_rows(const Tensor &logits, const Tensor &label) {
    auto rule = [](const Derivative &, const variable_list &dy, const variable_list &saved) {
        return variable_list{
            call<op::cross_entropy_rows_backward>(dy[0], saved[0], saved[2], saved[1]), Tensor()};
    };
    return differentiable<op::cross_entropy_rows>({logits, label}, {1}, rule, logits, label);
}

// dlogits = d * (p - onehot), p = softmax(logits); against g that is, for d, the sum of a row of
// g * (p - onehot), and for the logits d * p * (g - sum(g * p)).
Tensor cross_entropy_rows_backward(const Tensor &d_rows, const Tensor &logits, const Tensor &prob,
                                   const Tensor &label) {
    auto rule = [](const Derivative &node, const variable_list &gs, const variable_list &saved) {
        const Tensor &g = gs[0], &d = saved[0];
        Tensor p = saved[1].softmax(1), gp = (g * p).sum(1, true);
        auto grads = gradients(
            node,
            [&] {
                Tensor at = saved[2].to(at::kLong).unsqueeze(1);
                return gp.squeeze(1) - g.gather(1, at).squeeze(1);
            },
            [&] { return d.unsqueeze(1) * p * (g - gp); });
        grads.resize(4);
        return grads;
    };
    return differentiable<op::cross_entropy_rows_backward>({d_rows, logits, label}, {}, rule,
                                                           d_rows, logits, prob, label);
}

} // namespace

TORCH_LIBRARY_IMPL(gradlab_cpp, Autograd, m) {
    m.impl("conv2d", TORCH_FN(conv2d));
    m.impl("conv2d_backward_input", TORCH_FN(conv2d_backward_input));
    m.impl("conv2d_backward_weight", TORCH_FN(conv2d_backward_weight));
    m.impl("conv2d_backward_bias", TORCH_FN(conv2d_backward_bias));
    m.impl("im2col", TORCH_FN(im2col));
    m.impl("col2im", TORCH_FN(col2im));
    m.impl("linear", TORCH_FN(linear));
    m.impl("linear_backward_input", TORCH_FN(linear_backward_input));
    m.impl("linear_backward_weight", TORCH_FN(linear_backward_weight));
    m.impl("linear_backward_bias", TORCH_FN(linear_backward_bias));
    m.impl("relu", TORCH_FN(relu));
    m.impl("relu_backward", TORCH_FN(relu_backward));
    m.impl("dropout", TORCH_FN(dropout));
    m.impl("dropout_backward", TORCH_FN(dropout_backward));
    m.impl("max_pool2d", TORCH_FN(max_pool2d));
    m.impl("max_pool2d_backward", TORCH_FN(max_pool2d_backward));
    m.impl("cross_entropy_rows", TORCH_FN(cross_entropy_rows));
    m.impl("cross_entropy_rows_backward", TORCH_FN(cross_entropy_rows_backward));
}

} // namespace gradlab
