// shapes.h: the checks of arguments, in PyTorch's words, and the sizes that follow from them.
//
// Each is written once for two kinds of sizes: int64_t where an operation runs, c10::SymInt where
// torch.compile traces it with sizes that are not known yet.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymIntArrayRef.h>

#include <array>
#include <limits>
#include <optional>
#include <type_traits>

namespace gradlab {

using at::IntArrayRef;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

template <class Int> auto sizes(const Tensor &t) {
    if constexpr (std::is_same_v<Int, int64_t>)
        return t.sizes();
    else
        return t.sym_sizes();
}

template <class Int> using Pair = std::array<Int, 2>;

// A list of two, as PyTorch's schema int[2] has it: one number counts for both.
template <class Int, class List> Pair<Int> pair(const char *name, const List &list) {
    TORCH_CHECK(list.size() == 1 || list.size() == 2, "expected ", name,
                " to be a single integer value or a list of 2 values, but got ", name, "=", list);
    return {list[0], list[list.size() - 1]};
}

// What tl has kernels for; `name` is the argument's, here and below.
inline void check_supported(const char *op, const char *name, const Tensor &x) {
    TORCH_CHECK_NOT_IMPLEMENTED(x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble,
                                '"', op, "\" not implemented for '", x.scalar_type(), "': ", name,
                                " must be float32 or float64, tl has no kernel for other types");
}

// Everything lies on one device and has one type.
inline void check_like(const char *op, const char *name, const Tensor &t, const Tensor &x) {
    TORCH_CHECK(t.device() == x.device(), "Expected all tensors to be on the same device, but got ",
                name, " is on ", t.device(), ", different from other tensors on ", x.device(),
                " (when checking ", "argument for argument ", name, " in method ", op, ")");
    TORCH_CHECK(t.scalar_type() == x.scalar_type(), op, "(): Input type (", x.scalar_type(),
                ") and ", name, " type (", t.scalar_type(), ") should be the same");
}

inline void check_rank(const char *op, const char *name, const Tensor &t, int64_t rank) {
    TORCH_CHECK(t.dim() == rank, op, "(): expected ", name, " to be ", rank,
                "-dimensional, but got a tensor of size ", t.sym_sizes());
}

// The tensor that decides which kernel runs.
inline void check_first(const char *op, const char *name, const Tensor &x, int64_t rank) {
    check_supported(op, name, x);
    check_rank(op, name, x, rank);
}

// A size as tl counts it.
inline int fit(int64_t size) {
    TORCH_CHECK(size <= std::numeric_limits<int>::max(), "gradlab: a size of ", size,
                " is too large for its kernels, which count in int");
    return static_cast<int>(size);
}

// ---- convolution --------------------------------------------------------------------------------

template <class Int> struct Conv {
    Int n, c, h, w, k, r, s, p, q;
    Pair<int64_t> stride, padding, dilation;
};

template <class Int> Int window_steps(Int length, int64_t padding, Int reach, int64_t stride) {
    return (length + 2 * padding - reach) / stride + 1;
}

// p and q of a convolution, or of im2col's windows, whose other sizes are there.
template <class Int>
void complete(Conv<Int> &g, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
    g.stride = pair<int64_t>("stride", stride);
    g.padding = pair<int64_t>("padding", padding);
    g.dilation = pair<int64_t>("dilation", dilation);
    for (int i = 0; i < 2; i++) {
        TORCH_CHECK(g.stride[i] > 0, "non-positive stride is not supported");
        TORCH_CHECK(g.padding[i] >= 0, "negative padding is not supported");
        TORCH_CHECK(g.dilation[i] > 0, "dilation should be greater than zero");
    }
    TORCH_CHECK(g.h > 0 && g.w > 0,
                "Only zero batch or zero channel inputs are supported, but got ", "an input of ",
                g.h, " x ", g.w, " pixels");
    Int reach_h = g.dilation[0] * (g.r - 1) + 1, reach_w = g.dilation[1] * (g.s - 1) + 1;
    TORCH_CHECK(g.r > 0 && g.s > 0,
                "kernel size should be greater than zero, but got kernel_size=(", g.r, ", ", g.s,
                ")");
    bool fits = g.h + 2 * g.padding[0] >= reach_h && g.w + 2 * g.padding[1] >= reach_w;
    g.p = fits ? window_steps<Int>(g.h, g.padding[0], reach_h, g.stride[0]) : Int(0);
    g.q = fits ? window_steps<Int>(g.w, g.padding[1], reach_w, g.stride[1]) : Int(0);
}

// The same, where an output without pixels is an error.
template <class Int>
void complete_filter(Conv<Int> &g, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
    complete(g, stride, padding, dilation);
    TORCH_CHECK(g.p > 0 && g.q > 0, "Calculated padded input size per channel: (",
                g.h + 2 * g.padding[0], " x ", g.w + 2 * g.padding[1], "). Kernel size: (",
                g.dilation[0] * (g.r - 1) + 1, " x ", g.dilation[1] * (g.s - 1) + 1,
                "). Kernel size can't be greater than actual input size");
}

template <class Int>
Conv<Int> conv_of(const Tensor &x, const Tensor &w, const OptionalTensor &b, IntArrayRef stride,
                  IntArrayRef padding, IntArrayRef dilation) {
    check_first("conv2d", "input", x, 4);
    check_rank("conv2d", "weight", w, 4);
    check_like("conv2d", "weight", w, x);
    auto xs = sizes<Int>(x), ws = sizes<Int>(w);
    TORCH_CHECK(ws[0] > 0, "Given groups=1, expected weight to be at least 1 at dimension 0, but ",
                "got weight of size ", ws, " instead");
    TORCH_CHECK(ws[1] == xs[1], "Given groups=1, weight of size ", ws, ", expected input", xs,
                " to have ", ws[1], " channels, but got ", xs[1], " channels instead");
    if (b) {
        check_like("conv2d", "bias", *b, x);
        TORCH_CHECK(b->dim() == 1 && sizes<Int>(*b)[0] == ws[0], "Given weight of size ", ws,
                    ", expected bias to be 1-dimensional with ", ws[0],
                    " elements, but got bias of size ", sizes<Int>(*b), " instead");
    }
    Conv<Int> g{xs[0], xs[1], xs[2], xs[3], ws[0], ws[2], ws[3], 0, 0, {}, {}, {}};
    complete_filter(g, stride, padding, dilation);
    return g;
}

template <class Int> void check_dy(const char *op, const Tensor &dy, const Conv<Int> &g) {
    auto d = sizes<Int>(dy);
    TORCH_CHECK(d[0] == g.n && d[1] == g.k && d[2] == g.p && d[3] == g.q, op,
                "(): expected dy of size [", g.n, ", ", g.k, ", ", g.p, ", ", g.q, "], but got ",
                d);
}

template <class Int, class List>
Conv<Int> conv_of_input(const Tensor &dy, const Tensor &w, const List &size, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef dilation) {
    const char *op = "conv2d_backward_input";
    check_first(op, "dy", dy, 4);
    check_rank(op, "weight", w, 4);
    check_like(op, "weight", w, dy);
    auto d = sizes<Int>(dy), ws = sizes<Int>(w);
    auto hw = pair<Int>("size", size);
    Conv<Int> g{d[0], ws[1], hw[0], hw[1], ws[0], ws[2], ws[3], 0, 0, {}, {}, {}};
    complete_filter(g, stride, padding, dilation);
    check_dy(op, dy, g);
    return g;
}

template <class Int, class List>
Conv<Int> conv_of_weight(const Tensor &dy, const Tensor &x, const List &kernel, IntArrayRef stride,
                         IntArrayRef padding, IntArrayRef dilation) {
    const char *op = "conv2d_backward_weight";
    check_first(op, "dy", dy, 4);
    check_rank(op, "input", x, 4);
    check_like(op, "input", x, dy);
    auto d = sizes<Int>(dy), xs = sizes<Int>(x);
    auto rs = pair<Int>("kernel", kernel);
    Conv<Int> g{xs[0], xs[1], xs[2], xs[3], d[1], rs[0], rs[1], 0, 0, {}, {}, {}};
    complete_filter(g, stride, padding, dilation);
    check_dy(op, dy, g);
    return g;
}

// The windows of unfold and fold: one filter, whose taps are the columns' rows.
template <class Int, class Size, class Kernel>
Conv<Int> windows_of(Int n, Int c, const Size &size, const Kernel &kernel, IntArrayRef dilation,
                     IntArrayRef padding, IntArrayRef stride) {
    auto hw = pair<Int>("size", size);
    auto rs = pair<Int>("kernel_size", kernel);
    TORCH_CHECK(c > 0,
                "Expected an input with possibly 0 batch size and other non-zero dimensions, ",
                "but it has no channels");
    Conv<Int> g{n, c, hw[0], hw[1], 1, rs[0], rs[1], 0, 0, {}, {}, {}};
    complete(g, stride, padding, dilation);
    TORCH_CHECK(g.p > 0 && g.q > 0, "Given input with spatial size (", g.h, ", ", g.w,
                "), kernel_size=(", g.r, ", ", g.s, "), dilation=(", g.dilation[0], ", ",
                g.dilation[1], "), padding=(", g.padding[0], ", ", g.padding[1],
                "), calculated shape of the array of sliding blocks as (", g.p, ", ", g.q,
                "), but its components must be at least one.");
    return g;
}

template <class Int, class Kernel>
Conv<Int> im2col_of(const Tensor &x, const Kernel &kernel, IntArrayRef dilation,
                    IntArrayRef padding, IntArrayRef stride) {
    check_first("im2col", "input", x, 4);
    auto xs = sizes<Int>(x);
    return windows_of<Int>(xs[0], xs[1], xs.slice(2), kernel, dilation, padding, stride);
}

template <class Int, class Size, class Kernel>
Conv<Int> col2im_of(const Tensor &col, const Size &size, const Kernel &kernel, IntArrayRef dilation,
                    IntArrayRef padding, IntArrayRef stride) {
    check_first("col2im", "input", col, 3);
    auto cs = sizes<Int>(col);
    auto rs = pair<Int>("kernel_size", kernel);
    TORCH_CHECK(rs[0] > 0 && rs[1] > 0, "kernel size should be greater than zero, but got ",
                "kernel_size=(", rs[0], ", ", rs[1], ")");
    Int taps = rs[0] * rs[1];
    TORCH_CHECK(cs[1] % taps == 0,
                "Expected size of input's dimension 1 to be divisible by the product of ",
                "kernel_size, but got input.size(1)=", cs[1], " and kernel_size=(", rs[0], ", ",
                rs[1], ").");
    auto g = windows_of<Int>(cs[0], cs[1] / taps, size, kernel, dilation, padding, stride);
    TORCH_CHECK(cs[2] == g.p * g.q, "Given output_size=(", g.h, ", ", g.w, "), kernel_size=(", g.r,
                ", ", g.s, "), dilation=(", g.dilation[0], ", ", g.dilation[1], "), padding=(",
                g.padding[0], ", ", g.padding[1], "), stride=(", g.stride[0], ", ", g.stride[1],
                "), expected size of input's dimension 2 to match the calculated ",
                "number of sliding blocks ", g.p, " * ", g.q, " = ", g.p * g.q,
                ", but got input.size(2)=", cs[2], ".");
    return g;
}

// ---- max pooling --------------------------------------------------------------------------------

template <class Int, class Size>
Conv<Int> pool_of(Int n, Int c, const Size &size, IntArrayRef kernel, IntArrayRef stride,
                  IntArrayRef padding) {
    auto rs = pair<int64_t>("kernel_size", kernel);
    auto st = pair<int64_t>("stride", stride), pad = pair<int64_t>("padding", padding);
    TORCH_CHECK(rs[0] > 0 && rs[1] > 0,
                "kernel size should be greater than zero, but got kH: ", rs[0], " kW: ", rs[1]);
    TORCH_CHECK(st[0] > 0 && st[1] > 0, "stride should be greater than zero, but got dH: ", st[0],
                " dW: ", st[1]);
    TORCH_CHECK(pad[0] >= 0 && pad[1] >= 0,
                "pad must be non-negative, but got pad: ", std::min(pad[0], pad[1]));
    for (int i = 0; i < 2; i++)
        TORCH_CHECK(pad[i] <= rs[i] / 2,
                    "pad should be at most half of effective kernel size, but ", "got pad=", pad[i],
                    ", kernel_size=", rs[i], " and dilation=1");
    auto hw = pair<Int>("size", size);
    Conv<Int> g{n, c, hw[0], hw[1], c, rs[0], rs[1], 0, 0, st, pad, {1, 1}};
    TORCH_CHECK(
        c > 0 && g.h > 0 && g.w > 0, "max_pool2d: Expected 3D or 4D (batch mode) tensor with ",
        "optional 0 dim batch size for input, but got: [", n, ", ", c, ", ", g.h, ", ", g.w, "]");
    bool fits = g.h + 2 * pad[0] >= g.r && g.w + 2 * pad[1] >= g.s;
    TORCH_CHECK(fits, "Given input size: (", c, "x", g.h, "x", g.w,
                "). Output size is too small for kernel_size=(", g.r, ", ", g.s, ")");
    g.p = window_steps<Int>(g.h, pad[0], g.r, st[0]);
    g.q = window_steps<Int>(g.w, pad[1], g.s, st[1]);
    return g;
}

} // namespace gradlab
