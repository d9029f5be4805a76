/* SPDX-License-Identifier: MIT
 *
 * simt.cuh on the device: each function is one instruction, or the few that make it up. sm_80 and
 * later.
 */
#ifndef ASSAY_CUDA_SIMT_DEVICE_CUH
#define ASSAY_CUDA_SIMT_DEVICE_CUH

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "cp.async, bf16 mma and packed conversions need sm_80 or later"
#endif

#define SIMT_KERNEL(name) static __global__ void name
/* Before sm_90 nothing is asked for: kernels were measured on it, and spill where compilers allot
 * registers otherwise. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define SIMT_KERNEL_RESIDENT(name, threads, blocks) \
    static __global__ void __launch_bounds__(threads) name
#else
#define SIMT_KERNEL_RESIDENT(name, threads, blocks) \
    static __global__ void __launch_bounds__(threads, blocks) name
#endif
#define SIMT_DEVICE        static __device__ __forceinline__
#define SIMT_DEVICE_METHOD __device__ __forceinline__
#define SIMT_UNROLL        _Pragma("unroll")
#define SIMT_ROLLED        _Pragma("unroll 1")

/* ---- launch --------------------------------------------------------------------------------- */

enum { SIMT_DEFAULT_SHARED = 48 * 1024 }; /* dynamic bytes that a kernel gets without asking */

template <typename Kernel, typename... Arguments>
static assay_status simt_launch_kernel(const struct simt_launch *launch, const char *name,
                                       Kernel kernel, Arguments... arguments)
{
    if (launch->measure != NULL)
        return simt_measure(launch);
    cudaError_t error = cudaSuccess;
    if (launch->shared_bytes > SIMT_DEFAULT_SHARED)
        error = cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(launch->shared_bytes));
    if (error == cudaSuccess) {
        dim3 grid(launch->grid.x, launch->grid.y, launch->grid.z);
        dim3 block(launch->block.x, launch->block.y, launch->block.z);
        cudaLaunchAttribute overlap = {};
        overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        overlap.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = grid;
        config.blockDim = block;
        config.dynamicSmemBytes = launch->shared_bytes;
        config.stream = static_cast<cudaStream_t>(launch->stream);
        config.attrs = &overlap;
        config.numAttrs = launch->overlaps ? 1 : 0;
        error = cudaLaunchKernelEx(&config, kernel, arguments...);
    }
    if (error == cudaSuccess)
        return ASSAY_OK;
    (void)cudaGetLastError(); /* seen */
    return assay_fail(launch->error, ASSAY_E_CUDA, name, "launch", "%s", cudaGetErrorString(error));
}

#define SIMT_LAUNCH(launch, kernel, ...) simt_launch_kernel((launch), #kernel, kernel, __VA_ARGS__)

/* ---- place ---------------------------------------------------------------------------------- */

SIMT_DEVICE struct simt_dim simt_thread_index()
{
    return {threadIdx.x, threadIdx.y, threadIdx.z};
}

SIMT_DEVICE struct simt_dim simt_block_index()
{
    return {blockIdx.x, blockIdx.y, blockIdx.z};
}

SIMT_DEVICE struct simt_dim simt_block_extent()
{
    return {blockDim.x, blockDim.y, blockDim.z};
}

SIMT_DEVICE struct simt_dim simt_grid_extent()
{
    return {gridDim.x, gridDim.y, gridDim.z};
}

