// shapes_layers.h: shapes.h for pooling, linear, ReLU, cross-entropy, batch norm and dropout.
#pragma once

#include "shapes.h"

namespace gradlab {

template <class Int>
void check_same_size(const char *op, const char *name, const Tensor &t, const Tensor &like) {
    check_like(op, name, t, like);
    TORCH_CHECK(sizes<Int>(t) == sizes<Int>(like), op, "(): expected ", name, " of size ",
                sizes<Int>(like), ", but got ", sizes<Int>(t));
}

inline void check_index(const char *op, const char *name, const Tensor &t, const Tensor &x) {
    TORCH_CHECK(t.scalar_type() == at::kInt, op, "(): expected ", name,
                " to have dtype Int, but got ", t.scalar_type());
    TORCH_CHECK(t.device() == x.device(), "Expected all tensors to be on the same device, but got ",
                name, " is on ", t.device(), ", different from other tensors on ", x.device());
}

// ---- linear -------------------------------------------------------------------------------------

template <class Int> void check_linear(const Tensor &x, const Tensor &w, const OptionalTensor &b) {
    check_first("linear", "input", x, 2);
    check_rank("linear", "weight", w, 2);
    check_like("linear", "weight", w, x);
    auto xs = sizes<Int>(x), ws = sizes<Int>(w);
    TORCH_CHECK(xs[1] == ws[1], "mat1 and mat2 shapes cannot be multiplied (", xs[0], "x", xs[1],
                " and ", ws[1], "x", ws[0], ")");
    if (!b) return;
    check_like("linear", "bias", *b, x);
    TORCH_CHECK(b->dim() == 1 && sizes<Int>(*b)[0] == ws[0], "linear(): expected bias of size [",
                ws[0], "], but got ", sizes<Int>(*b));
}

// One side of dy has the length of one side of the other factor.
template <class Int>
void check_linear_backward(const char *op, const char *name, const Tensor &dy, int dy_side,
                           const Tensor &other, int side) {
    check_first(op, "dy", dy, 2);
    check_rank(op, name, other, 2);
    check_like(op, name, other, dy);
    TORCH_CHECK(sizes<Int>(dy)[dy_side] == sizes<Int>(other)[side], op, "(): dy of size ",
                sizes<Int>(dy), " and ", name, " of size ", sizes<Int>(other), " do not fit");
}

// ---- max pooling --------------------------------------------------------------------------------

template <class Int>
Conv<Int> max_pool_of(const Tensor &x, IntArrayRef kernel, IntArrayRef stride,
                      IntArrayRef padding) {
    check_first("max_pool2d", "input", x, 4);
    auto xs = sizes<Int>(x);
    return pool_of<Int>(xs[0], xs[1], xs.slice(2), kernel, stride, padding);
}

template <class Int, class Size>
Conv<Int> max_pool_backward_of(const Tensor &dy, const Tensor &argmax, const Size &size,
                               IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding) {
    const char *op = "max_pool2d_backward";
    check_first(op, "dy", dy, 4);
    check_index(op, "argmax", argmax, dy);
    auto d = sizes<Int>(dy);
    TORCH_CHECK(sizes<Int>(argmax) == d, op, "(): expected argmax of size ", d, ", but got ",
                sizes<Int>(argmax));
    auto g = pool_of<Int>(d[0], d[1], size, kernel, stride, padding);
    TORCH_CHECK(d[2] == g.p && d[3] == g.q, op, "(): expected dy of size [", g.n, ", ", g.c, ", ",
                g.p, ", ", g.q, "], but got ", d);
    return g;
}

// ---- cross-entropy ------------------------------------------------------------------------------

template <class Int> void check_rows(const char *op, const Tensor &logits, const Tensor &label) {
    check_first(op, "input", logits, 2);
    check_rank(op, "target", label, 1);
    check_index(op, "target", label, logits);
    auto ls = sizes<Int>(logits);
    TORCH_CHECK_VALUE(sizes<Int>(label)[0] == ls[0], "Expected input batch_size (", ls[0],
                      ") to match target batch_size (", sizes<Int>(label)[0], ").");
    TORCH_CHECK(ls[1] > 0, op,
                "(): expected input to have at least one class, but got a tensor of ", "size ", ls);
}

template <class Int>
void check_rows_backward(const Tensor &d_rows, const Tensor &logits, const Tensor &prob,
                         const Tensor &label) {
    const char *op = "cross_entropy_rows_backward";
    check_rows<Int>(op, logits, label);
    check_same_size<Int>(op, "prob", prob, logits);
    check_rank(op, "d_rows", d_rows, 1);
    check_like(op, "d_rows", d_rows, logits);
    TORCH_CHECK(sizes<Int>(d_rows)[0] == sizes<Int>(logits)[0], op, "(): expected d_rows of size [",
                sizes<Int>(logits)[0], "], but got ", sizes<Int>(d_rows));
}

// ---- batch norm, dropout ------------------------------------------------------------------------

template <class Int>
void check_channels(const char *op, const char *name, const Tensor &t, const Tensor &x) {
    check_like(op, name, t, x);
    TORCH_CHECK(t.dim() == 1 && sizes<Int>(t)[0] == sizes<Int>(x)[1], op, "(): ", name,
                " should contain ", sizes<Int>(x)[1], " elements not ", t.sym_numel());
}

// training: a variance needs two values.
template <class Int>
void check_batch_norm(const char *op, const Tensor &x, bool training,
                      std::initializer_list<std::pair<const char *, const Tensor *>> channels) {
    check_first(op, "input", x, 3);
    for (const auto &c : channels) check_channels<Int>(op, c.first, *c.second, x);
    auto xs = sizes<Int>(x);
    if (training)
        TORCH_CHECK_VALUE(xs[0] * xs[2] != 1,
                          "Expected more than 1 value per channel when training, got input size ",
                          xs);
}

inline void check_dropout(const Tensor &x, double p, const Tensor &seed) {
    check_supported("dropout", "input", x);
    TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
    TORCH_CHECK(
        seed.scalar_type() == at::kLong && seed.dim() == 0 && (seed.is_cpu() || seed.is_meta()),
        "dropout(): expected seed to be a 0-dimensional tensor of dtype Long on cpu, but got ",
        seed.scalar_type(), " of size ", seed.sym_sizes(), " on ", seed.device());
}

} // namespace gradlab
