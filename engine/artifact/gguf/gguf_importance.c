/* SPDX-License-Identifier: MIT
 *
 * Importance matrices: see gguf_importance.h.
 */
#include "artifact/gguf/gguf_importance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf_blocks.h"

assay_status gguf_importance_open(const char *path, struct gguf_importance *importance,
                                  struct assay_error *error)
{
    char kind[16] = "";
    bool present;

    ASSAY_TRY(gguf_open(path, &importance->file, error));
    importance->open = true;
    ASSAY_TRY(gguf_text(&importance->file, "general.type", &present, kind, sizeof kind, error));
    if (strcmp(kind, "imatrix") != 0)
        return gguf_refuse(&importance->file, ASSAY_E_FORMAT, "general.type", error,
                           "is \"%s\", expected \"imatrix\": the file is no importance matrix",
                           kind);
    return ASSAY_OK;
}

void gguf_importance_close(struct gguf_importance *importance)
{
    if (importance->open)
        gguf_close(&importance->file);
    importance->open = false;
}

/* The name in GGUF models; false when the matrix is none of a layer. */
static bool gguf_name(const char *name, char text[GGUF_KEY_SIZE])
{
    static const struct {
        const char *suffix, *gguf;
    } names[] = {
        {"self_attn.q_proj.weight", "attn_q.weight"},
        {"self_attn.k_proj.weight", "attn_k.weight"},
        {"self_attn.v_proj.weight", "attn_v.weight"},
        {"self_attn.o_proj.weight", "attn_output.weight"},
        {"linear_attn.in_proj_qkv.weight", "attn_qkv.weight"},
        {"linear_attn.in_proj_z.weight", "attn_gate.weight"},
        {"linear_attn.in_proj_a.weight", "ssm_alpha.weight"},
        {"linear_attn.in_proj_b.weight", "ssm_beta.weight"},
        {"linear_attn.out_proj.weight", "ssm_out.weight"},
        {"mlp.gate_proj.weight", "ffn_gate.weight"},
        {"mlp.up_proj.weight", "ffn_up.weight"},
        {"mlp.down_proj.weight", "ffn_down.weight"},
    };
    const char *layer = strstr(name, "layers.");
    char *end;

    if (strstr(name, "lm_head.weight") != NULL) {
        snprintf(text, GGUF_KEY_SIZE, "output.weight");
        return true;
    }
    if (layer == NULL || strstr(name, "mtp.") != NULL)
        return false;
    const long index = strtol(layer + strlen("layers."), &end, 10);
    for (size_t i = 0; i < sizeof names / sizeof *names && *end == '.'; i++)
        if (strcmp(end + 1, names[i].suffix) == 0) {
            snprintf(text, GGUF_KEY_SIZE, "blk.%ld.%s", index, names[i].gguf);
            return true;
        }
    return false;
}

static const struct gguf_tensor *find_part(const struct gguf_importance *importance,
                                           const char *name, const char *suffix)
{
    char text[GGUF_KEY_SIZE + 16];

    snprintf(text, sizeof text, "%s%s", name, suffix);
    return gguf_find(&importance->file, text);
}

assay_status gguf_importance_of(const struct gguf_importance *importance,
                                const struct assay_model_config *config, const char *name,
                                int64_t columns, float **values, struct assay_error *error)
{
    const bool is_out = strstr(name, "linear_attn.out_proj.") != NULL;
    const struct gguf_view view = {.key_heads = config->linear_key_heads,
                                   .ratio = config->linear_value_heads / config->linear_key_heads,
                                   .tile_columns = is_out ? config->linear_value_dim : 0};
    char text[GGUF_KEY_SIZE];

    *values = NULL;
    if (!importance->open || !gguf_name(name, text))
        return ASSAY_OK;
    const struct gguf_tensor *sums = find_part(importance, text, ".in_sum2");
    const struct gguf_tensor *counts = find_part(importance, text, ".counts");
    if (sums == NULL)
        return ASSAY_OK;
    if (counts == NULL || sums->type != GGUF_TYPE_F32 || counts->type != GGUF_TYPE_F32 ||
        sums->ne[0] != columns || sums->ne[1] != 1 || counts->ne[0] != 1)
        return assay_fail(error, ASSAY_E_SHAPE, importance->file.name, text,
                          "expected %lld sums of one matrix and their count, in F32",
                          (long long)columns);
    float *means = assay_alloc((size_t)columns * sizeof *means);
    if (means == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, importance->file.name, text, "no memory");
    float count, sum;
    memcpy(&count, counts->data, sizeof count);
    bool valid = isfinite(count) && count > 0;
    for (int64_t k = 0; k < columns && valid; k++) {
        memcpy(&sum, sums->data + (size_t)gguf_view_column(&view, k) * sizeof sum, sizeof sum);
        means[k] = sum / count;
        valid = isfinite(means[k]) && means[k] >= 0;
    }
    *values = valid ? means : NULL;
    if (valid)
        return ASSAY_OK;
    assay_free(means);
    return assay_fail(error, ASSAY_E_CORRUPT, importance->file.name, text,
                      "a mean square is negative or not finite, or the count is not positive");
}
