// operators.h: the operators of namespace gradlab_cpp: their schemas, and their types in C++.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <tuple>

#include "shapes.h"
#include "shapes_layers.h"

namespace gradlab {

using c10::SymIntArrayRef;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

// F(name, result, (arguments), schema) for the operators that have no side effect. `size` and
// `kernel` of a backward operator are those of a tensor, so torch.compile may not know them yet.
#define GRADLAB_T                const Tensor &
#define GRADLAB_STRIDE_PAD_DIL   IntArrayRef, IntArrayRef, IntArrayRef
#define GRADLAB_STRIDE_PAD_DIL_S "int[2] stride, int[2] padding, int[2] dilation)"
#define GRADLAB_OPERATORS(F)                                                                       \
    F(conv2d, Tensor, (GRADLAB_T, GRADLAB_T, const OptionalTensor &, GRADLAB_STRIDE_PAD_DIL),      \
      "(Tensor x, Tensor w, Tensor? b, " GRADLAB_STRIDE_PAD_DIL_S " -> Tensor")                    \
    F(conv2d_backward_input, Tensor,                                                               \
      (GRADLAB_T, GRADLAB_T, SymIntArrayRef, GRADLAB_STRIDE_PAD_DIL),                              \
      "(Tensor dy, Tensor w, SymInt[2] size, " GRADLAB_STRIDE_PAD_DIL_S " -> Tensor")              \
    F(conv2d_backward_weight, Tensor,                                                              \
      (GRADLAB_T, GRADLAB_T, SymIntArrayRef, GRADLAB_STRIDE_PAD_DIL),                              \
      "(Tensor dy, Tensor x, SymInt[2] kernel, " GRADLAB_STRIDE_PAD_DIL_S " -> Tensor")            \
    F(conv2d_backward_bias, Tensor, (GRADLAB_T), "(Tensor dy) -> Tensor")                          \
    F(im2col, Tensor, (GRADLAB_T, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef),             \
      "(Tensor x, int[2] kernel, int[2] dilation, int[2] padding, int[2] stride) -> Tensor")       \
    F(col2im, Tensor,                                                                              \
      (GRADLAB_T, SymIntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef),             \
      "(Tensor col, SymInt[2] size, int[2] kernel, int[2] dilation, int[2] padding, "              \
      "int[2] stride) -> Tensor")                                                                  \
    F(linear, Tensor, (GRADLAB_T, GRADLAB_T, const OptionalTensor &),                              \
      "(Tensor x, Tensor w, Tensor? b) -> Tensor")                                                 \
    F(linear_backward_input, Tensor, (GRADLAB_T, GRADLAB_T), "(Tensor dy, Tensor w) -> Tensor")    \
    F(linear_backward_weight, Tensor, (GRADLAB_T, GRADLAB_T), "(Tensor dy, Tensor x) -> Tensor")   \
    F(linear_backward_bias, Tensor, (GRADLAB_T), "(Tensor dy) -> Tensor")                          \
    F(max_pool2d, Two, (GRADLAB_T, IntArrayRef, IntArrayRef, IntArrayRef),                         \
      "(Tensor x, int[2] kernel, int[2] stride, int[2] padding) -> (Tensor y, Tensor argmax)")     \
    F(max_pool2d_backward, Tensor,                                                                 \
      (GRADLAB_T, GRADLAB_T, SymIntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef),               \
      "(Tensor dy, Tensor argmax, SymInt[2] size, int[2] kernel, int[2] stride, "                  \
      "int[2] padding) -> Tensor")                                                                 \
    F(relu, Tensor, (GRADLAB_T), "(Tensor x) -> Tensor")                                           \
    F(relu_backward, Tensor, (GRADLAB_T, GRADLAB_T), "(Tensor dy, Tensor y) -> Tensor")            \
    F(cross_entropy_rows, Two, (GRADLAB_T, GRADLAB_T),                                             \
      "(Tensor logits, Tensor label) -> (Tensor row_loss, Tensor prob)")                           \
    F(cross_entropy_rows_backward, Tensor, (GRADLAB_T, GRADLAB_T, GRADLAB_T, GRADLAB_T),           \
      "(Tensor d_rows, Tensor logits, Tensor prob, Tensor label) -> Tensor")                       \
    F(batch_norm, Five, (GRADLAB_T, GRADLAB_T, GRADLAB_T, GRADLAB_T, GRADLAB_T, double, double),   \
      "(Tensor x, Tensor gamma, Tensor beta, Tensor running_mean, Tensor running_var, "            \
      "float eps, float momentum) -> (Tensor y, Tensor mean, Tensor inv_std, "                     \
      "Tensor new_running_mean, Tensor new_running_var)")                                          \
    F(batch_norm_backward, Three, (GRADLAB_T, GRADLAB_T, GRADLAB_T, GRADLAB_T, GRADLAB_T),         \
      "(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor inv_std) -> "                       \
      "(Tensor dx, Tensor dgamma, Tensor dbeta)")                                                  \
    F(batch_norm_eval, Tensor, (GRADLAB_T, GRADLAB_T, GRADLAB_T, GRADLAB_T, GRADLAB_T, double),    \
      "(Tensor x, Tensor gamma, Tensor beta, Tensor running_mean, Tensor running_var, "            \
      "float eps) -> Tensor")                                                                      \
    F(dropout, Tensor, (GRADLAB_T, double, GRADLAB_T),                                             \
      "(Tensor x, float p, Tensor seed) -> Tensor")                                                \
    F(dropout_backward, Tensor, (GRADLAB_T, double, GRADLAB_T),                                    \
      "(Tensor dy, float p, Tensor seed) -> Tensor")

// Those that update their arguments.
#define GRADLAB_UPDATES(F)                                                                         \
    F(sgd_step, void,                                                                              \
      (GRADLAB_T, const OptionalTensor &, GRADLAB_T, double, double, double, bool),                \
      "(Tensor(a!) w, Tensor(b!)? velocity, Tensor dw, float lr, float momentum, "                 \
      "float weight_decay, bool nesterov) -> ()")                                                  \
    F(adam_step, void,                                                                             \
      (GRADLAB_T, GRADLAB_T, GRADLAB_T, GRADLAB_T, int64_t, double, double, double, double,        \
       double),                                                                                    \
      "(Tensor(a!) w, Tensor(b!) m, Tensor(c!) v, Tensor dw, int index, float lr, float beta1, "   \
      "float beta2, float eps, float weight_decay) -> ()")

#define GRADLAB_LIST(...) __VA_ARGS__

// op::conv2d names an operator; call<op::conv2d>(x, …) goes through PyTorch's dispatcher. (Tensors
// come by const reference also where they are written, as kernels of PyTorch may take them.)
namespace op {
#define GRADLAB_NAME(op_name, result, arguments, schema)                                           \
    struct op_name {                                                                               \
        using Signature = result(GRADLAB_LIST arguments);                                          \
        static constexpr const char *name = "gradlab_cpp::" #op_name;                              \
    };
GRADLAB_OPERATORS(GRADLAB_NAME)
GRADLAB_UPDATES(GRADLAB_NAME)
#undef GRADLAB_NAME
} // namespace op

template <class Op, class... Arguments> auto call(const Arguments &...arguments) {
    static const auto handle = c10::Dispatcher::singleton()
                                   .findSchemaOrThrow(Op::name, "")
                                   .template typed<typename Op::Signature>();
    return handle.call(arguments...);
}

} // namespace gradlab
