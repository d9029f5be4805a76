/* SPDX-License-Identifier: MIT
 *
 * assay inspect: what a model folder holds and what a session on it costs.
 */
#include "tools/tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <assay/model.h>
#include <assay/tokenizer.h>

struct inspect_options {
    const char *model_dir;
    bool json;
    bool digest;
};

/* Bytes of a sequence's states (qwen3_5.md section 4): KV per token in bf16, the rest per
 * sequence. */
struct state_sizes {
    int64_t full_layers, linear_layers;
    int64_t kv_per_token;
    int64_t conv;          /* f32 */
    int64_t recurrent_f32; /* with gdn-state-fp16: half of it */
};

struct totals {
    int64_t tensors, elements, bytes;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct inspect_options *options = state->input;
    switch (key) {
    case 'j':
        options->json = true;
        return 0;
    case 'd':
        options->digest = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->model_dir != NULL)
            argp_error(state, "one MODEL is enough, found \"%s\" as well", argument);
        options->model_dir = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "MODEL is missing");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static struct state_sizes state_sizes(const struct assay_model_config *config)
{
    struct state_sizes sizes = {0};
    const int64_t values = config->linear_value_heads * config->linear_value_dim;
    const int64_t channels = 2 * config->linear_key_heads * config->linear_key_dim + values;
    for (int64_t i = 0; i < config->num_layers; i++) {
        if (config->layers[i] == ASSAY_LAYER_FULL)
            sizes.full_layers++;
        else
            sizes.linear_layers++;
    }
    sizes.kv_per_token = sizes.full_layers * 2 * config->num_kv_heads * config->head_dim *
                         (int64_t)assay_dtype_bytes(ASSAY_BF16);
    sizes.conv = sizes.linear_layers * (config->conv_taps - 1) * channels *
                 (int64_t)assay_dtype_bytes(ASSAY_F32);
    sizes.recurrent_f32 = sizes.linear_layers * values * config->linear_key_dim *
                          (int64_t)assay_dtype_bytes(ASSAY_F32);
    return sizes;
}

static int64_t tensor_bytes(const struct assay_tensor *tensor)
{
    return assay_tensor_count(tensor) * (int64_t)assay_dtype_bytes(tensor->dtype);
}

static struct totals totals(const assay_model *model)
{
    struct totals sums = {.tensors = assay_model_num_tensors(model)};
    for (int64_t i = 0; i < sums.tensors; i++) {
        const char *name;
        const struct assay_tensor tensor = assay_model_tensor_at(model, i, &name);
        sums.elements += assay_tensor_count(&tensor);
        sums.bytes += tensor_bytes(&tensor);
    }
    return sums;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print_config(const struct assay_model_config *config)
{
    printf("vocabulary        %lld rows\n", (long long)config->vocab_size);
    printf("hidden size       %lld\n", (long long)config->hidden_size);
    if (config->is_moe)
        printf("experts           %lld, %lld a token, width %lld, shared %lld\n",
               (long long)config->num_experts, (long long)config->experts_per_token,
               (long long)config->expert_size, (long long)config->shared_expert_size);
    else
        printf("MLP width         %lld\n", (long long)config->intermediate_size);
    printf("full attention    %lld heads, %lld key heads, dim %lld, %lld rotated, theta %g\n",
           (long long)config->num_heads, (long long)config->num_kv_heads,
           (long long)config->head_dim, (long long)config->rotary_dim, config->rope_theta);
    printf("linear attention  %lld key heads of %lld, %lld value heads of %lld, %lld taps\n",
           (long long)config->linear_key_heads, (long long)config->linear_key_dim,
           (long long)config->linear_value_heads, (long long)config->linear_value_dim,
           (long long)config->conv_taps);
    printf("RMS epsilon       %g\n", config->rms_eps);
    printf("positions         %lld\n", (long long)config->max_positions);
    printf("embedding         %s\n", config->tie_embeddings ? "tied to the head" : "not tied");
    printf("MTP layers        %lld\n", (long long)config->num_mtp_layers);
    printf("stop tokens      ");
    for (int i = 0; i < config->num_stop_tokens; i++)
        printf(" %lld", (long long)config->stop_tokens[i]);
    /* One letter a layer shows the pattern at a glance. */
    printf("\nlayers            %lld: ", (long long)config->num_layers);
    for (int64_t i = 0; i < config->num_layers; i++)
        putchar(config->layers[i] == ASSAY_LAYER_FULL ? 'F' : 'l');
    printf("  (l linear, F full attention)\n");
}

static void print_states(const struct assay_model_config *config)
{
    const struct state_sizes sizes = state_sizes(config);
    printf("\nKV cache          %lld bytes a token (bf16, %lld full layers)\n",
           (long long)sizes.kv_per_token, (long long)sizes.full_layers);
    printf("                  %lld bytes at %lld positions\n",
           (long long)(sizes.kv_per_token * config->max_positions),
           (long long)config->max_positions);
    printf("recurrent state   %lld bytes a sequence (f32, %lld linear layers), %lld with "
           "gdn-state-fp16\n",
           (long long)sizes.recurrent_f32, (long long)sizes.linear_layers,
           (long long)(sizes.recurrent_f32 / 2));
    printf("convolution state %lld bytes a sequence (f32)\n", (long long)sizes.conv);
}

static void print_tensors(const assay_model *model)
{
    const struct totals sums = totals(model);
    printf("\n");
    for (int64_t i = 0; i < sums.tensors; i++) {
        const char *name;
        const struct assay_tensor tensor = assay_model_tensor_at(model, i, &name);
        char shape[96] = "";
        size_t used = 0;
        for (int d = 0; d < tensor.rank; d++)
            used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld",
                                     d == 0 ? "" : ", ", (long long)tensor.extent[d]);
        printf("%-60s %-5s [%s] %lld bytes\n", name, assay_dtype_name(tensor.dtype), shape,
               (long long)tensor_bytes(&tensor));
    }
    printf("%lld tensors, %lld elements, %lld bytes\n", (long long)sums.tensors,
           (long long)sums.elements, (long long)sums.bytes);
}

