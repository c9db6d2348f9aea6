// convolutions.cuh: lab 5's convolution of 3x3 pixels by designs of each rung of its ladder, each
// as a case of sectors.cu, which includes this: what the limits of tl/conv3x3.h are made of.
//
// A design is named after the last rung that it reaches and what is its own: `pixels_32x8_by_4` has
// the pixels of a block of 32 x 8 places in shared memory, `tile_...` weights, too, and a thread
// keeps the sums of 4 output channels. Those of one rung differ in more than a constant where the
// claim has to accept both.

// ---- a block's places are a rectangle; PITCH: words from one row of the tile to the next ----

template <int WIDE, int HIGH, int CHANNELS, int PITCH, bool SHARED_WEIGHTS>
static __global__ void convolve_tile(tl_real *y, const tl_real *x, const tl_real *w,
                                     tl_conv3x3_geom g) {
    __shared__ tl_real pixel[HIGH + 2][PITCH], weight[CHANNELS][9];
    int across = (g.w - 1) / WIDE + 1, groups = (g.k - 1) / CHANNELS + 1;
    int left = (int)blockIdx.x % across * WIDE, top = (int)blockIdx.x / across * HIGH;
    int k0 = (int)blockIdx.y % groups * CHANNELS, image = (int)blockIdx.y / groups;
    int i = top + (int)threadIdx.y, j = left + (int)threadIdx.x;
    int thread = (int)(threadIdx.y * WIDE + threadIdx.x);
    size_t plane = (size_t)g.h * g.w;
    tl_real sum[CHANNELS] = {0};
    for (int c = 0; c < g.c; c++) {
        const tl_real *from = x + ((size_t)image * g.c + c) * plane;
        for (int t = thread; t < (HIGH + 2) * (WIDE + 2); t += WIDE * HIGH) {
            int p = top + t / (WIDE + 2) - 1, q = left + t % (WIDE + 2) - 1;
            bool inside = p >= 0 && p < g.h && q >= 0 && q < g.w;
            pixel[t / (WIDE + 2)][t % (WIDE + 2)] = inside ? from[(size_t)p * g.w + q] : TL_R(0);
        }
        for (int t = thread; SHARED_WEIGHTS && t < 9 * CHANNELS; t += WIDE * HIGH)
            if (k0 + t / 9 < g.k)
                weight[t / 9][t % 9] = w[((size_t)(k0 + t / 9) * g.c + c) * 9 + t % 9];
        __syncthreads();
        for (int k = 0; k < CHANNELS && k0 + k < g.k; k++)
            for (int t = 0; t < 9; t++)
                sum[k] +=
                    (SHARED_WEIGHTS ? weight[k][t] : w[((size_t)(k0 + k) * g.c + c) * 9 + t]) *
                    pixel[threadIdx.y + t / 3][threadIdx.x + t % 3];
        __syncthreads();
    }
    if (i >= g.h || j >= g.w) return;
    for (int k = 0; k < CHANNELS && k0 + k < g.k; k++)
        y[((size_t)image * g.k + k0 + k) * plane + (size_t)i * g.w + j] = sum[k];
}

template <int WIDE, int HIGH, int CHANNELS, int PITCH, bool SHARED_WEIGHTS>
static void convolve_by_tiles() {
    tl_conv3x3_geom g = geom_of_convolution;
    int tiles = ((g.w - 1) / WIDE + 1) * ((g.h - 1) / HIGH + 1);
    int groups = (g.k - 1) / CHANNELS + 1;
    dim3 grid((unsigned)tiles, (unsigned)(groups * g.n));
    convolve_tile<WIDE, HIGH, CHANNELS, PITCH, SHARED_WEIGHTS><<<grid, dim3(WIDE, HIGH)>>>(
        zeros((size_t)g.n * g.k * g.h * g.w), some((size_t)g.n * g.c * g.h * g.w),
        some((size_t)g.k * g.c * 9), g);
}

// ---- a block's places are whole rows, its threads along them; borders are asked about ----

