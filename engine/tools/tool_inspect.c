/* SPDX-License-Identifier: MIT
 *
 * assay inspect: what a model folder holds and what a session on it costs.
 */
#include "tools/tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include <assay/model.h>
#include <assay/tokenizer.h>

#include "tools/inspect_tensors.h"

struct inspect_options {
    const char *model_dir;
    const char *against;
    bool json;
    bool digest;
    bool verify;
};

/* Bytes of a sequence's states (qwen3_5.md section 4): KV per token in bf16, the rest per
 * sequence. */
struct state_sizes {
    int64_t full_layers, linear_layers;
    int64_t kv_per_token;
    int64_t conv;          /* f32 */
    int64_t recurrent_f32; /* with gdn-state-fp16: half of it */
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
    case 'a':
        options->against = argument;
        return 0;
    case 'v':
        options->verify = true;
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

/* What was found out about a model. */
struct findings {
    assay_model *model, *against;
    assay_tokenizer *tokenizer; /* NULL: a .gguf file without one beside it */
    char digest[65];            /* empty: not asked for */
    struct inspection tensors;
};

static void print_text(const struct findings *found, const struct inspect_options *options)
{
    const struct assay_model_config *config = assay_model_config(found->model);
    printf("model             %s\n", assay_model_dir(found->model));
    if (found->digest[0] != '\0')
        printf("digest            %s\n", found->digest);
    if (options->verify)
        printf("payload           every tensor has its digest\n");
    print_config(config);
    printf("norm weights      %s\n",
           assay_model_final_norms(found->model) ? "final (1 added)" : "offsets from 1");
    if (found->tokenizer != NULL)
        printf("tokenizer         %lld tokens\n",
               (long long)assay_tokenizer_size(found->tokenizer));
    else
        printf("tokenizer         none: put tokenizer.json beside the file to run it\n");
    print_states(config);
    if (assay_model_copied_bytes(found->model) > 0)
        printf("memory            %lld bytes of weights are copied when it is opened to run\n",
               (long long)assay_model_copied_bytes(found->model));
    inspect_print(&found->tensors);
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

static int print_json(const struct findings *found)
{
    const struct assay_model_config *config = assay_model_config(found->model);
    const struct inspection *tensors = &found->tensors;
    json_t *root = json_object(), *sizes = json_object();
    set_integer(sizes, "tensors", tensors->num_tensors);
    set_integer(sizes, "elements", tensors->elements);
    set_integer(sizes, "bytes", tensors->bytes);
    set_integer(sizes, "copied_bytes", assay_model_copied_bytes(found->model));
    json_object_set_new(sizes, "formats", inspect_json_formats(tensors));
    json_object_set_new(root, "model", json_string(assay_model_dir(found->model)));
    if (found->digest[0] != '\0')
        json_object_set_new(root, "digest", json_string(found->digest));
    json_object_set_new(root, "config", json_config(config));
    json_object_set_new(root, "final_norms", json_boolean(assay_model_final_norms(found->model)));
    json_object_set_new(root, "tokenizer_size",
                        json_integer(assay_tokenizer_size(found->tokenizer)));
    json_object_set_new(root, "states", json_states(config));
    json_object_set_new(root, "totals", sizes);
    json_object_set_new(root, "tensors", inspect_json_tensors(tensors));
    const size_t members = found->digest[0] != '\0' ? 8 : 7;
    const bool complete =
        json_object_size(root) == members &&
        json_array_size(json_object_get(root, "tensors")) == (size_t)tensors->num_tensors;
    if (complete && json_dumpf(root, stdout, JSON_INDENT(2)) == 0)
        putchar('\n');
    else if (!complete)
        fprintf(stderr, "assay: inspect: the JSON could not be built: out of memory, or a name "
                        "that is not UTF-8\n");
    json_decref(root);
    const int flushed = tool_flush_stdout();
    return complete ? flushed : TOOL_USAGE;
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

static assay_status open_tokenizer(const char *path, assay_tokenizer **tokenizer,
                                   struct assay_error *error)
{
    struct assay_error detail = {0};
    const assay_status status = assay_tokenizer_open(path, tokenizer, &detail);
    if (status == ASSAY_OK || (status == ASSAY_E_NOT_FOUND && is_file(path)))
        return ASSAY_OK;
    *error = detail;
    return status;
}

static assay_status look(const struct inspect_options *options, struct findings *found,
                         struct assay_error *error)
{
    const char *const path = options->model_dir;
    /* Rows are enough to look at it: opening it to run copies what is stored otherwise. */
    assay_status status = assay_model_open_rows(path, &found->model, error);
    if (status == ASSAY_OK)
        status = open_tokenizer(path, &found->tokenizer, error);
    if (status == ASSAY_OK && options->against != NULL)
        status = assay_model_open_rows(options->against, &found->against, error);
    if (status == ASSAY_OK && options->verify)
        status = assay_model_verify(found->model, error);
    if (status == ASSAY_OK && options->digest)
        status = assay_model_digest(found->model, found->digest, error);
    if (status == ASSAY_OK)
        status = inspect_tensors(found->model, found->against, &found->tensors, error);
    return status;
}

int tool_inspect(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"json", 'j', NULL, 0, "Print JSON", 0},
        {"digest", 'd', NULL, 0, "Also print the model's digest (reads all weights)", 0},
        {"verify", 'v', NULL, 0, "Compare an .assay folder's tensors with their digests", 0},
        {"against", 'a', "SOURCE", 0,
         "Print each tensor's relative L2 error against the same tensor of another model", 0},
        {0}};
    static const struct argp argp = {
        .options = option_table,
        .parser = parse,
        .args_doc = "MODEL",
        .doc = "Shows a model's configuration, its tensors with formats and sizes, and what the "
               "states of a sequence cost. Opening checks every tensor against the configuration."
               "\vExamples:\n  assay inspect models/tiny\n"
               "  assay inspect models/tiny --json --digest\n"
               "  assay inspect tiny-q8.assay --verify --against models/tiny",
    };
    struct inspect_options options = {0};
    struct findings found = {0};
    struct assay_error error = {0};
    int code;

    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return TOOL_USAGE;
    if (look(&options, &found, &error) != ASSAY_OK) {
        code = tool_report(&error);
    } else if (options.json) {
        code = print_json(&found);
    } else {
        print_text(&found, &options);
        code = tool_flush_stdout();
    }
    inspect_free(&found.tensors);
    assay_tokenizer_close(found.tokenizer);
    assay_model_close(found.against);
    assay_model_close(found.model);
    return code;
}
