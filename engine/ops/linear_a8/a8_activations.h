/* SPDX-License-Identifier: MIT
 *
 * Activations as linear_a8 multiplies them: a code of 8 bits a value, a binary16 scale a group of
 * 64 columns of a row [LINEARA8-1]. For the cpu routes, which keep both in their workspace.
 */
#ifndef ASSAY_A8_ACTIVATIONS_H
#define ASSAY_A8_ACTIVATIONS_H

#include <stddef.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/ops/linear_a8.h>

enum { A8_GROUP = 64, A8_LARGEST = 127 };

static inline int64_t a8_padded(int64_t inner)
{
    return (inner + ASSAY_WEIGHT_PADDING - 1) / ASSAY_WEIGHT_PADDING * ASSAY_WEIGHT_PADDING;
}

/* codes[t][pitch], zero from column K on; scales[t][groups], binary16 values widened, NaN for a
 * group that [LINEARA8-6] poisons, 0 for one of padding only. Codes take 16 bits, as the products
 * of the vector routes want them. */
struct a8_activations {
    int16_t *codes;
    float *scales;
    int64_t pitch, groups;
};

/* Views of `workspace`, which has a8_workspace() bytes. */
struct a8_activations a8_activations_at(const struct assay_linear_a8_args *a, void *workspace);
size_t a8_workspace(const assay_context *context, const void *args);
/* Rows of x in the device routes' workspace: whole tiles. */
enum { A8_SMALL_TILE = 8, A8_LARGE_TILE = 128 };
static inline int64_t a8_device_pitch(int64_t rows, int64_t tile)
{
    return (rows + tile - 1) / tile * tile;
}
/* Groups of x, padded columns among them, rounded up to what a block of scales has. */
static inline int64_t a8_scale_groups(int64_t padded)
{
    return (padded / A8_GROUP + 15) / 16 * 16;
}
/* Quantises all rows of x. */
void a8_quantise(assay_context *context, const struct assay_linear_a8_args *a,
                 const struct a8_activations *to);

#endif
