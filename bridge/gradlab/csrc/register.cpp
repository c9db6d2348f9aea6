// register.cpp: namespace gradlab_cpp: schemas, what loads the libraries, and autocast.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "operators.h"
#include "tl_library.h"

namespace gradlab {
namespace {

// Under autocast operators run in float32: tl has no kernels of fewer bits.
Tensor cast(const Tensor &t) { return at::autocast::cached_cast(at::kFloat, t, t.device().type()); }
OptionalTensor cast(const OptionalTensor &t) { return t ? OptionalTensor(cast(*t)) : t; }
template <class Value> const Value &cast(const Value &value) { return value; }

template <class Op, class Signature = typename Op::Signature> struct Autocast;
template <class Op, class Result, class... Arguments> struct Autocast<Op, Result(Arguments...)> {
    static Result run(Arguments... arguments) {
        c10::impl::ExcludeDispatchKeyGuard guard(c10::autocast_dispatch_keyset);
        return call<Op>(cast(arguments)...);
    }
};

void autocast(torch::Library &m) {
#define GRADLAB_AUTOCAST(name, ...) m.impl(#name, TORCH_FN(Autocast<op::name>::run));
    GRADLAB_OPERATORS(GRADLAB_AUTOCAST)
#undef GRADLAB_AUTOCAST
}

} // namespace

TORCH_LIBRARY(gradlab, m) { m.def("load(str float_path, str double_path) -> ()", &load); }

TORCH_LIBRARY(gradlab_cpp, m) {
#define GRADLAB_SCHEMA(name, result, arguments, schema)                                            \
    m.def(#name schema, {at::Tag::pt2_compliant_tag});
    GRADLAB_OPERATORS(GRADLAB_SCHEMA)
    GRADLAB_UPDATES(GRADLAB_SCHEMA)
#undef GRADLAB_SCHEMA
}
TORCH_LIBRARY_IMPL(gradlab_cpp, AutocastCPU, m) { autocast(m); }
TORCH_LIBRARY_IMPL(gradlab_cpp, AutocastCUDA, m) { autocast(m); }

} // namespace gradlab
