// textures.cu: arrays and texture objects: filtering, what lies outside, kinds of elements.
#include "cases.h"

// A picture of 8 x 4 floats, 10 y + x, in an array.
static cudaArray_t picture() {
    float host[4][8];
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 8; x++) host[y][x] = 10.0f * y + x;
    cudaArray_t array = nullptr;
    auto format = cudaCreateChannelDesc<float>();
    EXPECT(cudaMallocArray(&array, &format, 8, 4) == cudaSuccess);
    EXPECT(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host[0], sizeof host[0], 4,
                               cudaMemcpyHostToDevice) == cudaSuccess);
    return array;
}
static cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureAddressMode mode,
                                      cudaTextureFilterMode filter, bool normalized) {
    cudaResourceDesc from = {};
    from.resType = cudaResourceTypeArray;
    from.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = mode;
    how.filterMode = filter;
    how.readMode = cudaReadModeElementType;
    how.normalizedCoords = normalized;
    cudaTextureObject_t texture = 0;
    EXPECT(cudaCreateTextureObject(&texture, &from, &how, nullptr) == cudaSuccess);
    return texture;
}

__global__ void look(float *out, cudaTextureObject_t texture, const float2 *at, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex2D<float>(texture, at[i].x, at[i].y);
}
static std::vector<float> seen(cudaTextureObject_t texture, const std::vector<float2> &at) {
    int n = (int)at.size();
    float2 *places;
    cudaMalloc(&places, n * sizeof *places);
    cudaMemcpy(places, at.data(), n * sizeof *places, cudaMemcpyHostToDevice);
    float *out = device_count<float>(n);
    look<<<1, 32>>>(out, texture, places, n);
    auto h = to_host(out, n);
    cudaFree(places), cudaFree(out);
    return h;
}
RIGHT(texture_points) {
    cudaArray_t array = picture();
    auto clamped = texture_of(array, cudaAddressModeClamp, cudaFilterModePoint, false);
    auto h = seen(clamped, {{2.5f, 1.5f}, {2.0f, 1.99f}, {-3, 2}, {100, 100}});
    EXPECT(h[0] == 12 && h[1] == 12 && h[2] == 20 && h[3] == 37);
    auto bordered = texture_of(array, cudaAddressModeBorder, cudaFilterModePoint, false);
    h = seen(bordered, {{7.5f, 3.5f}, {8.5f, 1.5f}, {1.5f, -0.5f}});
    EXPECT(h[0] == 37 && h[1] == 0 && h[2] == 0);
    auto wrapped = texture_of(array, cudaAddressModeWrap, cudaFilterModePoint, true);
    h = seen(wrapped, {{1.0625f, 0.125f}, {-0.0625f, 0.375f}});
    EXPECT(h[0] == 0 && h[1] == 17);
    auto mirrored = texture_of(array, cudaAddressModeMirror, cudaFilterModePoint, true);
    h = seen(mirrored, {{1.0625f, 0.125f}, {-0.0625f, 0.375f}});
    EXPECT(h[0] == 7 && h[1] == 10);
    cudaDestroyTextureObject(clamped), cudaDestroyTextureObject(bordered);
    cudaDestroyTextureObject(wrapped), cudaDestroyTextureObject(mirrored);
    cudaFreeArray(array);
}
RIGHT(texture_filter) {
    cudaArray_t array = picture();
    auto texture = texture_of(array, cudaAddressModeClamp, cudaFilterModeLinear, false);
    auto h = seen(texture, {{2.5f, 1.5f}, {3.0f, 1.5f}, {2.75f, 2.0f}, {0, 0}});
    EXPECT(h[0] == 12 && h[1] == 12.5f && h[2] == 17.25f && h[3] == 0);
    auto border = texture_of(array, cudaAddressModeBorder, cudaFilterModeLinear, true);
    h = seen(border, {{1, 0.375f}, {0.5f, 0.5f}});
    EXPECT(h[0] == 8.5f && h[1] == 18.5f);
    cudaDestroyTextureObject(texture), cudaDestroyTextureObject(border);
    cudaFreeArray(array);
}

