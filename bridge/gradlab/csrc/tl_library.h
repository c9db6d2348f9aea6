// tl_library.h: libtl.so in both precisions, and the contexts that its operations run in.
//
// The two libraries export the same names, so they are opened by path, each for itself. The types
// of what they export are those of the installed headers: every operation is a row of tl/ops.def,
// and a row is read here with tl_real as a template's parameter.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include "tl/backend.h"
#include "tl/device.h"
#include "tl/version.h"

namespace gradlab {

// What both libraries offer under the same types.
#define GRADLAB_FUNCTIONS(F)                                                                       \
    F(tl_abi)                                                                                      \
    F(tl_real_bytes)                                                                               \
    F(tl_version)                                                                                  \
    F(tl_error)                                                                                    \
    F(tl_device_open_with)                                                                         \
    F(tl_device_set_threads)                                                                       \
    F(tl_device_set_step)                                                                          \
    F(tl_conv2d_check)                                                                             \
    F(tl_conv2d_work_bytes)                                                                        \
    F(tl_pool2d_check)                                                                             \
    F(tl_linear_check)

struct Functions {
#define GRADLAB_FIELD(name) decltype(&::name) name = nullptr;
    GRADLAB_FUNCTIONS(GRADLAB_FIELD)
#undef GRADLAB_FIELD
};

template <class tl_real> struct Library : Functions {
#define OP(name, lab, flops, ...)                                                                  \
    tl_status (*name)(tl_ctx * TL_EACH(TL_PARAM, __VA_ARGS__)) = nullptr;
#include "tl/ops.def"
};

// Opens both libraries; an error says which one cannot serve, and why.
void load(const std::string &float_path, const std::string &double_path);

template <class Real> const Library<Real> &library(); // Real is float or double

// Where the operations of one call run: the library of a precision, and this thread's context on
// the tensor's device and PyTorch's current stream of it. Lives as long as the call.
template <class Real> class Session {
  public:
    explicit Session(const at::Tensor &tensor);
    const Library<Real> &tl;
    tl_ctx *ctx;

    void need(tl_status status) const {
        if (C10_UNLIKELY(status != TL_OK)) fail(status);
    }

  private:
    [[noreturn]] void fail(tl_status status) const;
    c10::OptionalDeviceGuard guard; // GPUs
};

// Scratch on the device of a session, aligned to 256 bytes.
class Work {
  public:
    Work(const at::Tensor &like, size_t bytes);
    void *get() const { return pointer; }

  private:
    at::Tensor owner;
    void *pointer;
};

// Zeros to add to, made by tl: in a forked child PyTorch's own would wait without end for threads
// that are not there.
at::Tensor zeros(at::IntArrayRef size, const at::TensorOptions &options);

template <class Real> const Real *in(const at::Tensor &t) { return t.const_data_ptr<Real>(); }
template <class Real> Real *out(const at::Tensor &t) { return t.mutable_data_ptr<Real>(); }

} // namespace gradlab
