// tl_library.cpp: opens libtl.so in both precisions, and keeps contexts for threads.
#include "tl_library.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace gradlab {
namespace {

template <class Real> Library<Real> &the_library() {
    static Library<Real> library;
    return library;
}

template <class Function>
void find(Function &function, void *handle, const char *name, const std::string &path) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    TORCH_CHECK(function, "gradlab: ", path, " is no libtl.so: it has no ", name);
}

template <class Real> void open(const std::string &path) {
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    TORCH_CHECK(handle, "gradlab: ", path, " cannot be loaded: ", dlerror());
    Library<Real> made;
    find(made.tl_abi, handle, "tl_abi", path);
    find(made.tl_real_bytes, handle, "tl_real_bytes", path);
    TORCH_CHECK(made.tl_abi() == TL_ABI, "gradlab: ", path, " has version ", made.tl_abi(),
                " of the C interface, and this extension was built for version ",
                static_cast<int>(TL_ABI));
    TORCH_CHECK(made.tl_real_bytes() == sizeof(Real), "gradlab: ", path,
                " computes with numbers of ", made.tl_real_bytes(), " bytes, and ",
                sizeof(Real) == 4 ? "float32" : "float64", " has ", sizeof(Real),
                ": it is the other precision");
#define FIND(name) find(made.name, handle, #name, path);
    GRADLAB_FUNCTIONS(FIND)
#undef FIND
#define OP(name, lab, flops, ...) find(made.name, handle, "tl_" #name, path);
#include "tl/ops.def"
    the_library<Real>() = made;
}

// ---- contexts -----------------------------------------------------------------------------------

// A context serves one thread at a time. A thread that ends leaves its contexts to later ones: they
// are never closed, for at the end of a process the driver below them may be gone first.
struct Open {
    size_t real_bytes;
    at::Device device;
    void *stream;
    tl_ctx *ctx;
};

std::mutex left_mutex;
std::vector<Open> *left = new std::vector<Open>; // by threads that ended

// Behind a fork nothing of the parent's contexts is of use: a thread pool does not survive it, nor
// does a GPU's driver.
std::atomic<int> forks{0};
void forget_all() {
    forks++;
    left = new std::vector<Open>;
    new (&left_mutex) std::mutex;
}

struct Contexts {
    std::vector<Open> open;
    int of_fork = forks;
    ~Contexts() {
        if (of_fork != forks) return;
        std::lock_guard<std::mutex> lock(left_mutex);
        left->insert(left->end(), open.begin(), open.end());
    }
};

bool take_left(Open &wanted) {
    std::lock_guard<std::mutex> lock(left_mutex);
    for (Open &o : *left)
        if (o.real_bytes == wanted.real_bytes && o.device == wanted.device &&
            o.stream == wanted.stream) {
            wanted = o;
            o = left->back();
            left->pop_back();
            return true;
        }
    return false;
}

template <class Real> tl_ctx *open_context(const at::Device &device, void *stream) {
    const Library<Real> &tl = library<Real>();
    TORCH_CHECK(tl.tl_device_open_with, "gradlab: the libraries are not loaded; import gradlab");
    tl_device_options options{};
    options.threads = 1;
    if (!device.is_cpu()) {
        options.index = device.index();
        options.borrow_stream = true;
        options.stream = stream;
    }
    tl_ctx *ctx = nullptr;
    tl_status status = tl.tl_device_open_with(&ctx, device.is_cpu() ? "cpu" : "cuda", &options);
    TORCH_CHECK(status == TL_OK, "gradlab: ", device, ": ", tl.tl_error());
    return ctx;
}

template <class Real> tl_ctx *context(const at::Device &device, void *stream) {
    static thread_local Contexts contexts;
    if (contexts.of_fork != forks) {
        contexts.open.clear();
        contexts.of_fork = forks;
    }
    for (const Open &o : contexts.open)
        if (o.real_bytes == sizeof(Real) && o.device == device && o.stream == stream) return o.ctx;
    Open made{sizeof(Real), device, stream, nullptr};
    if (!take_left(made)) made.ctx = open_context<Real>(device, stream);
    contexts.open.push_back(made);
    return made.ctx;
}

void *current_stream(const at::Device &device) {
    return c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
}

} // namespace

void load(const std::string &float_path, const std::string &double_path) {
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget_all); });
    open<float>(float_path);
    open<double>(double_path);
}

template <class Real> const Library<Real> &library() { return the_library<Real>(); }

constexpr int MOST_THREADS = 1024; // that tl takes

template <class Real>
Session<Real>::Session(const at::Tensor &tensor) : tl(library<Real>()), ctx(nullptr) {
    at::Device device = tensor.device();
    if (device.is_cpu()) {
        ctx = context<Real>(device, nullptr);
        int threads = forks ? 1 : std::min(at::get_num_threads(), MOST_THREADS);
        if (ctx->threads != threads) need(tl.tl_device_set_threads(ctx, threads));
        return;
    }
    guard.reset_device(device);
    ctx = context<Real>(device, current_stream(device));
}

template <class Real> void Session<Real>::fail(tl_status status) const {
    TORCH_CHECK_NOT_IMPLEMENTED(status != TL_ENOTIMPL, tl.tl_error());
    TORCH_CHECK_WITH(OutOfMemoryError, status != TL_ENOMEM, tl.tl_error());
    TORCH_CHECK(false, tl.tl_error());
}

template const Library<float> &library<float>();
template const Library<double> &library<double>();
template class Session<float>;
template class Session<double>;

template <class Real> void clear(const at::Tensor &t) {
    Session<Real> s(t);
    s.need(s.ctx->ops->zero(s.ctx, t.mutable_data_ptr(), t.nbytes()));
}

at::Tensor zeros(at::IntArrayRef size, const at::TensorOptions &options) {
    at::Tensor t = at::empty(size, options);
    if (t.numel() > 0) t.scalar_type() == at::kFloat ? clear<float>(t) : clear<double>(t);
    return t;
}

// ---- scratch ------------------------------------------------------------------------------------

// Scratch of the cpu up to this size stays with its thread: a convolution asks for the columns of a
// batch, and fresh pages of the system would cost more than the kernels that touch a few of them.
constexpr size_t KEPT_BYTES = 16 << 20, ALIGNMENT = 256;

Work::Work(const at::Tensor &like, size_t bytes) : pointer(nullptr) {
    struct Free {
        void operator()(void *block) const { std::free(block); }
    };
    static thread_local std::unique_ptr<void, Free> kept;
    static thread_local size_t kept_bytes = 0;
    if (!like.is_cpu() || bytes > KEPT_BYTES) {
        int64_t size = static_cast<int64_t>(bytes + ALIGNMENT);
        owner = at::empty({size}, like.options().dtype(at::kByte));
        auto address = reinterpret_cast<uintptr_t>(owner.mutable_data_ptr());
        pointer = reinterpret_cast<void *>((address + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        return;
    }
    if (bytes > kept_bytes) {
        size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        kept.reset();
        kept_bytes = 0;
        kept.reset(std::aligned_alloc(ALIGNMENT, rounded));
        TORCH_CHECK_WITH(OutOfMemoryError, kept, "gradlab: no memory for ", rounded,
                         " bytes of scratch");
        kept_bytes = rounded;
    }
    pointer = kept.get();
}

} // namespace gradlab