// HIGH rows of the image and one more on each side, as they lie in memory: no rim to the left and
// right, so a warp that goes on in the next row reads on where it was.
template <int HIGH, int CHANNELS, bool SHARED_WEIGHTS>
static __global__ void convolve_rows(tl_real *y, const tl_real *x, const tl_real *w,
                                     tl_conv3x3_geom g) {
    extern __shared__ tl_real shared[]; // the rows, then the weights of all input channels
    tl_real *weight = shared + (HIGH + 2) * g.w;
    int groups = (g.k - 1) / CHANNELS + 1, top = (int)blockIdx.x * HIGH;
    int k0 = (int)blockIdx.y % groups * CHANNELS, image = (int)blockIdx.y / groups;
    int thread = (int)threadIdx.x, threads = (int)blockDim.x;
    int i = top + thread / g.w, j = thread % g.w,
        of_group = g.k - k0 < CHANNELS ? g.k - k0 : (int)CHANNELS;
    size_t plane = (size_t)g.h * g.w;
    tl_real sum[CHANNELS] = {0};
    for (int t = thread; SHARED_WEIGHTS && t < of_group * g.c * 9; t += threads)
        weight[t] = w[(size_t)k0 * g.c * 9 + t];
    for (int c = 0; c < g.c; c++) {
        const tl_real *from = x + ((size_t)image * g.c + c) * plane;
        for (int t = thread; t < (HIGH + 2) * g.w; t += threads) {
            int p = top + t / g.w - 1;
            shared[t] = p >= 0 && p < g.h ? from[(size_t)p * g.w + t % g.w] : TL_R(0);
        }
        __syncthreads();
        for (int t = 0; t < 9; t++) {
            int q = j + t % 3 - 1;
            if (q < 0 || q >= g.w) continue;
            tl_real value = shared[(thread / g.w + t / 3) * g.w + q];
            for (int k = 0; k < of_group; k++)
                sum[k] += (SHARED_WEIGHTS ? weight[(k * g.c + c) * 9 + t]
                                          : w[((size_t)(k0 + k) * g.c + c) * 9 + t]) *
                          value;
        }
        __syncthreads();
    }
    if (i >= g.h) return;
    for (int k = 0; k < of_group; k++)
        y[((size_t)image * g.k + k0 + k) * plane + (size_t)i * g.w + j] = sum[k];
}

template <int HIGH, int CHANNELS, bool SHARED_WEIGHTS> static void convolve_by_rows() {
    tl_conv3x3_geom g = geom_of_convolution;
    int groups = (g.k - 1) / CHANNELS + 1;
    dim3 grid((unsigned)((g.h - 1) / HIGH + 1), (unsigned)(groups * g.n));
    size_t bytes = sizeof(tl_real) * ((HIGH + 2) * (size_t)g.w + (size_t)CHANNELS * g.c * 9);
    convolve_rows<HIGH, CHANNELS, SHARED_WEIGHTS><<<grid, (unsigned)(HIGH * g.w), bytes>>>(
        zeros((size_t)g.n * g.k * g.h * g.w), some((size_t)g.n * g.c * g.h * g.w),
        some((size_t)g.k * g.c * 9), g);
}

// ---- without shared memory: a thread keeps the sums of several output channels ----

template <int CHANNELS>
static __global__ void convolve_directly(tl_real *y, const tl_real *x, const tl_real *w,
                                         tl_conv3x3_geom g) {
    int plane = g.h * g.w, place = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int groups = (g.k - 1) / CHANNELS + 1, k0 = (int)blockIdx.y % groups * CHANNELS;
    int image = (int)blockIdx.y / groups, i = place / g.w, j = place % g.w;
    if (place >= plane) return;
    tl_real sum[CHANNELS] = {0};
    for (int c = 0; c < g.c; c++) {
        const tl_real *from = x + ((size_t)image * g.c + c) * plane;
        for (int t = 0; t < 9; t++) {
            int p = i + t / 3 - 1, q = j + t % 3 - 1;
            bool inside = p >= 0 && p < g.h && q >= 0 && q < g.w;
            tl_real pixel = inside ? from[p * g.w + q] : TL_R(0);
            for (int k = 0; k < CHANNELS && k0 + k < g.k; k++)
                sum[k] += w[((size_t)(k0 + k) * g.c + c) * 9 + t] * pixel;
        }
    }
    for (int k = 0; k < CHANNELS && k0 + k < g.k; k++)
        y[((size_t)image * g.k + k0 + k) * plane + place] = sum[k];
}

