/* mma.h: nvcuda::wmma: products of small matrices by a warp. Each lane holds a part of a matrix;
 * the runtime multiplies when all 32 have come (runtime/warp.c), exactly, and rounds once. Which
 * lane holds which element CUDA leaves open. Here operands come by 16 bytes of neighbouring lines,
 * as GPUs load them (ldmatrix), so that bank conflicts are counted where those have some. */
#ifndef HOSTCUDA_MMA_H
#define HOSTCUDA_MMA_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {

struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
namespace precision {
struct tf32 {};
} // namespace precision
enum layout_t { mem_row_major, mem_col_major };

/* What a fragment's element is kept as, and its value in a product. A tf32 has 10 bits of fraction:
 * the others are not looked at. */
template <class T> struct hc_element {
    typedef T kept;
    static double value(T x) { return (double)x; }
};
template <> struct hc_element<__half> {
    typedef __half kept;
    static double value(__half x) { return x.f(); }
};
template <> struct hc_element<__nv_bfloat16> {
    typedef __nv_bfloat16 kept;
    static double value(__nv_bfloat16 x) { return x.f(); }
};
template <> struct hc_element<precision::tf32> {
    typedef float kept;
    static double value(float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000u); }
};

/* Rounds to tf32, the nearest; ties away from 0. */
inline float __float_to_tf32(float x) {
    unsigned bits = __float_as_uint(x);
    return isfinite(x) ? __uint_as_float((bits + 0x1000) & 0xffffe000u) : x;
}

/* The products that tensor cores have, by their shape and the type of A and B. */
template <class T> constexpr bool hc_is_shape(int m, int n, int k) {
    if (std::is_same_v<T, double>) return m == 8 && n == 8 && k == 4;
    if (std::is_same_v<T, precision::tf32>) return m == 16 && n == 16 && k == 8;
    return k == 16 && m * n == 256 && (m == 8 || m == 16 || m == 32);
}
template <class T, class C> constexpr bool hc_is_product() {
    if (std::is_same_v<T, double>) return std::is_same_v<C, double>;
    if (std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>)
        return std::is_same_v<C, int>;
    bool is_half = std::is_same_v<T, __half>;
    if (is_half || std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, precision::tf32>)
        return std::is_same_v<C, float> || (is_half && std::is_same_v<C, __half>);
    return false;
}

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    static_assert(std::is_same_v<Use, accumulator> || hc_is_shape<T>(M, N, K),
                  "this shape of a wmma product is not supported by hostcuda");
    typedef typename hc_element<T>::kept element_type;
    typedef element_type storage_element_type;
    static constexpr int rows = std::is_same_v<Use, matrix_b> ? K : M;
    static constexpr int columns = std::is_same_v<Use, matrix_a> ? K : N;
    static constexpr bool by_columns = std::is_same_v<Layout, col_major>;
    static constexpr int lines = by_columns ? columns : rows, length = rows * columns / lines;
    static constexpr int most = (int)(16 / sizeof(element_type));
    static constexpr int piece = std::is_void_v<Layout> || length < most ? length : most;
    static constexpr int num_elements = rows * columns / 32, num_storage_elements = num_elements;
    element_type x[num_elements];

    /* An element's: slot * 32 + lane. */
    static constexpr int number(int line, int along) {
        return (along / piece * lines + line) * piece + along % piece;
    }
    /* where the elements lie, row by row (hc_mma) */
    struct places {
        uint16_t at[rows * columns];
        constexpr places() : at() {
            for (int i = 0; i < rows * columns; i++)
                at[i] = (uint16_t)(by_columns ? number(i % columns, i / columns)
                                              : number(i / columns, i % columns));
        }
    };
    static constexpr places place = places();

    static int number(int slot) {
        unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        return slot * 32 + (int)(thread % 32);
    }
    static int line(int slot) { return number(slot) / piece % lines; }
    static int along(int slot) {
        return number(slot) / piece / lines * piece + number(slot) % piece;
    }
    static int row(int slot) { return by_columns ? along(slot) : line(slot); }
    static int column(int slot) { return by_columns ? line(slot) : along(slot); }
};

