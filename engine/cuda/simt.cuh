/* SPDX-License-Identifier: MIT
 *
 * The only door from kernels to the device. A kernel file includes this and uses nothing of CUDA
 * directly; nvcc then makes instructions of it (simt_device.cuh), and the host's C++ compiler calls
 * of the executor (executor/simt_host.h), which runs the same source and checks it.
 *
 * Declarations
 *   SIMT_KERNEL(name)(parameters) { ... }       a kernel, local to its file
 *   SIMT_KERNEL_RESIDENT(name, threads, blocks)(parameters) { ... }   the same, with so few
 *                                               registers that `blocks` blocks of `threads` threads
 *                                               fit into a multiprocessor
 *   SIMT_DEVICE                                 before a function that kernels call
 *   SIMT_LAUNCH(&launch, kernel, arguments...)  struct simt_launch of simt_launch.h; gives
 *                                               assay_status and does not wait for the device
 *   SIMT_UNROLL                                 before a loop whose trip count is a constant
 *   SIMT_ROLLED                                 before a loop that shall not be copied
 *
 * Place
 *   simt_dim simt_thread_index(), simt_block_index(), simt_block_extent(), simt_grid_extent()
 *   int simt_thread()                    the thread's linear index in its block
 *   int simt_lane(), int simt_warp()     its lane, and the index of its warp in the block
 *
 * Shared memory: an object of type simt_shared<type>, elements counted from 0, arrays 16-byte
 * aligned. Passing it to a function passes a view.
 *   SIMT_SHARED(type, name, count)                a static array; count is a constant
 *   SIMT_SHARED_DYNAMIC(type, name, byte, count)  a part of the launch's dynamic bytes, from `byte`
 *   name.load(i)   name.store(i, value)           one element
 *   name.load16(i) name.store16(i, words)         16 bytes from element i on, 16-byte aligned
 *   name.at(i)                                    the address of element i for the functions below
 *   name.slice(first, count)                      a part of it
 *
 * Global memory, through pointers of the kernel's parameters
 *   simt_load(p)            type of *p, at most 8 bytes
 *   simt_load_constant(p)   through the read-only path: nothing may write it during the launch
 *   simt_store(p, value)
 *   simt_load16(p)          struct simt_words, 16-byte aligned; p of any type
 *   simt_load16_constant(p)
 *   simt_load16_once(p)     the same, without a place in L1: for weights that are read once
 *   simt_store16(p, words)
 *
 * Overlap with the stream's neighbours, for launches with `overlaps`
 *   simt_prefetch(p)        asks for the line of p in the L2 cache, which all kernels share: legal
 *                           at any time, whoever writes it
 *   simt_release_stream()   the next kernel may start once all blocks have come here or ended
 *   simt_wait_for_stream()  until all kernels before this one have ended and their writes are seen.
 *                           Before it a thread reads nothing but parameters and writes nothing
 *
 * Order
 *   simt_sync_block()       barrier of the block, orders its accesses to memory
 *   simt_sync_warp(mask)    barrier of the named lanes, orders their accesses to memory. Shuffles,
 *                           votes and mma order nothing.
 *
 * Lanes; mask names exactly the lanes that take part, all of which must come to the same call
 *   SIMT_ALL_LANES
 *   simt_shuffle(mask, value, lane)  simt_shuffle_xor(mask, value, bits)
 *   simt_shuffle_up(mask, value, n)  simt_shuffle_down(mask, value, n)   4 or 8 bytes; a lane whose
 *                                    source would be outside the warp keeps its own value
 *   simt_ballot(mask, predicate)  simt_any(mask, predicate)  simt_all(mask, predicate)
 *
 * Atomics on integers (int, unsigned, unsigned long long), on name.at(i) or a global pointer; they
 * give the old value and order nothing
 *   simt_atomic_add min max and or exchange (p, value)   simt_atomic_exchange_if(p, expected,
 * value)
 *
 * Asynchronous copies from global to shared memory, both sides aligned to the size. They are done
 * for the issuing thread after a wait that covers their group, for others after a barrier then.
 *   simt_copy_async<bytes>(name.at(i), p)                4, 8 or 16 bytes
 *   simt_copy_async_part<bytes>(name.at(i), p, valid)    the first `valid` bytes, then zeros; p is
 *                                                        not read when valid is 0
 *   simt_copy_commit()              closes a group of this thread's copies
 *   simt_copy_wait<n>()             until at most the n latest groups are under way
 *
 * Matrices, by whole warps (fragment layouts: executor/fragments.h)
 *   simt_ldmatrix<count>(registers, name.at(i))             count 1, 2, 4 of 8 x 8 16-bit elements;
 *   simt_ldmatrix_transposed<count>(registers, name.at(i))  lane j gives row j % 8 of matrix j / 8
 *   simt_mma_bf16(d, a, b, c)  simt_mma_f16(d, a, b, c)     m16n8k16: float d[4], c[4];
 *   simt_mma_s8(d, a, b, c)                                 m16n8k32: int d[4], c[4];
 *                                                           uint32_t a[4], b[2]
 *
 * Matrices, by warpgroups: four warps from a multiple of 4 on, which all come to the same call, and
 * go on before the product is there. wgmma of sm_90a; elsewhere mma does the same, at once.
 *   simt_warpgroup_share()          by each thread, before the barrier after which warpgroups read
 *                                   what it brought into shared memory
 *   simt_warpgroup_begin()          the registers of the next products are written
 *   simt_warpgroup_mma_s8(d, a, name.at(i), adds)   m64n64k32, d = a b (+ d): int d[32], of n-tile
 *                                   j 4 j .. 4 j + 3 as of mma; a as of mma, 16 rows a warp; b: 64
 *                                   rows of 128 bytes, 1024-byte aligned, the 16-byte pieces of
 *                                   row r at places XOR r % 8, from whose (even) piece at i on 32
 *                                   bytes of each row take part
 *   simt_warpgroup_mma_f16(d, a, name.at(i))        m64n64k16, d = a b: float d[32], the same; b:
 *                                   64 rows of 16 f16, 16-byte aligned; 8 rows of 8 columns (128
 *                                   bytes), their other 8 columns, then the next 8 rows
 *   simt_warpgroup_mma_bf16<n, slice>(d, a, name.at(i), adds)   m64 by n (16, 32 or 64) by k16, d =
 *                                   a b (+ d): float d[n / 2], the same; b: n rows, as of f16, the
 *                                   matrix number `slice` of those that stand at i
 *   simt_warpgroup_commit()         closes a group of products
 *   simt_warpgroup_wait<n>(d, e)    until at most the n latest groups are under way; d (int) and e
 *                                   (float) are there. Until then nobody touches operands in
 *                                   registers, nor results
 *   simt_warpgroup_wait_all<n>(e)   the same until none is under way, of n floats
 *
 *   simt_dp4a(a, b, c)              c + the four products of signed bytes
 *   simt_permute_bytes(a, b, s)     byte i is number (s >> 4 i) % 8 of the bytes of a, then b;
 *                                   bit 3 of each four bits of s is 0
 *
 * Formats (to nearest, ties to even)
 *   simt_bf16_from_f32(x)  simt_bf16_to_f32(w)  simt_f16_from_f32(x)  simt_f16_to_f32(w)   uint16_t
 *   simt_bf16x2_from_f32(low, high)  simt_f16x2_from_f32(low, high)   uint32_t, low in the low half
 *   simt_bf16x2_subtract(a, b)   both halves of a - b, each rounded once
 *   simt_f32_bits(x)  simt_f32_from_bits(w)
 *
 * Arithmetic is that of C: math.h functions, no contraction (nvcc -fmad=false), fma() where meant.
 */
#ifndef ASSAY_CUDA_SIMT_CUH
#define ASSAY_CUDA_SIMT_CUH

#include <math.h>
#include <stdint.h>

#include "cuda/simt_launch.h"

#define SIMT_ALL_LANES 0xffffffffu

/* 16 bytes as they lie in memory. */
struct alignas(16) simt_words {
    uint32_t word[4];
};

#if defined(__CUDACC__)
#include "cuda/simt_device.cuh"
#else
#include "cuda/executor/simt_host.h"
#endif

#endif