SIMT_DEVICE int simt_thread()
{
    return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

SIMT_DEVICE int simt_lane()
{
    return simt_thread() % 32;
}

SIMT_DEVICE int simt_warp()
{
    return simt_thread() / 32;
}

/* ---- 16 bytes ------------------------------------------------------------------------------- */

SIMT_DEVICE struct simt_words simt_words_of(uint4 v)
{
    return {{v.x, v.y, v.z, v.w}};
}

SIMT_DEVICE uint4 simt_uint4_of(struct simt_words w)
{
    return make_uint4(w.word[0], w.word[1], w.word[2], w.word[3]);
}

/* ---- shared memory -------------------------------------------------------------------------- */

template <typename T> struct simt_shared {
    T *data;

    SIMT_DEVICE_METHOD T load(int64_t i) const
    {
        return data[i];
    }

    SIMT_DEVICE_METHOD void store(int64_t i, T value) const
    {
        data[i] = value;
    }

    SIMT_DEVICE_METHOD struct simt_words load16(int64_t i) const
    {
        return simt_words_of(*reinterpret_cast<const uint4 *>(data + i));
    }

    SIMT_DEVICE_METHOD void store16(int64_t i, struct simt_words words) const
    {
        *reinterpret_cast<uint4 *>(data + i) = simt_uint4_of(words);
    }

    SIMT_DEVICE_METHOD T *at(int64_t i) const
    {
        return data + i;
    }

    SIMT_DEVICE_METHOD struct simt_shared<T> slice(int64_t first, int64_t) const {
        return {data + first};
    }
};

#define SIMT_SHARED(type, name, count)                     \
    __shared__ __align__(16) type name##_storage[(count)]; \
    const struct simt_shared<type> name = {                \
        name##_storage                                     \
    }

/* One name for all kernels; aligned as an operand of wgmma. */
extern __shared__ __align__(1024) uint4 simt_dynamic_storage[];

#define SIMT_SHARED_DYNAMIC(type, name, byte, count)                                               \
    const struct simt_shared<type> name = {                                                        \
        reinterpret_cast<type *>(reinterpret_cast<unsigned char *>(simt_dynamic_storage) + (byte)) \
    }

SIMT_DEVICE uint32_t simt_shared_address(const void *p)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/* ---- global memory -------------------------------------------------------------------------- */

template <typename T> SIMT_DEVICE T simt_load(const T *p)
{
    return *p;
}

template <typename T> SIMT_DEVICE T simt_load_constant(const T *p)
{
    return __ldg(p);
}

template <typename T, typename V> SIMT_DEVICE void simt_store(T *p, V value)
{
    *p = value;
}

SIMT_DEVICE struct simt_words simt_load16(const void *p)
{
    return simt_words_of(*static_cast<const uint4 *>(p));
}

SIMT_DEVICE struct simt_words simt_load16_constant(const void *p)
{
    return simt_words_of(__ldg(static_cast<const uint4 *>(p)));
}

SIMT_DEVICE struct simt_words simt_load16_once(const void *p)
{
    struct simt_words w;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.word[0]), "=r"(w.word[1]), "=r"(w.word[2]), "=r"(w.word[3])
                 : "l"(p));
    return w;
}

SIMT_DEVICE void simt_store16(void *p, struct simt_words words)
{
    *static_cast<uint4 *>(p) = simt_uint4_of(words);
}

/* ---- overlap -------------------------------------------------------------------------------- */

SIMT_DEVICE void simt_prefetch(const void *p)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

/* Before sm_90 no kernel starts early, whatever the launch allows. */
SIMT_DEVICE void simt_release_stream()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

SIMT_DEVICE void simt_wait_for_stream()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- order and lanes ------------------------------------------------------------------------ */

SIMT_DEVICE void simt_sync_block()
{
    __syncthreads();
}

SIMT_DEVICE void simt_sync_warp(uint32_t mask)
{
    __syncwarp(mask);
}

template <typename T> SIMT_DEVICE T simt_shuffle(uint32_t mask, T value, int lane)
{
    return __shfl_sync(mask, value, lane);
}

template <typename T> SIMT_DEVICE T simt_shuffle_xor(uint32_t mask, T value, int bits)
{
    return __shfl_xor_sync(mask, value, bits);
}

template <typename T> SIMT_DEVICE T simt_shuffle_up(uint32_t mask, T value, int n)
{
    return __shfl_up_sync(mask, value, static_cast<unsigned>(n));
}

template <typename T> SIMT_DEVICE T simt_shuffle_down(uint32_t mask, T value, int n)
{
    return __shfl_down_sync(mask, value, static_cast<unsigned>(n));
}

SIMT_DEVICE uint32_t simt_ballot(uint32_t mask, bool predicate)
{
    return __ballot_sync(mask, predicate);
}

SIMT_DEVICE bool simt_any(uint32_t mask, bool predicate)
{
    return __any_sync(mask, predicate) != 0;
}

SIMT_DEVICE bool simt_all(uint32_t mask, bool predicate)
{
    return __all_sync(mask, predicate) != 0;
}

/* ---- atomics -------------------------------------------------------------------------------- */

template <typename T> struct simt_same_type {
    typedef T type; /* keeps a value from taking part in the deduction of T */
};

#define SIMT_ATOMIC(name, intrinsic)                                                       \
    template <typename T> SIMT_DEVICE T name(T *p, typename simt_same_type<T>::type value) \
    {                                                                                      \
        return intrinsic(p, value);                                                        \
    }
