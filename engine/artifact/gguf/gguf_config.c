/* SPDX-License-Identifier: MIT
 *
 * Metadata to the fields of a config.json (qwen3_5.md section 8.2), so that one set of rules checks
 * the models of all containers.
 */
#include "artifact/gguf/gguf.h"

#include <inttypes.h>
#include <string.h>

struct reader {
    const struct gguf_file *file;
    char architecture[32];
    bool is_moe, has_sections; /* the architecture's; the second: of positions in three axes */
    json_t *config;
    struct assay_error *error;
};

/* FOR_MOE: of a mixture required, else left out. */
enum { REQUIRED = 1, FOR_MOE = 2 };

static void full_key(const struct reader *reader, const char *suffix, char key[GGUF_KEY_SIZE])
{
    snprintf(key, GGUF_KEY_SIZE, "%s.%s", reader->architecture, suffix);
}

static assay_status missing(const struct reader *reader, const char *key)
{
    return gguf_refuse(reader->file, ASSAY_E_NOT_FOUND, key, reader->error,
                       "the key is missing; convert the model again with a current converter");
}

static assay_status check_memory(const struct reader *reader, int library_status)
{
    if (library_status == 0)
        return ASSAY_OK;
    return assay_fail(reader->error, ASSAY_E_MEMORY, reader->file->name, "metadata", "no memory");
}

/* Takes the value, which may be NULL when there was no memory for it. */
static assay_status put(const struct reader *reader, json_t *object, const char *field,
                        json_t *value)
{
    return check_memory(reader, json_object_set_new(object, field, value));
}

static assay_status set(const struct reader *reader, const char *field, json_t *value)
{
    return put(reader, reader->config, field, value);
}

static assay_status append(const struct reader *reader, json_t *array, json_t *value)
{
    return check_memory(reader, json_array_append_new(array, value));
}

static assay_status get_integer(const struct reader *reader, const char *suffix, int64_t fallback,
                                bool required, int64_t *value)
{
    char key[GGUF_KEY_SIZE];
    bool present;

    full_key(reader, suffix, key);
    *value = fallback;
    ASSAY_TRY(gguf_integer(reader->file, key, &present, value, reader->error));
    return present || !required ? ASSAY_OK : missing(reader, key);
}

static assay_status get_number(const struct reader *reader, const char *suffix, double *value)
{
    char key[GGUF_KEY_SIZE];
    bool present;

    full_key(reader, suffix, key);
    ASSAY_TRY(gguf_number(reader->file, key, &present, value, reader->error));
    return present ? ASSAY_OK : missing(reader, key);
}

static assay_status copy_sizes(const struct reader *reader)
{
    static const struct {
        const char *suffix, *field;
        int flags;
    } sizes[] = {
        {"context_length", "max_position_embeddings", REQUIRED},
        {"embedding_length", "hidden_size", REQUIRED},
        {"feed_forward_length", "intermediate_size", 0},
        {"attention.head_count", "num_attention_heads", REQUIRED},
        {"attention.key_length", "head_dim", REQUIRED},
        {"ssm.conv_kernel", "linear_conv_kernel_dim", REQUIRED},
        {"ssm.state_size", "linear_key_head_dim", REQUIRED},
        {"ssm.state_size", "linear_value_head_dim", REQUIRED},
        {"ssm.group_count", "linear_num_key_heads", REQUIRED},
        {"ssm.time_step_rank", "linear_num_value_heads", REQUIRED},
        {"nextn_predict_layers", "mtp_num_hidden_layers", 0},
        {"expert_count", "num_experts", FOR_MOE},
        {"expert_used_count", "num_experts_per_tok", FOR_MOE},
        {"expert_feed_forward_length", "moe_intermediate_size", FOR_MOE},
        {"expert_shared_feed_forward_length", "shared_expert_intermediate_size", FOR_MOE},
    };
    int64_t value;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int flags = sizes[i].flags;
        if (flags == FOR_MOE && !reader->is_moe)
            continue;
        ASSAY_TRY(get_integer(reader, sizes[i].suffix, -1, flags != 0, &value));
        if (value >= 0)
            ASSAY_TRY(set(reader, sizes[i].field, json_integer(value)));
    }
    return ASSAY_OK;
}

/* Files of these architectures need not say how experts are weighed: the k largest of a softmax,
 * made to add up to 1 (F19). What says otherwise is another model. The numbers of the functions: 0
 * none, 1 softmax (llama.cpp, src/llama-hparams.h). */
