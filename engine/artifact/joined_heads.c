/* SPDX-License-Identifier: MIT
 *
 * Projections of Qwen3-Next, which have a block of rows for each key head (qwen3_5.md section 3.5),
 * as the projections that ops take:
 *   in_proj_qkvz   blocks of q, k, v, z    in_proj_qkv, in_proj_z
 *   in_proj_ba     blocks of b, a          in_proj_b, in_proj_a
 */
#include "artifact/joined.h"

#include <string.h>

static const char qkvz[] = "in_proj_qkvz.weight", ba[] = "in_proj_ba.weight";

size_t join_heads_stem(const char *name)
{
    static const char part[] = ".linear_attn.";
    const char *at = strstr(name, part);

    if (at == NULL)
        return 0;
    at += strlen(part);
    return strcmp(at, qkvz) == 0 || strcmp(at, ba) == 0 ? (size_t)(at - name) : 0;
}

/* Of each key head's block `run` rows, `offset` rows into it. */
struct section {
    int64_t run, offset;
};

enum { MAX_SECTIONS = 3 };

/* A projection: sections one after another, each of all key heads. */
struct projection {
    const char *name;
    int num_sections;
    struct section sections[MAX_SECTIONS];
};

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Parts are of one size: the longest that divides every run. */
static assay_status make_projection(const struct join *join, const struct stored_tensor *packed,
                                    int stem, const struct projection *projection)
{
    const int64_t keys = join->config->linear_key_heads, columns = join->config->hidden_size;
    const int64_t block = packed->extent[0] / keys;
    const size_t row_bytes = (size_t)columns * assay_dtype_bytes(packed->dtype);
    struct joined_tensor *joined = NULL;
    char name[JOIN_NAME_SIZE];
    int64_t rows = 0, unit = 0, p = 0;

    for (int s = 0; s < projection->num_sections; s++) {
        rows += keys * projection->sections[s].run;
        unit = common_divisor(projection->sections[s].run, unit);
    }
    snprintf(name, sizeof name, "%.*s%s", stem, packed->name, projection->name);
    if (weight_store_find(join->store, name) >= 0)
        return assay_fail(join->error, ASSAY_E_CORRUPT, join_file(join, packed), name,
                          "the projection is stored in blocks of a key head as well (%s): which of "
                          "them the model has cannot be known",
                          packed->name);
    ASSAY_TRY(join_new(join, name, packed, rows / unit, unit, &joined));
    joined->tensor.rank = 2;
    joined->tensor.extent[0] = rows;
    joined->tensor.extent[1] = columns;
    for (int s = 0; s < projection->num_sections; s++)
        for (int64_t g = 0; g < keys; g++)
            for (int64_t r = 0; r < projection->sections[s].run; r += unit)
                joined->parts->data[p++] =
                    packed->data +
                    (size_t)(g * block + projection->sections[s].offset + r) * row_bytes;
    return join_finish(join, joined);
}

static assay_status unpack(const struct join *join, int64_t index, size_t stem)
{
    const struct assay_model_config *c = join->config;
    const struct stored_tensor *packed = &join->store->tensors[index];
    const bool is_input = strcmp(packed->name + stem, qkvz) == 0;
    const int64_t dk = c->linear_key_dim, ratio = c->linear_value_heads / c->linear_key_heads;
    const int64_t values = ratio * c->linear_value_dim;
    const struct projection input[] = {
        {"in_proj_qkv.weight", 3, {{dk, 0}, {dk, dk}, {values, 2 * dk}}},
        {"in_proj_z.weight", 1, {{values, 2 * dk + values}}},
    };
    const struct projection rates[] = {
        {"in_proj_b.weight", 1, {{ratio, 0}}},
        {"in_proj_a.weight", 1, {{ratio, ratio}}},
    };
    const int64_t block = is_input ? 2 * dk + 2 * values : 2 * ratio;

    ASSAY_TRY(
        join_check(join, packed, c->linear_key_heads * block, c->hidden_size, ASSAY_NUM_DTYPES));
    join->used[index] = true;
    for (int i = 0; i < 2; i++)
        ASSAY_TRY(make_projection(join, packed, (int)stem, is_input ? &input[i] : &rates[i]));
    return ASSAY_OK;
}

assay_status join_heads(const struct join *join)
{
    for (int64_t i = 0; i < join->store->num_tensors; i++) {
        const size_t stem = join_heads_stem(join->store->tensors[i].name);
        if (stem > 0)
            ASSAY_TRY(unpack(join, i, stem));
    }
    return ASSAY_OK;
}