SIMT_ATOMIC(simt_atomic_add, atomicAdd)
SIMT_ATOMIC(simt_atomic_min, atomicMin)
SIMT_ATOMIC(simt_atomic_max, atomicMax)
SIMT_ATOMIC(simt_atomic_and, atomicAnd)
SIMT_ATOMIC(simt_atomic_or, atomicOr)
SIMT_ATOMIC(simt_atomic_exchange, atomicExch)
#undef SIMT_ATOMIC

template <typename T>
SIMT_DEVICE T simt_atomic_exchange_if(T *p, typename simt_same_type<T>::type expected,
                                      typename simt_same_type<T>::type value)
{
    return atomicCAS(p, expected, value);
}

/* ---- asynchronous copies -------------------------------------------------------------------- */

/* 16 bytes pass L1 by (.cg), smaller copies cannot. Copies read rows on from where they are, in
 * pieces that may be as small as a sector: the line of 128 bytes comes to L2 at once. */
template <int bytes>
SIMT_DEVICE void simt_copy_async_part(void *destination, const void *source, int valid)
{
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async moves 4, 8 or 16 bytes");
    uint32_t to = simt_shared_address(destination);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to),
                     "l"(source), "r"(valid)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(to),
                     "l"(source), "n"(bytes), "r"(valid)
                     : "memory");
}

template <int bytes> SIMT_DEVICE void simt_copy_async(void *destination, const void *source)
{
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async moves 4, 8 or 16 bytes");
    uint32_t to = simt_shared_address(destination);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(source)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;" ::"r"(to), "l"(source),
                     "n"(bytes)
                     : "memory");
}

SIMT_DEVICE void simt_copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int pending_groups> SIMT_DEVICE void simt_copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending_groups) : "memory");
}

/* ---- matrices ------------------------------------------------------------------------------- */

#define SIMT_LDMATRIX(name, modifier)                                                           \
    template <int count> SIMT_DEVICE void name(uint32_t *r, const void *row)                    \
    {                                                                                           \
        static_assert(count == 1 || count == 2 || count == 4,                                   \
                      "ldmatrix loads 1, 2 or 4 matrices");                                     \
        uint32_t from = simt_shared_address(row);                                               \
        if (count == 1)                                                                         \
            asm volatile("ldmatrix.sync.aligned.m8n8.x1" modifier ".shared.b16 {%0}, [%1];"     \
                         : "=r"(r[0])                                                           \
                         : "r"(from)                                                            \
                         : "memory");                                                           \
        else if (count == 2)                                                                    \
            asm volatile("ldmatrix.sync.aligned.m8n8.x2" modifier ".shared.b16 {%0, %1}, [%2];" \
                         : "=r"(r[0]), "=r"(r[count > 1 ? 1 : 0])                               \
                         : "r"(from)                                                            \
                         : "memory");                                                           \
        else                                                                                    \
            asm volatile("ldmatrix.sync.aligned.m8n8.x4" modifier                               \
                         ".shared.b16 {%0, %1, %2, %3}, [%4];"                                  \
                         : "=r"(r[0]), "=r"(r[count > 1 ? 1 : 0]), "=r"(r[count > 2 ? 2 : 0]),  \
                           "=r"(r[count > 2 ? 3 : 0])                                           \
                         : "r"(from)                                                            \
                         : "memory");                                                           \
    }
SIMT_LDMATRIX(simt_ldmatrix, "")
SIMT_LDMATRIX(simt_ldmatrix_transposed, ".trans")
#undef SIMT_LDMATRIX

#define SIMT_MMA(name, element, constraint, shape_and_types)                                    \
    SIMT_DEVICE void name(element *d, const uint32_t *a, const uint32_t *b, const element *c)   \
    {                                                                                           \
        asm volatile("mma.sync.aligned." shape_and_types                                        \
                     " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"     \
                     : "=" constraint(d[0]), "=" constraint(d[1]), "=" constraint(d[2]),        \
                       "=" constraint(d[3])                                                     \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),        \
                       constraint(c[0]), constraint(c[1]), constraint(c[2]), constraint(c[3])); \
    }