static assay_status check_gating(const struct reader *reader)
{
    enum { NONE, SOFTMAX };
    int64_t function, norm;
    char key[GGUF_KEY_SIZE];

    if (!reader->is_moe)
        return ASSAY_OK;
    ASSAY_TRY(get_integer(reader, "expert_gating_func", SOFTMAX, false, &function));
    ASSAY_TRY(get_integer(reader, "expert_weights_norm", 1, false, &norm));
    full_key(reader, "expert_gating_func", key);
    if (function != NONE && function != SOFTMAX)
        return gguf_refuse(reader->file, ASSAY_E_UNSUPPORTED, key, reader->error,
                           "is %" PRId64 ", expected 1, a softmax", function);
    full_key(reader, "expert_weights_norm", key);
    if (norm != 1)
        return gguf_refuse(reader->file, ASSAY_E_UNSUPPORTED, key, reader->error,
                           "is false, but the weights of a token's experts add up to 1");
    return ASSAY_OK;
}

/* Statements that follow from others, and options of which one value is supported. */
static assay_status check_agreement(const struct reader *reader)
{
    int64_t key_length, value_length, inner, heads, state, scale = 0;
    char key[GGUF_KEY_SIZE];
    bool present;

    ASSAY_TRY(get_integer(reader, "attention.key_length", 0, true, &key_length));
    ASSAY_TRY(get_integer(reader, "attention.value_length", key_length, false, &value_length));
    if (value_length != key_length)
        return gguf_refuse(reader->file, ASSAY_E_UNSUPPORTED, "attention.value_length",
                           reader->error, "is %" PRId64 ", attention.key_length is %" PRId64,
                           value_length, key_length);
    ASSAY_TRY(get_integer(reader, "ssm.time_step_rank", 0, true, &heads));
    ASSAY_TRY(get_integer(reader, "ssm.state_size", 0, true, &state));
    ASSAY_TRY(get_integer(reader, "ssm.inner_size", -1, true, &inner));
    int64_t product;
    if (__builtin_mul_overflow(heads, state, &product) || inner != product)
        return gguf_refuse(reader->file, ASSAY_E_CORRUPT, "ssm.inner_size", reader->error,
                           "is %" PRId64 ", expected ssm.time_step_rank * ssm.state_size", inner);
    ASSAY_TRY(check_gating(reader));
    full_key(reader, "expert_weights_scale", key);
    double factor = 0;
    const struct gguf_entry *entry = gguf_entry_find(reader->file, key);
    if (entry != NULL && (entry->type == GGUF_F32 || entry->type == GGUF_F64))
        ASSAY_TRY(gguf_number(reader->file, key, &present, &factor, reader->error));
    else
        ASSAY_TRY(gguf_integer(reader->file, key, &present, &scale, reader->error));
    if ((factor != 0 && factor != 1) || (scale != 0 && scale != 1))
        return gguf_refuse(reader->file, ASSAY_E_UNSUPPORTED, key, reader->error,
                           "scales the experts' weights, expected 0 or 1");
    return ASSAY_OK;
}

/* A number, or one a layer, where linear layers have 0. */
static assay_status read_kv_heads(const struct reader *reader)
{
    char key[GGUF_KEY_SIZE];
    int64_t heads = 0, value = 0;

    full_key(reader, "attention.head_count_kv", key);
    const struct gguf_entry *entry = gguf_entry_find(reader->file, key);
    if (entry == NULL)
        return missing(reader, key);
    if (entry->count > ASSAY_MAX_LAYERS + 1)
        return gguf_refuse(reader->file, ASSAY_E_CORRUPT, key, reader->error,
                           "has %" PRIu64 " entries, expected one a layer", entry->count);
    for (uint64_t i = 0; i < entry->count; i++) {
        ASSAY_TRY(gguf_element(reader->file, entry, i, &value, reader->error));
        if (value != 0 && heads != 0 && value != heads)
            return gguf_refuse(reader->file, ASSAY_E_UNSUPPORTED, key, reader->error,
                               "names both %" PRId64 " and %" PRId64
                               ", but all layers of this family have the same number",
                               heads, value);
        heads = value != 0 ? value : heads;
    }
    ASSAY_TRY(set(reader, "num_key_value_heads", json_integer(heads)));
    return ASSAY_OK;
}

