/* 02_channels_pack.c: planes to blocks of channels, and back: squares of a vector's lanes are
 * turned in registers. */
#include "02_channels.h"

/* Two rows of a square of lanes, of which groups of 1, 2 or 4 lanes change places: the first row of
 * it for at = 0, the other one for at = the size of a group. */
/* clang-format off */
#if TL_DIRECT_BYTES == 32 && !defined(TL_REAL_DOUBLE)
#define TURN_1(a, b, at) __builtin_shufflevector(a, b, at, at + 8, at + 2, at + 10, \
                                                 at + 4, at + 12, at + 6, at + 14)
#define TURN_2(a, b, at) __builtin_shufflevector(a, b, at, at + 1, at + 8, at + 9, \
                                                 at + 4, at + 5, at + 12, at + 13)
#define TURN_4(a, b, at) __builtin_shufflevector(a, b, at, at + 1, at + 2, at + 3, \
                                                 at + 8, at + 9, at + 10, at + 11)
#elif TL_DIRECT_BYTES == 32 || !defined(TL_REAL_DOUBLE)
#define TURN_1(a, b, at) __builtin_shufflevector(a, b, at, at + 4, at + 2, at + 6)
#define TURN_2(a, b, at) __builtin_shufflevector(a, b, at, at + 1, at + 4, at + 5)
#else
#define TURN_1(a, b, at) __builtin_shufflevector(a, b, at, at + 2)
#endif
/* clang-format on */

#define TURN(step)                                                                                 \
    for (int i = 0; i < TL_DIRECT_LANES; i++)                                                      \
        if (!(i & step)) {                                                                         \
            tl_direct_vec low = TURN_##step(v[i], v[i + step], 0);                                 \
            v[i + step] = TURN_##step(v[i], v[i + step], step);                                    \
            v[i] = low;                                                                            \
        }

/* Rows become columns. */
TL_DIRECT_INLINE void turn(tl_direct_vec v[TL_DIRECT_LANES]) {
    TURN(1)
#ifdef TURN_2
    TURN(2)
#endif
#ifdef TURN_4
    TURN(4)
#endif
}

void tl_channels_gather(tl_real *to, const tl_real *from, size_t plane, int channels, int pixels) {
    const int lanes = TL_DIRECT_LANES;
    int lane = 0;
    for (; lane + lanes <= channels; lane += lanes) {
        int pixel = 0;
        for (; pixel + lanes <= pixels; pixel += lanes) {
            tl_direct_vec v[TL_DIRECT_LANES];
            for (int i = 0; i < lanes; i++)
                v[i] = tl_direct_load(from + (size_t)(lane + i) * plane + pixel);
            turn(v);
            for (int i = 0; i < lanes; i++)
                tl_direct_store(to + (pixel + i) * TL_CHANNELS + lane, v[i]);
        }
        for (; pixel < pixels; pixel++)
            for (int i = lane; i < lane + lanes; i++)
                to[pixel * TL_CHANNELS + i] = from[(size_t)i * plane + (size_t)pixel];
    }
    for (; lane < channels; lane++)
        for (int pixel = 0; pixel < pixels; pixel++)
            to[pixel * TL_CHANNELS + lane] = from[(size_t)lane * plane + (size_t)pixel];
}

TL_DIRECT_INLINE void put(tl_real *to, tl_direct_vec v, int accumulate) {
    tl_direct_store(to, accumulate ? tl_direct_load(to) + v : v);
}

void tl_channels_scatter(tl_real *to, const tl_real *from, size_t plane, int channels, int pixels,
                         const tl_real *b, int accumulate) {
    const int lanes = TL_DIRECT_LANES;
    for (int lane = 0; lane < channels; lane += lanes) {
        int some = channels - lane < lanes ? channels - lane : lanes, pixel = 0;
        for (; pixel + lanes <= pixels; pixel += lanes) {
            tl_direct_vec v[TL_DIRECT_LANES];
            for (int i = 0; i < lanes; i++)
                v[i] = tl_direct_load(from + (pixel + i) * TL_CHANNELS + lane);
            turn(v);
            for (int i = 0; i < some; i++)
                put(to + (size_t)(lane + i) * plane + pixel, v[i] + (b ? b[lane + i] : 0),
                    accumulate);
        }
        for (; pixel < pixels; pixel++)
            for (int i = lane; i < lane + some; i++) {
                tl_real v = from[pixel * TL_CHANNELS + i] + (b ? b[i] : 0);
                tl_real *at = to + (size_t)i * plane + (size_t)pixel;
                *at = accumulate ? *at + v : v;
            }
    }
}

void tl_channels_pad(tl_real *to, const tl_real *from, int channels, const tl_direct_layout *a) {
    size_t plane = (size_t)a->h * (size_t)a->w;
    for (int c = 0; c < channels; c += TL_CHANNELS, to += a->plane * TL_CHANNELS)
        for (int row = 0; row < a->h; row++)
            tl_channels_gather(
                to + ((size_t)(row + a->pad_h) * (size_t)a->pitch + (size_t)a->pad_w) * TL_CHANNELS,
                from + (size_t)c * plane + (size_t)row * (size_t)a->w, plane,
                tl_channels_left(channels, c), a->w);
}