inline void hc_meet(const char *file, int line) { hc_warp(HC_MMA, ~0u, 0, 0, 32, file, line); }

template <class Use, int M, int N, int K, class T, class Layout, class V>
__forceinline__ void fill_fragment(fragment<Use, M, N, K, T, Layout> &f, const V &value) {
    for (int i = 0; i < f.num_elements; i++)
        f.x[i] = (typename fragment<Use, M, N, K, T, Layout>::element_type)value;
}

template <class F, class V>
__forceinline__ void hc_load(F &f, const V *p, unsigned leading, bool by_columns, const char *file,
                             int line) {
    hc_warp_aligned(p, leading * sizeof(V), file, line);
    hc_meet(file, line);
    for (int i = 0; i < F::num_elements; i++) {
        size_t row = (size_t)F::row(i), column = (size_t)F::column(i);
        f.x[i] = by_columns ? p[column * leading + row] : p[row * leading + column];
    }
}
template <class Use, int M, int N, int K, class T, class Layout>
__forceinline__ void load_matrix_sync(fragment<Use, M, N, K, T, Layout> &f,
                                      const typename hc_element<T>::kept *p, unsigned leading,
                                      HC_HERE) {
    static_assert(!std::is_void_v<Layout>, "an accumulator is loaded with its layout");
    hc_load(f, p, leading, f.by_columns, hc_file, hc_line);
}
template <int M, int N, int K, class T>
__forceinline__ void load_matrix_sync(fragment<accumulator, M, N, K, T> &f, const T *p,
                                      unsigned leading, layout_t layout, HC_HERE) {
    hc_load(f, p, leading, layout == mem_col_major, hc_file, hc_line);
}

template <int M, int N, int K, class T>
__forceinline__ void store_matrix_sync(T *p, const fragment<accumulator, M, N, K, T> &f,
                                       unsigned leading, layout_t layout, HC_HERE) {
    typedef fragment<accumulator, M, N, K, T> F;
    hc_warp_aligned(p, leading * sizeof(T), hc_file, hc_line);
    hc_meet(hc_file, hc_line);
    for (int i = 0; i < F::num_elements; i++) {
        size_t row = (size_t)F::row(i), column = (size_t)F::column(i);
        p[layout == mem_col_major ? column * leading + row : row * leading + column] = f.x[i];
    }
}

template <class T> T hc_rounded(double value, bool saturates) {
    if constexpr (!std::is_same_v<T, int>) return T(value);
    if (saturates)
        return value > 2147483647.0 ? 2147483647 : value < -2147483648.0 ? INT32_MIN : (int)value;
    return (int)(unsigned)(long long)value;
}

template <int M, int N, int K, class T, class A, class B, class C, class D>
void mma_sync(fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, T, A> &a,
              const fragment<matrix_b, M, N, K, T, B> &b,
              const fragment<accumulator, M, N, K, C> &c, bool saturates = false, HC_HERE) {
    static_assert(hc_is_product<T, C>() && hc_is_product<T, D>(),
                  "wmma of these types is not supported by hostcuda");
    double in_a[M * K / 32], in_b[K * N / 32], in_c[M * N / 32], out[M * N / 32];
    for (int i = 0; i < a.num_elements; i++) in_a[i] = hc_element<T>::value(a.x[i]);
    for (int i = 0; i < b.num_elements; i++) in_b[i] = hc_element<T>::value(b.x[i]);
    for (int i = 0; i < c.num_elements; i++) in_c[i] = hc_element<C>::value(c.x[i]);
    hc_mma mine = {M, N, K, a.place.at, b.place.at, c.place.at, in_a, in_b, in_c, out};
    hc_warp(HC_MMA, ~0u, (uint64_t)(uintptr_t)&mine, 0, 32, hc_file, hc_line);
    for (int i = 0; i < d.num_elements; i++) d.x[i] = hc_rounded<D>(out[i], saturates);
}

} // namespace wmma
} // namespace nvcuda
#endif