static void print_text(const assay_model *model, int64_t tokens, const char *digest)
{
    const struct assay_model_config *config = assay_model_config(model);
    printf("model             %s\n", assay_model_dir(model));
    if (digest[0] != '\0')
        printf("digest            %s\n", digest);
    print_config(config);
    printf("tokenizer         %lld tokens\n", (long long)tokens);
    print_states(config);
    print_tensors(model);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* Setters below ignore failures of single values: jansson's *_new functions pass NULL on when
 * memory runs out, and print_json checks the count of what arrived. */
static void set_integer(json_t *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, json_integer(value));
}

static json_t *json_config(const struct assay_model_config *config)
{
    json_t *object = json_object(), *layers = json_array(), *stops = json_array();
    set_integer(object, "vocab_size", config->vocab_size);
    set_integer(object, "hidden_size", config->hidden_size);
    set_integer(object, "intermediate_size", config->intermediate_size);
    set_integer(object, "num_layers", config->num_layers);
    set_integer(object, "num_heads", config->num_heads);
    set_integer(object, "num_kv_heads", config->num_kv_heads);
    set_integer(object, "head_dim", config->head_dim);
    set_integer(object, "rotary_dim", config->rotary_dim);
    json_object_set_new(object, "rope_theta", json_real(config->rope_theta));
    json_object_set_new(object, "rms_eps", json_real(config->rms_eps));
    set_integer(object, "max_positions", config->max_positions);
    set_integer(object, "conv_taps", config->conv_taps);
    set_integer(object, "linear_key_heads", config->linear_key_heads);
    set_integer(object, "linear_key_dim", config->linear_key_dim);
    set_integer(object, "linear_value_heads", config->linear_value_heads);
    set_integer(object, "linear_value_dim", config->linear_value_dim);
    set_integer(object, "num_mtp_layers", config->num_mtp_layers);
    set_integer(object, "num_experts", config->num_experts);
    set_integer(object, "experts_per_token", config->experts_per_token);
    json_object_set_new(object, "tie_embeddings", json_boolean(config->tie_embeddings));
    for (int64_t i = 0; i < config->num_layers; i++)
        json_array_append_new(
            layers, json_string(config->layers[i] == ASSAY_LAYER_FULL ? "full" : "linear"));
    for (int i = 0; i < config->num_stop_tokens; i++)
        json_array_append_new(stops, json_integer(config->stop_tokens[i]));
    json_object_set_new(object, "layers", layers);
    json_object_set_new(object, "stop_tokens", stops);
    return object;
}