/* Layer kinds: flags win over the interval. block_count includes the MTP block (trap 4). */
static assay_status read_layers(const struct reader *reader)
{
    char key[GGUF_KEY_SIZE];
    int64_t blocks, nextn, interval, is_linear = 0;
    json_t *kinds;

    ASSAY_TRY(get_integer(reader, "block_count", 0, true, &blocks));
    ASSAY_TRY(get_integer(reader, "nextn_predict_layers", 0, false, &nextn));
    ASSAY_TRY(get_integer(reader, "full_attention_interval", 4, false, &interval));
    full_key(reader, "block_count", key);
    if (nextn < 0 || nextn > 1 || blocks - nextn < 1 || blocks - nextn > ASSAY_MAX_LAYERS)
        return gguf_refuse(reader->file, ASSAY_E_UNSUPPORTED, key, reader->error,
                           "is %" PRId64 " with %" PRId64
                           " blocks for prediction, expected 1 to %d layers and at most one "
                           "such block",
                           blocks, nextn, ASSAY_MAX_LAYERS);
    blocks -= nextn;
    ASSAY_TRY(set(reader, "num_hidden_layers", json_integer(blocks)));
    full_key(reader, "attention.recurrent_layers", key);
    const struct gguf_entry *entry = gguf_entry_find(reader->file, key);
    if (entry == NULL) {
        ASSAY_TRY(set(reader, "full_attention_interval", json_integer(interval)));
        return ASSAY_OK;
    }
    if (!entry->is_array || entry->count < (uint64_t)blocks)
        return gguf_refuse(reader->file, ASSAY_E_CORRUPT, key, reader->error,
                           "is not an array of a flag a layer");
    kinds = json_array();
    ASSAY_TRY(set(reader, "layer_types", kinds));
    for (int64_t i = 0; i < blocks; i++) {
        ASSAY_TRY(gguf_element(reader->file, entry, (uint64_t)i, &is_linear, reader->error));
        ASSAY_TRY(append(reader, kinds,
                         json_string(is_linear != 0 ? "linear_attention" : "full_attention")));
    }
    return ASSAY_OK;
}

/* All of one axis. The angles of text do not depend on the sections: its positions are the same in
 * all axes. */
static assay_status one_section(const struct reader *reader, json_t *sections, int64_t rotated)
{
    for (int i = 0; i < 3; i++)
        ASSAY_TRY(append(reader, sections, json_integer(i == 0 ? rotated / 2 : 0)));
    return ASSAY_OK;
}

/* Three sections, or four of which the last, of no axis of these models, is 0. */
static assay_status read_sections(const struct reader *reader, json_t *rope, int64_t rotated)
{
    char key[GGUF_KEY_SIZE];
    json_t *sections;
    int64_t value = 0;

    full_key(reader, "rope.dimension_sections", key);
    const struct gguf_entry *entry = gguf_entry_find(reader->file, key);
    if (entry == NULL && reader->has_sections)
        return ASSAY_OK;
    sections = json_array();
    ASSAY_TRY(put(reader, rope, "mrope_section", sections));
    if (entry == NULL)
        return one_section(reader, sections, rotated);
    if (!entry->is_array || (entry->count != 3 && entry->count != 4))
        return gguf_refuse(reader->file, ASSAY_E_CORRUPT, key, reader->error,
                           "is not an array of 3 or 4 integers");
    for (uint64_t i = 0; i < entry->count; i++) {
        ASSAY_TRY(gguf_element(reader->file, entry, i, &value, reader->error));
        if (i == 3 && value != 0)
            return gguf_refuse(reader->file, ASSAY_E_UNSUPPORTED, key, reader->error,
                               "its fourth section is %" PRId64 ", expected 0", value);
        if (i < 3)
            ASSAY_TRY(append(reader, sections, json_integer(value)));
    }
    return ASSAY_OK;
}

/* The config has the share of rotated dimensions, of which the whole number is taken; half a
 * dimension more than the exact share makes sure that rounding does not take one away. */
