/* SPDX-License-Identifier: MIT
 *
 * simt.cuh on the host: thin C++ over executor.h. Each function that can show a fault takes the
 * place of its caller as default arguments, so that a report names a line of the kernel.
 */
#ifndef ASSAY_CUDA_EXECUTOR_SIMT_HOST_H
#define ASSAY_CUDA_EXECUTOR_SIMT_HOST_H

#include <string.h>

#include "cuda/executor/executor.h"
#include "numeric/float_words.h"

#define SIMT_KERNEL(name)                           static void name
#define SIMT_KERNEL_RESIDENT(name, threads, blocks) SIMT_KERNEL(name)
#define SIMT_DEVICE                                 static inline
#define SIMT_UNROLL
#define SIMT_ROLLED

#define SIMT_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* ---- launch --------------------------------------------------------------------------------- */

template <typename Body> static void simt_call_body(void *closure)
{
    (*static_cast<Body *>(closure))();
}

template <typename Kernel, typename... Arguments>
static assay_status simt_launch_kernel(const struct simt_launch *launch, const char *name,
                                       Kernel kernel, Arguments... arguments)
{
    if (launch->measure != NULL)
        return simt_measure(launch);
    auto body = [=]() { kernel(arguments...); }; /* a device's threads get copies, too */
    return simt_execute(launch, name, simt_call_body<decltype(body)>, &body);
}

#define SIMT_LAUNCH(launch, kernel, ...) simt_launch_kernel((launch), #kernel, kernel, __VA_ARGS__)

/* ---- place ---------------------------------------------------------------------------------- */

static inline struct simt_dim simt_thread_index()
{
    return simt_host_thread();
}

static inline struct simt_dim simt_block_index()
{
    return simt_host_block();
}

static inline struct simt_dim simt_block_extent()
{
    return simt_host_block_extent();
}

static inline struct simt_dim simt_grid_extent()
{
    return simt_host_grid_extent();
}

static inline int simt_thread()
{
    return simt_host_thread_rank();
}

static inline int simt_lane()
{
    return simt_host_thread_rank() % SIMT_WARP_LANES;
}

static inline int simt_warp()
{
    return simt_host_thread_rank() / SIMT_WARP_LANES;
}

/* ---- shared memory -------------------------------------------------------------------------- */

/* The address of an element. */
template <typename T> struct simt_shared_pointer {
    struct simt_array array;
    int64_t at; /* byte */
};

template <typename T> struct simt_shared {
    struct simt_array array;

    T load(int64_t i, SIMT_CALLER) const
    {
        T value;
        memcpy(&value, touch(i, sizeof value, SIMT_READ, file, line), sizeof value);
        return value;
    }

    void store(int64_t i, T value, SIMT_CALLER) const
    {
        memcpy(touch(i, sizeof value, SIMT_WRITE, file, line), &value, sizeof value);
    }

    struct simt_words load16(int64_t i, SIMT_CALLER) const
    {
        struct simt_words words;
        memcpy(&words, touch(i, sizeof words, SIMT_READ, file, line), sizeof words);
        return words;
    }

    void store16(int64_t i, struct simt_words words, SIMT_CALLER) const
    {
        memcpy(touch(i, sizeof words, SIMT_WRITE, file, line), &words, sizeof words);
    }

    struct simt_shared_pointer<T> at(int64_t i) const {
        return {array, byte(i)};
    }

    struct simt_shared<T>
    slice(int64_t first, int64_t count, SIMT_CALLER) const {
        return {simt_array_slice(array, byte(first), byte(count), file, line)};
    }

    private : static int64_t
              byte(int64_t i)
    {
        return i * static_cast<int64_t>(sizeof(T));
    }

    void *touch(int64_t i, size_t bytes, enum simt_access access, const char *file, int line) const
    {
        return simt_shared_touch(array, byte(i), bytes, access, file, line);
    }
};

