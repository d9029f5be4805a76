/* SPDX-License-Identifier: MIT
 *
 * Rows of a GGUF file's tensors as the safetensors release has them (qwen3_5.md sections 8.3 to
 * 8.5): value heads in grouped order, A_log instead of -exp(A_log). Offset norms keep their stored
 * 1 + w, since 1 cannot be taken away without an error (weight_store.h, final_norms).
 */
#include "artifact/gguf/gguf.h"

#include <math.h>
#include <string.h>

#include "formats/gguf_blocks.h"
#include "numeric/float_words.h"

bool gguf_view_in_place(const struct gguf_view *view)
{
    const bool tiled = view->ratio > 1 && view->key_heads > 1;
    return !view->is_decay && view->half == 0 && view->block_rows == 0 &&
           !(tiled && (view->tile_rows > 0 || view->tile_columns > 0));
}

/* Where the value head that is h-th in grouped order stands in tiled order. */
static int64_t tiled_head(const struct gguf_view *view, int64_t h)
{
    return h % view->ratio * view->key_heads + h / view->ratio;
}

int64_t gguf_view_tensor(const struct gguf_view *view, int64_t row)
{
    return view->half > 0 && row / view->half % 2 == 1 ? view->second : view->tensor;
}

static int64_t row_in_blocks(const struct gguf_view *view, int64_t row)
{
    const struct gguf_section *section = view->sections;

    for (int i = 1; i < GGUF_MAX_SECTIONS; i++)
        if (view->sections[i].run > 0 && row >= view->sections[i].first)
            section = &view->sections[i];
    const int64_t inner = row - section->first;
    return inner / section->run * view->block_rows + section->offset + inner % section->run;
}

int64_t gguf_view_row(const struct gguf_view *view, int64_t row)
{
    if (view->half > 0)
        return row / (2 * view->half) * view->half + row % view->half;
    if (view->block_rows > 0)
        return row_in_blocks(view, row);
    if (view->tile_rows == 0 || row < view->tiled_from)
        return view->first_row + row;
    const int64_t inner = row - view->tiled_from;
    return view->first_row + view->tiled_from +
           tiled_head(view, inner / view->tile_rows) * view->tile_rows + inner % view->tile_rows;
}

int64_t gguf_view_column(const struct gguf_view *view, int64_t column)
{
    if (view->tile_columns == 0)
        return column;
    return tiled_head(view, column / view->tile_columns) * view->tile_columns +
           column % view->tile_columns;
}

static size_t row_bytes(const struct gguf_tensor *tensor)
{
    const struct gguf_block *block = gguf_block_find(tensor->type);
    return (size_t)(tensor->ne[0] / block->values * block->bytes);
}

uint32_t gguf_row_type(const struct gguf_file *file, const struct gguf_view *view, int64_t row)
{
    return file->tensors[gguf_view_tensor(view, row)].type;
}

const uint8_t *gguf_row_data(const struct gguf_file *file, const struct gguf_view *view,
                             int64_t row)
{
    const struct gguf_tensor *tensor = &file->tensors[gguf_view_tensor(view, row)];
    return tensor->data + (size_t)gguf_view_row(view, row) * row_bytes(tensor);
}

/* One cycle of the permutation, begun at its smallest head: each head takes the place of the one
 * before it. */
static void rotate_cycle(const struct gguf_view *view, int64_t first, float *values)
{
    const int64_t width = view->tile_columns;

    for (int64_t c = 0; c < width; c++) {
        const float kept = values[first * width + c];
        int64_t h = first;
        for (int64_t next; (next = tiled_head(view, h)) != first; h = next)
            values[h * width + c] = values[next * width + c];
        values[h * width + c] = kept;
    }
}

/* Tiled to grouped order, in place. */
static void untile_columns(const struct gguf_view *view, float *values)
{
    for (int64_t h = 0; h < view->key_heads * view->ratio; h++) {
        int64_t other = tiled_head(view, h);
        while (other > h)
            other = tiled_head(view, other);
        if (other == h) /* none of the cycle's heads is smaller */
            rotate_cycle(view, h, values);
    }
}

/* log(-stored), to the nearest binary32: its error against the A_log that the file was made from is
 * at most 2^-22 (one ulp of the stored value and the converter's own) and half an ulp of A_log.
 * Where a bf16 number gives the stored value within one ulp it is taken: releases have bf16, and
 * then the result is exact. */
float gguf_a_log(float stored)
{
    const float decay = -stored;
    const float near = (float)log((double)decay);
    const float candidate = bf16_to_f32(bf16_from_f32(near));
    const float again = (float)exp((double)candidate);

    if (again >= nextafterf(decay, 0) && again <= nextafterf(decay, INFINITY))
        return candidate;
    return near;
}

void gguf_read_row(const struct gguf_file *file, const struct gguf_view *view, int64_t row,
                   float *values)
{
    gguf_decode_row(gguf_row_type(file, view, row), gguf_row_data(file, view, row), view->columns,
                    values);
    if (view->tile_columns > 0)
        untile_columns(view, values);
    if (view->is_decay)
        for (int64_t i = 0; i < view->columns; i++)
            values[i] = gguf_a_log(values[i]);
}

bool gguf_row_to_q8(const struct gguf_file *file, const struct gguf_view *view, int64_t row,
                    const struct assay_weights *to, int64_t to_row)
{
    enum { BLOCK = 32, BLOCK_BYTES = 34, SCALE_BYTES = 2 };
    const uint8_t *from = gguf_row_data(file, view, row);
    int8_t *codes = assay_tensor_row(&to->base, to_row);
    uint8_t *scales = assay_tensor_row(&to->scales, to_row);

    if (view->tile_columns % BLOCK != 0)
        return false;
    for (int64_t b = 0; b < view->columns / BLOCK; b++) {
        const int64_t at = gguf_view_column(view, b * BLOCK) / BLOCK;
        memcpy(scales + b * SCALE_BYTES, from + at * BLOCK_BYTES, SCALE_BYTES);
        memcpy(codes + b * BLOCK, from + at * BLOCK_BYTES + SCALE_BYTES, BLOCK);
    }
    for (int64_t k = 0; k < view->columns; k++)
        if (codes[k] == INT8_MIN)
            return false;
    return true;
}
