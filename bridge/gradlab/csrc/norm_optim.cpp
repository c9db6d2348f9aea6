// norm_optim.cpp: batch norm, and the steps of optimisers, as kernels of PyTorch operators.
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "operators.h"
#include "tl_library.h"

namespace gradlab {
namespace {

tl_batchnorm_geom geometry(const Tensor &x, double eps, double momentum) {
    return {fit(x.size(0)), fit(x.size(1)), fit(x.size(2)), eps, momentum};
}

// The running statistics come back as new tensors, so that the operator has no side effect.
Five batch_norm(const Tensor &x_, const Tensor &gamma_, const Tensor &beta_,
                const Tensor &running_mean, const Tensor &running_var, double eps,
                double momentum) {
    check_batch_norm<int64_t>("batch_norm", x_, true,
                              {{"weight", &gamma_},
                               {"bias", &beta_},
                               {"running_mean", &running_mean},
                               {"running_var", &running_var}});
    Tensor x = x_.contiguous(), gamma = gamma_.contiguous(), beta = beta_.contiguous();
    Tensor y = at::empty(x.sizes(), x.options()), mean = zeros(gamma.sizes(), x.options());
    Tensor inv_std = zeros(gamma.sizes(), x.options());
    Tensor new_mean = running_mean.clone(at::MemoryFormat::Contiguous);
    Tensor new_var = running_var.clone(at::MemoryFormat::Contiguous);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "batch_norm", [&] {
        if (x.numel() == 0) return;
        Session<scalar_t> s(x);
        tl_batchnorm_geom g = geometry(x, eps, momentum);
        s.need(s.tl.batchnorm_fwd(s.ctx, out<scalar_t>(y), out<scalar_t>(mean),
                                  out<scalar_t>(inv_std), out<scalar_t>(new_mean),
                                  out<scalar_t>(new_var), in<scalar_t>(x), in<scalar_t>(gamma),
                                  in<scalar_t>(beta), &g));
    });
    return {y, mean, inv_std, new_mean, new_var};
}

Three batch_norm_backward(const Tensor &dy_, const Tensor &x_, const Tensor &gamma_,
                          const Tensor &mean_, const Tensor &inv_std_) {
    check_batch_norm<int64_t>("batch_norm_backward", x_, false,
                              {{"weight", &gamma_}, {"mean", &mean_}, {"inv_std", &inv_std_}});
    check_same_size<int64_t>("batch_norm_backward", "dy", dy_, x_);
    Tensor dy = dy_.contiguous(), x = x_.contiguous(), gamma = gamma_.contiguous();
    Tensor mean = mean_.contiguous(), inv_std = inv_std_.contiguous();
    Tensor dx = zeros(x.sizes(), x.options());
    Tensor dgamma = zeros(gamma.sizes(), x.options());
    Tensor dbeta = zeros(gamma.sizes(), x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "batch_norm_backward", [&] {
        if (x.numel() == 0) return;
        Session<scalar_t> s(x);
        tl_batchnorm_geom g = geometry(x, 0, 0);
        s.need(s.tl.batchnorm_bwd(
            s.ctx, out<scalar_t>(dx), out<scalar_t>(dgamma), out<scalar_t>(dbeta), in<scalar_t>(dy),
            in<scalar_t>(x), in<scalar_t>(gamma), in<scalar_t>(mean), in<scalar_t>(inv_std), &g));
    });
    return {dx, dgamma, dbeta};
}

Tensor batch_norm_eval(const Tensor &x_, const Tensor &gamma_, const Tensor &beta_,
                       const Tensor &mean_, const Tensor &var_, double eps) {
    check_batch_norm<int64_t>(
        "batch_norm_eval", x_, false,
        {{"weight", &gamma_}, {"bias", &beta_}, {"running_mean", &mean_}, {"running_var", &var_}});
    Tensor x = x_.contiguous(), gamma = gamma_.contiguous(), beta = beta_.contiguous();
    Tensor mean = mean_.contiguous(), var = var_.contiguous();
    Tensor y = at::empty(x.sizes(), x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "batch_norm_eval", [&] {
        if (x.numel() == 0) return;
        Session<scalar_t> s(x);
        tl_batchnorm_geom g = geometry(x, eps, 0);
        s.need(s.tl.batchnorm_eval(s.ctx, out<scalar_t>(y), in<scalar_t>(x), in<scalar_t>(gamma),
                                   in<scalar_t>(beta), in<scalar_t>(mean), in<scalar_t>(var), &g));
    });
    return y;
}

// ---- optimisers ---------------------------------------------------------------------------------

// A tensor that is updated: where it is not contiguous, a copy is, and goes back at the end.
class Updated {
  public:
    explicit Updated(const Tensor &t) : place(t), value(t.contiguous()) {}
    template <class Real> Real *data() const { return out<Real>(value); }
    void done() const {
        if (!value.is_same(place)) place.copy_(value);
    }

