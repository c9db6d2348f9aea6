// autograd_norm.cpp: the derivative of batch norm, and what autograd has to know of updates.
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/library.h>

#include "derivative.h"

namespace gradlab {
namespace {

// ---- batch norm ---------------------------------------------------------------------------------

Five batch_norm(const Tensor &x, const Tensor &gamma, const Tensor &beta,
                const Tensor &running_mean, const Tensor &running_var, double eps,
                double momentum) {
    auto rule = [](const Derivative &, const variable_list &dy, const variable_list &saved) {
        auto d = call<op::batch_norm_backward>(dy[0], saved[0], saved[1], saved[2], saved[3]);
        return variable_list{std::get<0>(d), std::get<1>(d), std::get<2>(d), Tensor(), Tensor()};
    };
    return differentiable<op::batch_norm>({x, gamma}, {1, 2}, rule, x, gamma, beta, running_mean,
                                          running_var, eps, momentum);
}

Tensor of_channels(const Tensor &t) { return t.view({1, -1, 1}); }

// Where this is to be differentiated it is written in PyTorch's own operations, and with mean and
// deviation as functions of x, which they are; eps is what inv_std had beside the variance.
Three batch_norm_backward(const Tensor &dy, const Tensor &x, const Tensor &gamma,
                          const Tensor &mean, const Tensor &inv_std) {
    if (!torch::autograd::compute_requires_grad(dy, x, gamma)) {
        at::AutoDispatchBelowADInplaceOrView guard;
        return call<op::batch_norm_backward>(dy, x, gamma, mean, inv_std);
    }
    check_batch_norm<c10::SymInt>("batch_norm_backward", x, false,
                                  {{"weight", &gamma}, {"mean", &mean}, {"inv_std", &inv_std}});
    const std::array<int64_t, 2> rows{0, 2};
    Tensor centred = x - x.mean(rows, true), var = centred.square().mean(rows, true);
    Tensor eps = of_channels(inv_std.detach()).pow(-2) - var.detach();
    Tensor inverse = (var + eps).rsqrt(), xhat = centred * inverse;
    Tensor dgamma = (dy * xhat).sum(rows), dbeta = dy.sum(rows);
    Tensor dx = of_channels(gamma) * inverse *
                (dy - dy.mean(rows, true) - xhat * (dy * xhat).mean(rows, true));
    return {dx, dgamma, dbeta};
}

// The running statistics take no gradient, as in PyTorch.
Tensor batch_norm_eval(const Tensor &x, const Tensor &gamma, const Tensor &beta, const Tensor &mean,
                       const Tensor &var, double eps) {
    auto rule = [eps](const Derivative &node, const variable_list &dys, const variable_list &s) {
        const std::array<int64_t, 2> rows{0, 2};
        const Tensor &dy = dys[0], &x = s[0];
        Tensor inverse = of_channels((s[3] + eps).rsqrt());
        auto grads = gradients(
            node, [&] { return dy * (of_channels(s[1]) * inverse); },
            [&] { return (dy * (x - of_channels(s[2])) * inverse).sum(rows); },
            [&] { return dy.sum(rows); });
        grads.resize(5);
        return grads;
    };
    return differentiable<op::batch_norm_eval>({x, gamma, mean, var}, {}, rule, x, gamma, beta,
                                               mean, var, eps);
}

// ---- updates ------------------------------------------------------------------------------------

// A leaf that requires a gradient is not updated while PyTorch records, as with its own operations.
void written(const Tensor &t) { torch::autograd::check_inplace(t, true); }
void written(const OptionalTensor &t) {
    if (t) written(*t);
}
void changed(const Tensor &t) { t.unsafeGetTensorImpl()->bump_version(); }
void changed(const OptionalTensor &t) {
    if (t) changed(*t);
}

void sgd_step(const Tensor &w, const OptionalTensor &velocity, const Tensor &dw, double lr,
              double momentum, double weight_decay, bool nesterov) {
    written(w), written(velocity);
    at::AutoDispatchBelowAutograd guard;
    call<op::sgd_step>(w, velocity, dw, lr, momentum, weight_decay, nesterov);
}
void sgd_step_changes(const Tensor &w, const OptionalTensor &velocity, const Tensor &dw, double lr,
                      double momentum, double weight_decay, bool nesterov) {
    {
        at::AutoDispatchBelowADInplaceOrView guard;
        call<op::sgd_step>(w, velocity, dw, lr, momentum, weight_decay, nesterov);
    }
    changed(w), changed(velocity);
}

void adam_step(const Tensor &w, const Tensor &m, const Tensor &v, const Tensor &dw, int64_t index,
               double lr, double beta1, double beta2, double eps, double weight_decay) {
    written(w), written(m), written(v);
    at::AutoDispatchBelowAutograd guard;
    call<op::adam_step>(w, m, v, dw, index, lr, beta1, beta2, eps, weight_decay);
}
void adam_step_changes(const Tensor &w, const Tensor &m, const Tensor &v, const Tensor &dw,
                       int64_t index, double lr, double beta1, double beta2, double eps,
                       double weight_decay) {
    {
        at::AutoDispatchBelowADInplaceOrView guard;
        call<op::adam_step>(w, m, v, dw, index, lr, beta1, beta2, eps, weight_decay);
    }
    changed(w), changed(m), changed(v);
}

} // namespace

TORCH_LIBRARY_IMPL(gradlab_cpp, Autograd, m) {
    m.impl("batch_norm", TORCH_FN(batch_norm));
    m.impl("batch_norm_backward", TORCH_FN(batch_norm_backward));
    m.impl("batch_norm_eval", TORCH_FN(batch_norm_eval));
    m.impl("sgd_step", TORCH_FN(sgd_step));
    m.impl("adam_step", TORCH_FN(adam_step));
}

TORCH_LIBRARY_IMPL(gradlab_cpp, ADInplaceOrView, m) {
    m.impl("sgd_step", TORCH_FN(sgd_step_changes));
    m.impl("adam_step", TORCH_FN(adam_step_changes));
}

} // namespace gradlab