#define SIMT_SHARED(type, name, count)                                       \
    const struct simt_shared<type> name = {                                  \
        simt_array_static(#name, sizeof(type) * (count), __FILE__, __LINE__) \
    }

#define SIMT_SHARED_DYNAMIC(type, name, byte, count)                                      \
    const struct simt_shared<type> name = {                                               \
        simt_array_dynamic(#name, static_cast<size_t>(byte),                              \
                           sizeof(type) * static_cast<size_t>(count), __FILE__, __LINE__) \
    }

/* ---- global memory -------------------------------------------------------------------------- */

template <typename T>
static inline T simt_host_load(const T *p, enum simt_access access, const char *file, int line)
{
    simt_global_touch(p, sizeof(T), access, file, line);
    T value;
    memcpy(&value, p, sizeof value);
    return value;
}

template <typename T> static inline T simt_load(const T *p, SIMT_CALLER)
{
    return simt_host_load(p, SIMT_READ, file, line);
}

template <typename T> static inline T simt_load_constant(const T *p, SIMT_CALLER)
{
    return simt_host_load(p, SIMT_READ_ONLY, file, line);
}

template <typename T, typename V> static inline void simt_store(T *p, V value, SIMT_CALLER)
{
    T converted = value;
    simt_global_touch(p, sizeof(T), SIMT_WRITE, file, line);
    memcpy(p, &converted, sizeof converted);
}

static inline struct simt_words simt_load16(const void *p, SIMT_CALLER)
{
    return simt_host_load(static_cast<const struct simt_words *>(p), SIMT_READ, file, line);
}

static inline struct simt_words simt_load16_constant(const void *p, SIMT_CALLER)
{
    return simt_host_load(static_cast<const struct simt_words *>(p), SIMT_READ_ONLY, file, line);
}

static inline struct simt_words simt_load16_once(const void *p, SIMT_CALLER)
{
    return simt_host_load(static_cast<const struct simt_words *>(p), SIMT_READ_ONLY, file, line);
}

static inline void simt_store16(void *p, struct simt_words words, SIMT_CALLER)
{
    simt_store(static_cast<struct simt_words *>(p), words, file, line);
}

/* ---- overlap: launches here run one after the other ------------------------------------------ */

static inline void simt_prefetch(const void *)
{
}

static inline void simt_release_stream()
{
}

static inline void simt_wait_for_stream()
{
}

/* ---- order and lanes ------------------------------------------------------------------------ */

static inline void simt_sync_block(SIMT_CALLER)
{
    simt_host_sync_block(file, line);
}

static inline void simt_sync_warp(uint32_t mask, SIMT_CALLER)
{
    simt_host_sync_warp(mask, file, line);
}

template <typename T>
static inline T simt_host_exchange(uint32_t mask, T value, int source, const char *file, int line)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = simt_host_shuffle(mask, bits, source, file, line);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T> static inline T simt_shuffle(uint32_t mask, T value, int lane, SIMT_CALLER)
{
    return simt_host_exchange(mask, value, lane % SIMT_WARP_LANES, file, line);
}

template <typename T>
static inline T simt_shuffle_xor(uint32_t mask, T value, int bits, SIMT_CALLER)
{
    int source = simt_lane() ^ bits;
    return simt_host_exchange(mask, value, source < SIMT_WARP_LANES ? source : -1, file, line);
}

template <typename T> static inline T simt_shuffle_up(uint32_t mask, T value, int n, SIMT_CALLER)
{
    return simt_host_exchange(mask, value, simt_lane() >= n ? simt_lane() - n : -1, file, line);
}

template <typename T> static inline T simt_shuffle_down(uint32_t mask, T value, int n, SIMT_CALLER)
{
    int source = simt_lane() + n;
    return simt_host_exchange(mask, value, source < SIMT_WARP_LANES ? source : -1, file, line);
}

static inline uint32_t simt_ballot(uint32_t mask, bool predicate, SIMT_CALLER)
{
    return simt_host_ballot(mask, predicate, file, line);
}

static inline bool simt_any(uint32_t mask, bool predicate, SIMT_CALLER)
{
    return simt_host_ballot(mask, predicate, file, line) != 0;
}

static inline bool simt_all(uint32_t mask, bool predicate, SIMT_CALLER)
{
    return simt_host_ballot(mask, predicate, file, line) == mask;
}

/* ---- atomics -------------------------------------------------------------------------------- */

template <typename T> struct simt_same_type {
    typedef T type; /* keeps a value from taking part in the deduction of T */
};

template <typename T> static inline T *simt_atomic_address(T *p, const char *file, int line)
{
    simt_global_touch(p, sizeof(T), SIMT_ATOMIC, file, line);
    return p;
}

template <typename T>
static inline T *simt_atomic_address(struct simt_shared_pointer<T> p, const char *file, int line)
{
    return static_cast<T *>(simt_shared_touch(p.array, p.at, sizeof(T), SIMT_ATOMIC, file, line));
}

/* One host thread runs the whole launch: reading and writing in one go is atomic. `old` and
 * `value` stand for both in the expression. */
#define SIMT_ATOMIC(name, expression)                                                             \
    template <typename T>                                                                         \
    static inline T name(T *p, typename simt_same_type<T>::type value, SIMT_CALLER)               \
    {                                                                                             \
        T *address = simt_atomic_address(p, file, line), old = *address;                          \
        *address = static_cast<T>(expression);                                                    \
        return old;                                                                               \
    }                                                                                             \
    template <typename T>                                                                         \
    static inline T name(struct simt_shared_pointer<T> p, typename simt_same_type<T>::type value, \
                         SIMT_CALLER)                                                             \
    {                                                                                             \
        T *address = simt_atomic_address(p, file, line), old = *address;                          \
        *address = static_cast<T>(expression);                                                    \
        return old;                                                                               \
    }

/* Sums wrap on a device; unsigned arithmetic does so here. */
SIMT_ATOMIC(simt_atomic_add,
            static_cast<unsigned long long>(old) + static_cast<unsigned long long>(value))
SIMT_ATOMIC(simt_atomic_min, old < value ? old : value)
SIMT_ATOMIC(simt_atomic_max, old > value ? old : value)
SIMT_ATOMIC(simt_atomic_and, old &value)
SIMT_ATOMIC(simt_atomic_or, old | value)
SIMT_ATOMIC(simt_atomic_exchange, value)
#undef SIMT_ATOMIC

template <typename T>
static inline T simt_atomic_exchange_if(T *p, typename simt_same_type<T>::type expected,
                                        typename simt_same_type<T>::type value, SIMT_CALLER)
{
    T *address = simt_atomic_address(p, file, line), old = *address;
    *address = old == expected ? value : old;
    return old;
}

template <typename T>
static inline T simt_atomic_exchange_if(struct simt_shared_pointer<T> p,
                                        typename simt_same_type<T>::type expected,
                                        typename simt_same_type<T>::type value, SIMT_CALLER)
{
    T *address = simt_atomic_address(p, file, line), old = *address;
    *address = old == expected ? value : old;
    return old;
}

/* ---- asynchronous copies -------------------------------------------------------------------- */

template <int bytes, typename T>
static inline void simt_copy_async_part(struct simt_shared_pointer<T> destination,
                                        const void *source, int valid, SIMT_CALLER)
{
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async moves 4, 8 or 16 bytes");
    simt_host_copy(destination.array, destination.at, source, bytes, valid, file, line);
}

template <int bytes, typename T>
static inline void simt_copy_async(struct simt_shared_pointer<T> destination, const void *source,
                                   SIMT_CALLER)
{
    simt_copy_async_part<bytes>(destination, source, bytes, file, line);
}

static inline void simt_copy_commit()
{
    simt_host_copy_commit();
}

template <int pending_groups> static inline void simt_copy_wait()
{
    simt_host_copy_wait(pending_groups);
}

/* ---- matrices ------------------------------------------------------------------------------- */

template <int count, typename T>
static inline void simt_ldmatrix(uint32_t *registers, struct simt_shared_pointer<T> row,
                                 SIMT_CALLER)
{
    static_assert(count == 1 || count == 2 || count == 4, "ldmatrix loads 1, 2 or 4 matrices");
    simt_host_ldmatrix(registers, count, false, row.array, row.at, file, line);
}

template <int count, typename T>
static inline void simt_ldmatrix_transposed(uint32_t *registers, struct simt_shared_pointer<T> row,
                                            SIMT_CALLER)
{
    static_assert(count == 1 || count == 2 || count == 4, "ldmatrix loads 1, 2 or 4 matrices");
    simt_host_ldmatrix(registers, count, true, row.array, row.at, file, line);
}

static inline void simt_mma_bf16(float *d, const uint32_t *a, const uint32_t *b, const float *c,
                                 SIMT_CALLER)
{
    simt_host_mma(SIMT_MMA_BF16, d, a, b, c, file, line);
}

static inline void simt_mma_f16(float *d, const uint32_t *a, const uint32_t *b, const float *c,
                                SIMT_CALLER)
{
    simt_host_mma(SIMT_MMA_F16, d, a, b, c, file, line);
}

static inline void simt_mma_s8(int *d, const uint32_t *a, const uint32_t *b, const int *c,
                               SIMT_CALLER)
{
    simt_host_mma(SIMT_MMA_S8, d, a, b, c, file, line);
}

/* ---- warpgroups ----------------------------------------------------------------------------- */

/* A warp's part of the operation, at once: what others wrote is ordered by barriers alone. */
static inline void simt_warpgroup_share()
{
}
static inline void simt_warpgroup_begin()
{
}
static inline void simt_warpgroup_commit()
{
}
template <int pending_groups> static inline void simt_warpgroup_wait(int *, float *)
{
}
template <int count> static inline void simt_warpgroup_wait_all(float *)
{
}

template <typename T>
static inline void simt_warpgroup_mma_s8(int *d, const uint32_t *a, struct simt_shared_pointer<T> b,
                                         bool adds, SIMT_CALLER)
{
    const int zeros[4] = {0, 0, 0, 0};
    int row = simt_lane() / 4, first = static_cast<int>(b.at / 16 % 8);
    int64_t tile = b.at - 16 * first;
    for (int j = 0; j < 8; j++) {
        uint32_t columns[2];
        for (int half = 0; half < 2; half++) {
            int64_t at =
                tile + (8 * j + row) * 128 + 16 * ((first + half) ^ row) + simt_lane() % 4 * 4;
            memcpy(&columns[half],
                   simt_shared_touch(b.array, at, sizeof columns[half], SIMT_READ, file, line),
                   sizeof columns[half]);
        }
        simt_mma_s8(d + 4 * j, a, columns, adds ? d + 4 * j : zeros, file, line);
    }
}

template <typename T>
static inline void simt_warpgroup_mma_f16(float *d, const uint32_t *a,
                                          struct simt_shared_pointer<T> b, SIMT_CALLER)
{
    const float zeros[4] = {0, 0, 0, 0};
    for (int j = 0; j < 8; j++) {
        uint32_t columns[2];
        for (int half = 0; half < 2; half++)
            memcpy(&columns[half],
                   simt_shared_touch(b.array, b.at + 256 * j + 128 * half + 4 * simt_lane(),
                                     sizeof columns[half], SIMT_READ, file, line),
                   sizeof columns[half]);
        simt_mma_f16(d + 4 * j, a, columns, zeros, file, line);
    }
}

template <int n, int slice, typename T>
static inline void simt_warpgroup_mma_bf16(float *d, const uint32_t *a,
                                           struct simt_shared_pointer<T> b, bool adds, SIMT_CALLER)
{
    const float zeros[4] = {0, 0, 0, 0};
    for (int j = 0; j < n / 8; j++) {
        uint32_t columns[2];
        for (int half = 0; half < 2; half++)
            memcpy(&columns[half],
                   simt_shared_touch(b.array,
                                     b.at + 32 * n * slice + 256 * j + 128 * half + 4 * simt_lane(),
                                     sizeof columns[half], SIMT_READ, file, line),
                   sizeof columns[half]);
        simt_mma_bf16(d + 4 * j, a, columns, adds ? d + 4 * j : zeros, file, line);
    }
}

static inline int simt_dp4a(uint32_t a, uint32_t b, int c)
{
    uint32_t sum = static_cast<uint32_t>(c);
    for (int i = 0; i < 32; i += 8) {
        int product = static_cast<int8_t>(a >> i & 0xff) * static_cast<int8_t>(b >> i & 0xff);
        sum += static_cast<uint32_t>(product); /* wraps */
    }
    return static_cast<int>(sum);
}

static inline uint32_t simt_permute_bytes(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    uint32_t permuted = 0;
    for (int i = 0; i < 4; i++)
        permuted |= static_cast<uint32_t>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return permuted;
}

/* ---- formats -------------------------------------------------------------------------------- */

/* A device's conversions make every NaN 7fff, and 7fffffff on the way back from fp16; the engine's
 * own conversions keep sign and payload. */
static inline uint16_t simt_bf16_from_f32(float value)
{
    return value == value ? bf16_from_f32(value) : static_cast<uint16_t>(0x7fff);
}

static inline uint16_t simt_f16_from_f32(float value)
{
    return value == value ? f16_from_f32(value) : static_cast<uint16_t>(0x7fff);
}

static inline float simt_bf16_to_f32(uint16_t word)
{
    return bf16_to_f32(word);
}

static inline uint32_t simt_bf16x2_subtract(uint32_t a, uint32_t b)
{
    uint32_t difference = 0;
    for (int i = 0; i < 32; i += 16) {
        float first = simt_bf16_to_f32(static_cast<uint16_t>(a >> i & 0xffff));
        float second = simt_bf16_to_f32(static_cast<uint16_t>(b >> i & 0xffff));
        difference |= static_cast<uint32_t>(simt_bf16_from_f32(first - second)) << i;
    }
    return difference;
}

static inline float simt_f16_to_f32(uint16_t word)
{
    return (word & 0x7fff) <= 0x7c00 ? f16_to_f32(word) : f32_from_bits(0x7fffffffu);
}

static inline uint32_t simt_bf16x2_from_f32(float low, float high)
{
    return simt_bf16_from_f32(low) | static_cast<uint32_t>(simt_bf16_from_f32(high)) << 16;
}

static inline uint32_t simt_f16x2_from_f32(float low, float high)
{
    return simt_f16_from_f32(low) | static_cast<uint32_t>(simt_f16_from_f32(high)) << 16;
}

static inline uint32_t simt_f32_bits(float value)
{
    return f32_bits(value);
}

static inline float simt_f32_from_bits(uint32_t bits)
{
    return f32_from_bits(bits);
}

#endif