  private:
    Tensor place, value;
};

void sgd_step(const Tensor &w_, const OptionalTensor &velocity_, const Tensor &dw_, double lr,
              double momentum, double weight_decay, bool nesterov) {
    check_supported("sgd_step", "w", w_);
    check_same_size<int64_t>("sgd_step", "dw", dw_, w_);
    if (velocity_) check_same_size<int64_t>("sgd_step", "velocity", *velocity_, w_);
    TORCH_CHECK(velocity_ || momentum == 0, "sgd_step(): momentum needs a velocity");
    Tensor dw = dw_.contiguous();
    Updated w(w_), velocity(velocity_ ? *velocity_ : w_);
    AT_DISPATCH_FLOATING_TYPES(w_.scalar_type(), "sgd_step", [&] {
        if (dw.numel() == 0) return;
        Session<scalar_t> s(dw);
        tl_step step{};
        step.lr = lr;
        s.need(s.tl.tl_device_set_step(s.ctx, &step));
        tl_sgd_options options{momentum, weight_decay, nesterov};
        scalar_t *v = velocity_ ? velocity.data<scalar_t>() : nullptr;
        s.need(s.tl.sgd_step(s.ctx, w.data<scalar_t>(), v, in<scalar_t>(dw), dw.numel(),
                             s.ctx->step, &options));
    });
    w.done();
    if (velocity_) velocity.done();
}

void adam_step(const Tensor &w_, const Tensor &m_, const Tensor &v_, const Tensor &dw_,
               int64_t index, double lr, double beta1, double beta2, double eps,
               double weight_decay) {
    check_supported("adam_step", "w", w_);
    check_same_size<int64_t>("adam_step", "dw", dw_, w_);
    check_same_size<int64_t>("adam_step", "m", m_, w_);
    check_same_size<int64_t>("adam_step", "v", v_, w_);
    TORCH_CHECK(index >= 0, "adam_step(): index is counted from 0, but got ", index);
    Tensor dw = dw_.contiguous();
    Updated w(w_), m(m_), v(v_);
    AT_DISPATCH_FLOATING_TYPES(w_.scalar_type(), "adam_step", [&] {
        if (dw.numel() == 0) return;
        Session<scalar_t> s(dw);
        tl_step step{};
        step.index = static_cast<uint64_t>(index);
        step.lr = lr;
        s.need(s.tl.tl_device_set_step(s.ctx, &step));
        tl_adam_options options{beta1, beta2, eps, weight_decay};
        s.need(s.tl.adam_step(s.ctx, w.data<scalar_t>(), m.data<scalar_t>(), v.data<scalar_t>(),
                              in<scalar_t>(dw), dw.numel(), s.ctx->step, &options));
    });
    w.done(), m.done(), v.done();
}

void implement(torch::Library &m) {
    m.impl("batch_norm", TORCH_FN(batch_norm));
    m.impl("batch_norm_backward", TORCH_FN(batch_norm_backward));
    m.impl("batch_norm_eval", TORCH_FN(batch_norm_eval));
    m.impl("sgd_step", TORCH_FN(sgd_step));
    m.impl("adam_step", TORCH_FN(adam_step));
}

} // namespace

TORCH_LIBRARY_IMPL(gradlab_cpp, CPU, m) { implement(m); }
TORCH_LIBRARY_IMPL(gradlab_cpp, CUDA, m) { implement(m); }

} // namespace gradlab
