/* SPDX-License-Identifier: MIT
 *
 * A logit and its id as one integer: the larger key is the larger logit and among equal ones the
 * lower id, so that any order of comparisons selects the same. 0 stands for no logit, a NaN is
 * above +inf. The device has the same keys (argmax_keys.cuh). And the k largest keys so far.
 */
#ifndef ASSAY_TOPK_KEYS_H
#define ASSAY_TOPK_KEYS_H

#include <stdint.h>
#include <string.h>

#include <assay/ops/linear_topk.h>

#define TOPK_NAN 0xffffffffu

static inline uint64_t topk_key(float value, int64_t id)
{
    uint32_t bits, order;
    memcpy(&bits, &value, sizeof bits);
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        order = TOPK_NAN;
    else if (magnitude == 0)
        order = 0x80000000u;
    else
        order = bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
    return (uint64_t)order << 32 | (uint32_t) ~(uint32_t)id;
}

/* The logit of a key; NaN for the key 0. */
static inline float topk_value(uint64_t key)
{
    uint32_t order = (uint32_t)(key >> 32);
    uint32_t bits = order >> 31 != 0 ? order & 0x7fffffffu : ~order;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A heap whose root is the smallest of its k keys; k zeros to begin with. */
static inline void topk_push(uint64_t *heap, int k, uint64_t key)
{
    int at = 0;
    if (key <= heap[0])
        return;
    for (int child = 1; child < k; child = 2 * at + 1) {
        if (child + 1 < k && heap[child + 1] < heap[child])
            child++;
        if (key <= heap[child])
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = key;
}

/* Row t of the outputs from the heap, which becomes a list in falling order. */
void topk_store(const struct assay_linear_topk_args *args, int64_t t, uint64_t *heap);

#endif