SIMT_MMA(simt_mma_bf16, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32")
SIMT_MMA(simt_mma_f16, float, "f", "m16n8k16.row.col.f32.f16.f16.f32")
SIMT_MMA(simt_mma_s8, int, "r", "m16n8k32.row.col.s32.s8.s8.s32")
#undef SIMT_MMA

SIMT_DEVICE int simt_dp4a(uint32_t a, uint32_t b, int c)
{
    return __dp4a(static_cast<int>(a), static_cast<int>(b), c);
}

SIMT_DEVICE uint32_t simt_permute_bytes(uint32_t a, uint32_t b, uint32_t selector)
{
    return __byte_perm(a, b, selector);
}

/* ---- warpgroups ----------------------------------------------------------------------------- */

/* wgmma is an instruction of sm_90a. Elsewhere mma stands for it: the same sums, at once. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SIMT_HAVE_WGMMA
#endif

SIMT_DEVICE void simt_warpgroup_share()
{
#if defined(SIMT_HAVE_WGMMA)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

SIMT_DEVICE void simt_warpgroup_begin()
{
#if defined(SIMT_HAVE_WGMMA)
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

SIMT_DEVICE void simt_warpgroup_commit()
{
#if defined(SIMT_HAVE_WGMMA)
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/* The results pass through the last lines: nobody reads them before. */
template <int pending_groups> SIMT_DEVICE void simt_warpgroup_wait(int *d, float *e)
{
#if defined(SIMT_HAVE_WGMMA)
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending_groups) : "memory");
    SIMT_UNROLL for (int i = 0; i < 32; i++) asm volatile("" : "+r"(d[i]), "+f"(e[i])::"memory");
#else
    (void)d;
    (void)e;
#endif
}

/* The same for floats alone. */
template <int count> SIMT_DEVICE void simt_warpgroup_wait_all(float *d)
{
#if defined(SIMT_HAVE_WGMMA)
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    SIMT_UNROLL for (int i = 0; i < count; i++) asm volatile("" : "+f"(d[i])::"memory");
#else
    (void)d;
#endif
}

#if defined(SIMT_HAVE_WGMMA)
#define SIMT_WGMMA_D                                                                         \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
    "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36"
#define SIMT_D4(t, i) "+" t(d[i]), "+" t(d[i + 1]), "+" t(d[i + 2]), "+" t(d[i + 3])
#define SIMT_D32(t)                                                                              \
    SIMT_D4(t, 0), SIMT_D4(t, 4), SIMT_D4(t, 8), SIMT_D4(t, 12), SIMT_D4(t, 16), SIMT_D4(t, 20), \
        SIMT_D4(t, 24), SIMT_D4(t, 28)

SIMT_DEVICE void simt_warpgroup_mma_s8(int *d, const uint32_t *a, const void *b, bool adds)
{
    /* 8 rows of 128 bytes lie together, 1024 bytes to the next; pieces XOR row % 8 */
    uint64_t matrix = uint64_t{1} << 62 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 16 |
                      simt_shared_address(b) >> 4;
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 " SIMT_WGMMA_D ", p;\n}"
                 : SIMT_D32("r")
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(matrix),
                   "r"(static_cast<int>(adds)));
}

SIMT_DEVICE void simt_warpgroup_mma_f16(float *d, const uint32_t *a, const void *b)
{
    /* 8 rows of 16 bytes lie together, 128 bytes to the other columns, 256 to the next rows */
    uint64_t matrix =
        uint64_t{256 >> 4} << 32 | uint64_t{128 >> 4} << 16 | simt_shared_address(b) >> 4;
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " SIMT_WGMMA_D ", 0, 1, 1, 0;"
                 : SIMT_D32("f")
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(matrix));
}

/* b: as of f16. sums: the numbers of the registers of d, at: those of a. */
#define SIMT_WGMMA_BF16(n, sums, a0, a1, a2, a3, matrix, scale, ...)                           \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #scale ", 0;\n"                          \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" sums "}, {%" #a0 \
                 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #matrix ", p, 1, 1, 0;\n}"               \
                 : __VA_ARGS__                                                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(matrix_of_b),               \
                   "r"(static_cast<int>(adds)))
#define SIMT_SUMS_8  "%0, %1, %2, %3, %4, %5, %6, %7"
#define SIMT_SUMS_16 SIMT_SUMS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define SIMT_SUMS_32                                                              \
    SIMT_SUMS_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, " \
                 "%28, %29, %30, %31"