static assay_status read_rope(const struct reader *reader)
{
    int64_t rotated, head_dim, interleaved;
    double base = 0;
    json_t *rope = json_object();

    ASSAY_TRY(set(reader, "rope_parameters", rope));
    ASSAY_TRY(get_number(reader, "rope.freq_base", &base));
    ASSAY_TRY(get_integer(reader, "attention.key_length", 0, true, &head_dim));
    ASSAY_TRY(get_integer(reader, "rope.dimension_count", head_dim, true, &rotated));
    ASSAY_TRY(get_integer(reader, "rope.mrope_interleaved", 1, false, &interleaved));
    if (head_dim < 1 || rotated < 1 || rotated > head_dim)
        return gguf_refuse(reader->file, ASSAY_E_CORRUPT, "rope.dimension_count", reader->error,
                           "is %" PRId64 " of heads of %" PRId64 " dimensions", rotated, head_dim);
    double share = (double)rotated / (double)head_dim;
    if ((int64_t)((double)head_dim * share) != rotated)
        share = ((double)rotated + 0.5) / (double)head_dim;
    ASSAY_TRY(put(reader, rope, "rope_theta", json_real(base)));
    ASSAY_TRY(put(reader, rope, "partial_rotary_factor", json_real(share)));
    ASSAY_TRY(put(reader, rope, "mrope_interleaved", json_boolean(interleaved != 0)));
    return read_sections(reader, rope, rotated);
}

static assay_status read_vocabulary(const struct reader *reader)
{
    static const char name[] = "token_embd.weight", stop[] = "tokenizer.ggml.eos_token_id";
    const struct gguf_tensor *embed = gguf_find(reader->file, name);
    int64_t id = 0;
    bool present;

    if (embed == NULL)
        return assay_fail(reader->error, ASSAY_E_NOT_FOUND, reader->file->name, name,
                          "the tensor is missing; is this the first of several files of a model? "
                          "Join them first");
    ASSAY_TRY(set(reader, "vocab_size", json_integer(embed->ne[1])));
    ASSAY_TRY(set(reader, "tie_word_embeddings",
                  json_boolean(gguf_find(reader->file, "output.weight") == NULL)));
    ASSAY_TRY(gguf_integer(reader->file, stop, &present, &id, reader->error));
    if (present)
        ASSAY_TRY(set(reader, "eos_token_id", json_integer(id)));
    return ASSAY_OK;
}

/* Value heads of qwen35* are tiled unless another producer says otherwise. */
static assay_status read_kind(struct reader *reader, bool *tiled)
{
    static const struct {
        const char *architecture, *model_type;
        bool tiled, is_moe, has_sections;
    } kinds[] = {{"qwen35", "qwen3_5_text", true, false, true},
                 {"qwen35moe", "qwen3_5_moe_text", true, true, true},
                 {"qwen3next", "qwen3_5_moe_text", false, true, false}};
    int64_t reordered;
    bool present;

    ASSAY_TRY(gguf_text(reader->file, "general.architecture", &present, reader->architecture,
                        sizeof reader->architecture, reader->error));
    if (!present)
        return missing(reader, "general.architecture");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(reader->architecture, kinds[i].architecture) != 0)
            continue;
        ASSAY_TRY(set(reader, "model_type", json_string(kinds[i].model_type)));
        ASSAY_TRY(get_integer(reader, "ssm.v_head_reordered", kinds[i].tiled, false, &reordered));
        *tiled = reordered != 0;
        reader->is_moe = kinds[i].is_moe;
        reader->has_sections = kinds[i].has_sections;
        return ASSAY_OK;
    }
    return gguf_refuse(reader->file, ASSAY_E_UNSUPPORTED, "general.architecture", reader->error,
                       "is \"%s\", expected qwen35, qwen35moe or qwen3next", reader->architecture);
}

static assay_status read_all(struct reader *reader, bool *tiled)
{
    double epsilon = 0;

    ASSAY_TRY(read_kind(reader, tiled));
    ASSAY_TRY(copy_sizes(reader));
    ASSAY_TRY(check_agreement(reader));
    ASSAY_TRY(read_kv_heads(reader));
    ASSAY_TRY(read_layers(reader));
    ASSAY_TRY(read_rope(reader));
    ASSAY_TRY(get_number(reader, "attention.layer_norm_rms_epsilon", &epsilon));
    ASSAY_TRY(set(reader, "rms_norm_eps", json_real(epsilon)));
    return read_vocabulary(reader);
}

assay_status gguf_config(const struct gguf_file *file, json_t **config, bool *tiled,
                         struct assay_error *error)
{
    struct reader reader = {.file = file, .config = json_object(), .error = error};

    *config = NULL;
    if (reader.config == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, file->name, "metadata", "no memory");
    const assay_status status = read_all(&reader, tiled);
    if (status != ASSAY_OK)
        json_decref(reader.config);
    else
        *config = reader.config;
    return status;
}