// Bytes become floats from 0 to 1, or from -1 to 1; two rows of a pitched picture of pairs.
__global__ void fractions(float4 *out, short2 *pair, cudaTextureObject_t bytes,
                          cudaTextureObject_t pairs) {
    out[threadIdx.x] = tex1D<float4>(bytes, threadIdx.x + 0.5f);
    pair[threadIdx.x] = tex2D<short2>(pairs, threadIdx.x + 0.5f, 1.5f);
}
RIGHT(texture_elements) {
    const uchar4 colours[2] = {{0, 51, 102, 255}, {255, 0, 153, 204}};
    const short2 rows[2][2] = {{{1, 2}, {3, 4}}, {{-5, 6}, {7, -8}}};
    cudaArray_t array;
    auto format = cudaCreateChannelDesc<uchar4>();
    cudaMallocArray(&array, &format, 2);
    cudaMemcpy2DToArray(array, 0, 0, colours, sizeof colours, sizeof colours, 1,
                        cudaMemcpyHostToDevice);
    short2 *pitched, *pair;
    size_t pitch;
    cudaMallocPitch(&pitched, &pitch, sizeof rows[0], 2);
    cudaMemcpy2D(pitched, pitch, rows, sizeof rows[0], sizeof rows[0], 2, cudaMemcpyHostToDevice);
    cudaResourceDesc from = {};
    cudaTextureDesc how = {};
    from.resType = cudaResourceTypeArray;
    from.res.array.array = array;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.readMode = cudaReadModeNormalizedFloat;
    cudaTextureObject_t bytes, pairs;
    EXPECT(cudaCreateTextureObject(&bytes, &from, &how, NULL) == cudaSuccess);
    from.resType = cudaResourceTypePitch2D;
    from.res.pitch2D.devPtr = pitched;
    from.res.pitch2D.desc = cudaCreateChannelDesc<short2>();
    from.res.pitch2D.width = from.res.pitch2D.height = 2;
    from.res.pitch2D.pitchInBytes = pitch;
    how.readMode = cudaReadModeElementType;
    EXPECT(cudaCreateTextureObject(&pairs, &from, &how, NULL) == cudaSuccess);
    float4 *out;
    cudaMalloc(&out, 2 * sizeof *out), cudaMalloc(&pair, 2 * sizeof *pair);
    fractions<<<1, 2>>>(out, pair, bytes, pairs);
    float4 f[2];
    short2 p[2];
    cudaMemcpy(f, out, sizeof f, cudaMemcpyDeviceToHost);
    cudaMemcpy(p, pair, sizeof p, cudaMemcpyDeviceToHost);
    EXPECT(f[0].x == 0 && f[0].w == 1 && fabsf(f[0].y - 0.2f) < 1e-6f && f[1].x == 1);
    EXPECT(p[0].x == -5 && p[0].y == 6 && p[1].x == 7 && p[1].y == -8);
    cudaDestroyTextureObject(bytes), cudaDestroyTextureObject(pairs);
    cudaFree(out), cudaFree(pair), cudaFree(pitched), cudaFreeArray(array);
}

static cudaTextureObject_t linear_of(int *x, int n) {
    cudaResourceDesc from = {};
    from.resType = cudaResourceTypeLinear;
    from.res.linear.devPtr = x;
    from.res.linear.desc = cudaCreateChannelDesc<int>();
    from.res.linear.sizeInBytes = n * sizeof(int);
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture = 0;
    EXPECT(cudaCreateTextureObject(&texture, &from, &how, nullptr) == cudaSuccess);
    return texture;
}
__global__ void backwards(int *out, cudaTextureObject_t texture, int n) {
    out[threadIdx.x] = tex1Dfetch<int>(texture, n - 1 - (int)threadIdx.x);
}
RIGHT(texture_fetch) {
    int *x = device_count<int>(40), *out = device_count<int>(64), negative = -7;
    cudaMemcpy(x, &negative, sizeof negative, cudaMemcpyHostToDevice);
    auto texture = linear_of(x, 40);
    backwards<<<1, 64>>>(out, texture, 40);
    auto h = to_host(out, 64);
    for (int i = 0; i < 64; i++) EXPECT(h[i] == (i < 39 ? 39 - i : i == 39 ? -7 : 0));
    cudaDestroyTextureObject(texture);
    cudaFree(x), cudaFree(out);
}

__global__ void of_another_type(float *out, cudaTextureObject_t texture) {
    *out = tex1Dfetch<float>(texture, 3); // wrong texture_type: texture
}
WRONG(texture_type) {
    int *x = device_count<int>(8);
    float *out = device_count<float>(1);
    of_another_type<<<1, 1>>>(out, linear_of(x, 8));
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    cudaDeviceReset();
}
__global__ void of_none(int *out, cudaTextureObject_t texture) {
    *out = tex1Dfetch<int>(texture, 3); // wrong texture_gone: bad-handle
}
WRONG(texture_gone) {
    int *x = device_count<int>(8);
    auto texture = linear_of(x, 8);
    cudaDestroyTextureObject(texture);
    of_none<<<1, 1>>>(x, texture);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    cudaDeviceReset();
}
__global__ void of_freed(int *out, cudaTextureObject_t texture) {
    *out = tex1Dfetch<int>(texture, 3); // wrong texture_freed: use-after-free
}
WRONG(texture_freed) {
    int *x = device_count<int>(8), *out = device_count<int>(1);
    auto texture = linear_of(x, 8);
    cudaFree(x);
    of_freed<<<1, 1>>>(out, texture);
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
    cudaDeviceReset();
}
WRONG(texture_copy) {
    cudaArray_t array = picture();
    float host[40] = {};
    auto kind = cudaMemcpyHostToDevice;
    cudaMemcpy2DToArray(array, 0, 0, host, 32, 32, 5, kind); // wrong texture_copy: copy-size
    cudaGetLastError();
    cudaFreeArray(array);
}
WRONG(texture_filter_of_integers) {
    int *x = device_count<int>(8);
    cudaResourceDesc from = {};
    from.resType = cudaResourceTypeLinear;
    from.res.linear = {x, cudaCreateChannelDesc<int>(), 8 * sizeof(int)};
    cudaTextureDesc how = {};
    how.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t t;
    cudaCreateTextureObject(&t, &from, &how, NULL); // wrong texture_filter_of_integers: texture
    cudaGetLastError();
    cudaFree(x);
}