template <int CHANNELS> static void convolve_by_places() {
    tl_conv3x3_geom g = geom_of_convolution;
    dim3 grid((unsigned)((g.h * g.w - 1) / 256 + 1), (unsigned)(((g.k - 1) / CHANNELS + 1) * g.n));
    convolve_directly<CHANNELS><<<grid, 256>>>(zeros((size_t)g.n * g.k * g.h * g.w),
                                               some((size_t)g.n * g.c * g.h * g.w),
                                               some((size_t)g.k * g.c * 9), g);
}

// ---- a thread has PLACES places, one below the other: what it read once serves all of them ----

// VECTORS: the weights of a filter are read in three groups of four (the last three are unused).
template <int HIGH, int PLACES, int CHANNELS, bool VECTORS>
static __global__ void convolve_places(tl_real *y, const tl_real *x, const tl_real *w,
                                       tl_conv3x3_geom g) {
    enum { WIDE = 32, FILTER = VECTORS ? 12 : 9 };
    __shared__ tl_real pixel[HIGH * PLACES + 2][WIDE + 2];
    __shared__ alignas(4 * sizeof(tl_real)) tl_real weight[CHANNELS][FILTER];
    int across = (g.w - 1) / WIDE + 1, groups = (g.k - 1) / CHANNELS + 1;
    int left = (int)blockIdx.x % across * WIDE, top = (int)blockIdx.x / across * HIGH * PLACES;
    int k0 = (int)blockIdx.y % groups * CHANNELS, image = (int)blockIdx.y / groups;
    int thread = (int)(threadIdx.y * WIDE + threadIdx.x);
    int channels = g.k - k0 < CHANNELS ? g.k - k0 : (int)CHANNELS;
    size_t plane = (size_t)g.h * g.w;
    tl_real sum[PLACES][CHANNELS] = {};
    for (int c = 0; c < g.c; c++) {
        const tl_real *from = x + ((size_t)image * g.c + c) * plane;
        for (int t = thread; t < (HIGH * PLACES + 2) * (WIDE + 2); t += WIDE * HIGH) {
            int p = top + t / (WIDE + 2) - 1, q = left + t % (WIDE + 2) - 1;
            bool inside = p >= 0 && p < g.h && q >= 0 && q < g.w;
            pixel[t / (WIDE + 2)][t % (WIDE + 2)] = inside ? from[(size_t)p * g.w + q] : TL_R(0);
        }
        for (int t = thread; t < FILTER * channels; t += WIDE * HIGH) {
            const tl_real *filter = w + ((size_t)(k0 + t / FILTER) * g.c + c) * 9;
            weight[t / FILTER][t % FILTER] = t % FILTER < 9 ? filter[t % FILTER] : TL_R(0);
        }
        __syncthreads();
        tl_real near[PLACES + 2][3];
        for (int r = 0; r < PLACES + 2; r++)
            for (int s = 0; s < 3; s++)
                near[r][s] = pixel[threadIdx.y * PLACES + r][threadIdx.x + s];
        for (int k = 0; k < CHANNELS && k < channels; k++) {
            struct alignas(4 * sizeof(tl_real)) four {
                tl_real v[4];
            };
            four filter[3];
            for (int f = 0; VECTORS && f < 3; f++) filter[f] = *(const four *)&weight[k][4 * f];
            for (int t = 0; t < 9; t++) {
                tl_real tap = VECTORS ? filter[t / 4].v[t % 4] : weight[k][t];
                for (int m = 0; m < PLACES; m++) sum[m][k] += tap * near[m + t / 3][t % 3];
            }
        }
        __syncthreads();
    }
    for (int m = 0; m < PLACES; m++) {
        int i = top + (int)threadIdx.y * PLACES + m, j = left + (int)threadIdx.x;
        for (int k = 0; k < CHANNELS && k < channels && i < g.h && j < g.w; k++)
            y[((size_t)image * g.k + k0 + k) * plane + (size_t)i * g.w + j] = sum[m][k];
    }
}