template <int n, int slice>
SIMT_DEVICE void simt_warpgroup_mma_bf16(float *d, const uint32_t *a, const void *b, bool adds)
{
    /* The address is a sum outside the shift: one of them serves all slices. */
    uint64_t matrix_of_b =
        (uint64_t{256 >> 4} << 32 | uint64_t{128 >> 4} << 16 | simt_shared_address(b) >> 4) +
        (slice * n * 32 >> 4);
    if constexpr (n == 16)
        SIMT_WGMMA_BF16(16, SIMT_SUMS_8, 8, 9, 10, 11, 12, 13, SIMT_D4("f", 0), SIMT_D4("f", 4));
    else if constexpr (n == 32)
        SIMT_WGMMA_BF16(32, SIMT_SUMS_16, 16, 17, 18, 19, 20, 21, SIMT_D4("f", 0), SIMT_D4("f", 4),
                        SIMT_D4("f", 8), SIMT_D4("f", 12));
    else
        SIMT_WGMMA_BF16(64, SIMT_SUMS_32, 32, 33, 34, 35, 36, 37, SIMT_D32("f"));
}
#undef SIMT_SUMS_32
#undef SIMT_SUMS_16
#undef SIMT_SUMS_8
#undef SIMT_WGMMA_BF16
#undef SIMT_D32
#undef SIMT_D4
#undef SIMT_WGMMA_D
#else
template <int n, int slice>
SIMT_DEVICE void simt_warpgroup_mma_bf16(float *d, const uint32_t *a, const void *b, bool adds)
{
    const float zeros[4] = {0, 0, 0, 0};
    const uint32_t *words = static_cast<const uint32_t *>(b) + slice * n * 8 + simt_lane();
    SIMT_UNROLL for (int j = 0; j < n / 8; j++)
    {
        uint32_t columns[2] = {words[64 * j], words[64 * j + 32]};
        simt_mma_bf16(d + 4 * j, a, columns, adds ? d + 4 * j : zeros);
    }
}

SIMT_DEVICE void simt_warpgroup_mma_s8(int *d, const uint32_t *a, const void *b, bool adds)
{
    const int zeros[4] = {0, 0, 0, 0};
    const unsigned char *tile = static_cast<const unsigned char *>(b);
    int row = simt_lane() / 4, first = static_cast<int>(simt_shared_address(b) / 16 % 8);
    tile -= 16 * first;
    SIMT_UNROLL for (int j = 0; j < 8; j++)
    {
        uint32_t columns[2];
        SIMT_UNROLL for (int half = 0; half < 2; half++) columns[half] =
            *reinterpret_cast<const uint32_t *>(tile + (8 * j + row) * 128 +
                                                16 * ((first + half) ^ row) + simt_lane() % 4 * 4);
        simt_mma_s8(d + 4 * j, a, columns, adds ? d + 4 * j : zeros);
    }
}

SIMT_DEVICE void simt_warpgroup_mma_f16(float *d, const uint32_t *a, const void *b)
{
    const float zeros[4] = {0, 0, 0, 0};
    const uint32_t *words = static_cast<const uint32_t *>(b) + simt_lane();
    SIMT_UNROLL for (int j = 0; j < 8; j++)
    {
        uint32_t columns[2] = {words[64 * j], words[64 * j + 32]};
        simt_mma_f16(d + 4 * j, a, columns, zeros);
    }
}
#endif

/* ---- formats -------------------------------------------------------------------------------- */

SIMT_DEVICE uint32_t simt_bf16x2_from_f32(float low, float high)
{
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

/* b * -1 + a: sm_80 has no subtraction of its own. */
SIMT_DEVICE uint32_t simt_bf16x2_subtract(uint32_t a, uint32_t b)
{
    uint32_t difference;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(difference) : "r"(b), "r"(0xbf80bf80u), "r"(a));
    return difference;
}

SIMT_DEVICE uint32_t simt_f16x2_from_f32(float low, float high)
{
    uint32_t packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

SIMT_DEVICE uint16_t simt_bf16_from_f32(float value)
{
    return static_cast<uint16_t>(simt_bf16x2_from_f32(value, 0.0f));
}

SIMT_DEVICE uint16_t simt_f16_from_f32(float value)
{
    return static_cast<uint16_t>(simt_f16x2_from_f32(value, 0.0f));
}

SIMT_DEVICE float simt_bf16_to_f32(uint16_t word)
{
    return __uint_as_float(static_cast<uint32_t>(word) << 16);
}

SIMT_DEVICE float simt_f16_to_f32(uint16_t word)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(word));
    return value;
}

SIMT_DEVICE uint32_t simt_f32_bits(float value)
{
    return __float_as_uint(value);
}

SIMT_DEVICE float simt_f32_from_bits(uint32_t bits)
{
    return __uint_as_float(bits);
}

#endif