static json_t *json_states(const struct assay_model_config *config)
{
    const struct state_sizes sizes = state_sizes(config);
    json_t *object = json_object();
    set_integer(object, "kv_bytes_per_token", sizes.kv_per_token);
    set_integer(object, "recurrent_bytes_f32", sizes.recurrent_f32);
    set_integer(object, "recurrent_bytes_f16", sizes.recurrent_f32 / 2);
    set_integer(object, "conv_bytes_f32", sizes.conv);
    return object;
}

static json_t *json_tensors(const assay_model *model)
{
    json_t *array = json_array();
    const int64_t count = assay_model_num_tensors(model);
    for (int64_t i = 0; i < count; i++) {
        const char *name;
        const struct assay_tensor tensor = assay_model_tensor_at(model, i, &name);
        json_t *object = json_object(), *shape = json_array();
        for (int d = 0; d < tensor.rank; d++)
            json_array_append_new(shape, json_integer(tensor.extent[d]));
        json_object_set_new(object, "name", json_string(name));
        json_object_set_new(object, "dtype", json_string(assay_dtype_name(tensor.dtype)));
        json_object_set_new(object, "shape", shape);
        set_integer(object, "bytes", tensor_bytes(&tensor));
        json_array_append_new(array, object);
    }
    return array;
}

static int print_json(const assay_model *model, int64_t tokens, const char *digest)
{
    const struct assay_model_config *config = assay_model_config(model);
    const struct totals sums = totals(model);
    json_t *root = json_object(), *sizes = json_object();
    set_integer(sizes, "tensors", sums.tensors);
    set_integer(sizes, "elements", sums.elements);
    set_integer(sizes, "bytes", sums.bytes);
    json_object_set_new(root, "model", json_string(assay_model_dir(model)));
    if (digest[0] != '\0')
        json_object_set_new(root, "digest", json_string(digest));
    json_object_set_new(root, "config", json_config(config));
    json_object_set_new(root, "tokenizer_size", json_integer(tokens));
    json_object_set_new(root, "states", json_states(config));
    json_object_set_new(root, "totals", sizes);
    json_object_set_new(root, "tensors", json_tensors(model));
    const size_t members = digest[0] != '\0' ? 7 : 6;
    const bool complete = json_object_size(root) == members &&
                          json_array_size(json_object_get(root, "tensors")) == (size_t)sums.tensors;
    if (complete && json_dumpf(root, stdout, JSON_INDENT(2)) == 0)
        putchar('\n');
    else if (!complete)
        fprintf(stderr, "assay: inspect: the JSON could not be built: out of memory, or a name "
                        "that is not UTF-8\n");
    json_decref(root);
    const int flushed = tool_flush_stdout();
    return complete ? flushed : TOOL_USAGE;
}

int tool_inspect(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"json", 'j', NULL, 0, "Print JSON", 0},
        {"digest", 'd', NULL, 0, "Also print the model's digest (reads all weights)", 0},
        {0}};
    static const struct argp argp = {
        .options = option_table,
        .parser = parse,
        .args_doc = "MODEL",
        .doc = "Shows a model's configuration, its tensors, and what the states of a sequence "
               "cost. Opening checks every tensor against the configuration."
               "\vExamples:\n  assay inspect models/tiny\n"
               "  assay inspect models/tiny --json --digest",
    };
    struct inspect_options options = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return TOOL_USAGE;

    struct assay_error error = {0};
    assay_model *model = NULL;
    assay_tokenizer *tokenizer = NULL;
    char digest[65] = "";
    assay_status status = assay_model_open(options.model_dir, &model, &error);
    if (status == ASSAY_OK)
        status = assay_tokenizer_open(options.model_dir, &tokenizer, &error);
    if (status == ASSAY_OK && options.digest)
        status = assay_model_digest(model, digest, &error);
    int code;
    if (status != ASSAY_OK) {
        code = tool_report(&error);
    } else if (options.json) {
        code = print_json(model, assay_tokenizer_size(tokenizer), digest);
    } else {
        print_text(model, assay_tokenizer_size(tokenizer), digest);
        code = tool_flush_stdout();
    }
    assay_tokenizer_close(tokenizer);
    assay_model_close(model);
    return code;
}