template <int HIGH, int PLACES, int CHANNELS, bool VECTORS> static void convolve_several_places() {
    tl_conv3x3_geom g = geom_of_convolution;
    int tiles = ((g.w - 1) / 32 + 1) * ((g.h - 1) / (HIGH * PLACES) + 1);
    dim3 grid((unsigned)tiles, (unsigned)(((g.k - 1) / CHANNELS + 1) * g.n));
    convolve_places<HIGH, PLACES, CHANNELS, VECTORS><<<grid, dim3(32, HIGH)>>>(
        zeros((size_t)g.n * g.k * g.h * g.w), some((size_t)g.n * g.c * g.h * g.w),
        some((size_t)g.k * g.c * 9), g);
}

// The first of each rung is its plain design. Those of one output channel a thread that reach rung
// 2 are slower on a GPU than the given kernel, two places in large blocks slower than one: counts
// alone do not tell (results/h200/conv3x3.jsonl, where two places and vectors still begin with 5).
static const sectors_case convolutions[] = {
    {"0:given", 1, [] { run_convolution(conv3x3_given::tl_conv3x3); }},
    {"0:places_by_1", 1, convolve_by_places<1>},
    {"1:places_by_4", 1, convolve_by_places<4>},
    {"1:pixels_32x8", 1, convolve_by_tiles<32, 8, 1, 34, false>},
    {"1:pixels_16x16", 1, convolve_by_tiles<16, 16, 1, 18, false>},
    {"2:pixels_32x8_by_4", 1, convolve_by_tiles<32, 8, 4, 34, false>},
    {"2:pixels_32x8_by_8", 1, convolve_by_tiles<32, 8, 8, 34, false>},
    {"2:pixels_32x8_by_16", 1, convolve_by_tiles<32, 8, 16, 34, false>},
    {"2:pixels_16x16_by_4", 1, convolve_by_tiles<16, 16, 4, 18, false>},
    {"2:pixels_rows_6", 1, convolve_by_rows<6, 1, false>},
    {"2:places_by_8", 1, convolve_by_places<8>},
    {"2:places_by_16", 1, convolve_by_places<16>},
    {"2:tile_32x8", 1, convolve_by_tiles<32, 8, 1, 34, true>},
    {"2:tile_16x16", 1, convolve_by_tiles<16, 16, 1, 18, true>},
    {"2:rows_6", 1, convolve_by_rows<6, 1, true>},
    {"2:tile_32x8_by_4", 1, convolve_by_tiles<32, 8, 4, 34, true>},
    {"2:tile_16x16_by_4", 1, convolve_by_tiles<16, 16, 4, 18, true>},
    {"2:tile_8x32_by_4", 1, convolve_by_tiles<8, 32, 4, 10, true>},
    {"3:tile_16x16_by_8", 1, convolve_by_tiles<16, 16, 8, 18, true>},
    {"3:tile_32x8_by_8", 1, convolve_by_tiles<32, 8, 8, 34, true>},
    {"3:tile_16x16_by_16", 1, convolve_by_tiles<16, 16, 16, 18, true>},
    {"3:rows_6_by_4", 1, convolve_by_rows<6, 4, true>},
    {"4:tile_32x8_by_16", 1, convolve_by_tiles<32, 8, 16, 34, true>},
    {"4:tile_32x12_by_16", 1, convolve_by_tiles<32, 12, 16, 34, true>},
    {"4:rows_6_by_16", 1, convolve_by_rows<6, 16, true>},
    {"4:one_place_32x8", 1, convolve_several_places<8, 1, 16, false>},
    {"4:two_places_32x8", 1, convolve_several_places<4, 2, 16, false>},
    {"4:two_places_32x16", 1, convolve_several_places<8, 2, 16, false>},
    {"4:two_places_32x24", 1, convolve_several_places<12, 2, 16, false>},
    {"4:vectors_32x8", 1, convolve_several_places<8, 1, 16, true>},
    {"5:four_places_32x8", 1, convolve_several_places<2, 4, 16, false>},
    {"5:four_places_32x16", 1, convolve_several_places<4, 4, 16, false>},
    {"5:four_places_32x24", 1, convolve_several_places<6, 4, 16, false>},
    {"5:three_places_32x24", 1, convolve_several_places<8, 3, 16, false>},
    {"5:vectors_two_places_32x8", 1, convolve_several_places<4, 2, 16, true>},
    {"5:vectors_four_places_32x8", 1, convolve_several_places<2, 4, 16, true>},
    {"5:solution", 1, [] { run_convolution(conv3x3::tl_conv3x3); }},
};
