/* SPDX-License-Identifier: MIT
 *
 * Built-in recipes and recipe files: see recipe.h.
 */
#include "model/recipe.h"

#include <fnmatch.h>
#include <string.h>

#include <assay/convert.h>

#include "core/json_input.h"

struct built_in_rule {
    const char *pattern;
    enum assay_weight_format format;
};

/* The decay and the update rate of a value head come from one row each: too few weights to gain
 * anything, and each steers a whole state. So it is with the router's rows, one an expert, and the
 * shared expert's gate. Experts that are stored one by one are bf16 in any recipe: no pass uses
 * them. */
static const struct built_in_rule bf16_rules[] = {{"*", ASSAY_WEIGHT_BF16}};
static const struct built_in_rule q8_rules[] = {
    {"*.in_proj_a.weight", ASSAY_WEIGHT_BF16},
    {"*.in_proj_b.weight", ASSAY_WEIGHT_BF16},
    {"*.mlp.gate.weight", ASSAY_WEIGHT_BF16},
    {"*.mlp.shared_expert_gate.weight", ASSAY_WEIGHT_BF16},
    {"*.mlp.experts.gate_up_proj*", ASSAY_WEIGHT_Q8G32},
    {"*.mlp.experts.down_proj*", ASSAY_WEIGHT_Q8G32},
    {"*.mlp.experts.*", ASSAY_WEIGHT_BF16},
    {"*", ASSAY_WEIGHT_Q8G32},
};
/* What writes to the residual stream or to a state (v, gate, o, down, and in_proj_qkv with v among
 * its rows) gets a bit more than what is compared or gated away. */
static const struct built_in_rule q4_mixed_rules[] = {
    {"*.in_proj_a.weight", ASSAY_WEIGHT_BF16},
    {"*.in_proj_b.weight", ASSAY_WEIGHT_BF16},
    {"*.mlp.gate.weight", ASSAY_WEIGHT_BF16},
    {"*.mlp.shared_expert_gate.weight", ASSAY_WEIGHT_BF16},
    {"*.mlp.experts.gate_up_proj*", ASSAY_WEIGHT_Q4G64},
    {"*.mlp.experts.down_proj*", ASSAY_WEIGHT_Q5G64},
    {"*.mlp.experts.*", ASSAY_WEIGHT_BF16},
    {"*mtp.fc.weight", ASSAY_WEIGHT_BF16},
    {"*.self_attn.q_proj.weight", ASSAY_WEIGHT_Q4G64},
    {"*.self_attn.k_proj.weight", ASSAY_WEIGHT_Q4G64},
    {"*.mlp.gate_proj.weight", ASSAY_WEIGHT_Q4G64},
    {"*.mlp.up_proj.weight", ASSAY_WEIGHT_Q4G64},
    {"*.mlp.shared_expert.gate_proj.weight", ASSAY_WEIGHT_Q4G64},
    {"*.mlp.shared_expert.up_proj.weight", ASSAY_WEIGHT_Q4G64},
    {"*.self_attn.v_proj.weight", ASSAY_WEIGHT_Q5G64},
    {"*.self_attn.o_proj.weight", ASSAY_WEIGHT_Q5G64},
    {"*.linear_attn.in_proj_qkv.weight", ASSAY_WEIGHT_Q5G64},
    {"*.linear_attn.in_proj_z.weight", ASSAY_WEIGHT_Q5G64},
    {"*.linear_attn.out_proj.weight", ASSAY_WEIGHT_Q5G64},
    {"*.mlp.down_proj.weight", ASSAY_WEIGHT_Q5G64},
    {"*.mlp.shared_expert.down_proj.weight", ASSAY_WEIGHT_Q5G64},
    {"*embed_tokens.weight", ASSAY_WEIGHT_Q6G64},
    {"*lm_head.weight", ASSAY_WEIGHT_Q6G64},
};

#define RULES(table) table, (int)(sizeof(table) / sizeof *(table))

static const struct {
    const char *name, *meaning;
    const struct built_in_rule *rules;
    int num_rules;
} built_in[] = {
    {"bf16", "all matrices bf16", RULES(bf16_rules)},
    {"q8", "all matrices q8g32, but the two with a row a value head", RULES(q8_rules)},
    {"q4-mixed", "q4g64 and q5g64, embedding and head q6g64", RULES(q4_mixed_rules)},
};

enum { NUM_BUILT_IN = sizeof built_in / sizeof *built_in };

const char *assay_recipe_name(int index)
{
    return index >= 0 && index < NUM_BUILT_IN ? built_in[index].name : NULL;
}

const char *assay_recipe_meaning(int index)
{
    return index >= 0 && index < NUM_BUILT_IN ? built_in[index].meaning : NULL;
}

static assay_status no_memory(struct assay_error *error)
{
    return assay_fail(error, ASSAY_E_MEMORY, "recipe", "", "no memory for its rules");
}

static assay_status make_room(struct recipe *recipe, size_t num_rules, struct assay_error *error)
{
    recipe->rules = assay_alloc_zero(num_rules, sizeof *recipe->rules);
    return recipe->rules != NULL ? ASSAY_OK : no_memory(error);
}

static assay_status add_rule(struct recipe *recipe, const char *pattern,
                             enum assay_weight_format format, enum assay_weight_encoder encoder,
                             struct assay_error *error)
{
    struct recipe_rule *rule = &recipe->rules[recipe->num_rules];

    *rule = (struct recipe_rule){assay_duplicate(pattern), format, encoder, 0, 0};
    if (rule->pattern == NULL)
        return no_memory(error);
    recipe->num_rules++;
    return ASSAY_OK;
}

static assay_status take_built_in(int index, struct recipe *recipe, struct assay_error *error)
{
    recipe->built_in = true;
    recipe->name = assay_duplicate(built_in[index].name);
    if (recipe->name == NULL)
        return no_memory(error);
    ASSAY_TRY(make_room(recipe, (size_t)built_in[index].num_rules, error));
    for (int i = 0; i < built_in[index].num_rules; i++)
        ASSAY_TRY(add_rule(recipe, built_in[index].rules[i].pattern,
                           built_in[index].rules[i].format, ASSAY_NUM_WEIGHT_ENCODERS, error));
    return ASSAY_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static assay_status refuse(const char *file, size_t index, const char *field, const json_t *found,
                           const char *expected, struct assay_error *error)
{
    char where[64], text[64];

    snprintf(where, sizeof where, "rules[%zu].%s", index, field);
    return assay_fail(error, ASSAY_E_PARSE, file, where, "is %s, expected %s",
                      assay_json_describe(found, text, sizeof text), expected);
}

static assay_status read_rule(const char *file, size_t index, const json_t *json,
                              struct recipe *recipe, struct assay_error *error)
{
    const json_t *pattern = json_object_get(json, "pattern");
    const json_t *format = json_object_get(json, "format");
    const json_t *encoder = json_object_get(json, "encoder");
    enum assay_weight_format format_id = ASSAY_NUM_WEIGHT_FORMATS;
    enum assay_weight_encoder encoder_id = ASSAY_NUM_WEIGHT_ENCODERS;

    if (!json_is_string(pattern) || json_string_length(pattern) == 0)
        return refuse(file, index, "pattern", pattern, "a glob such as \"*.down_proj.weight\"",
                      error);
    if (json_is_string(format))
        format_id = assay_weight_format_from_name(json_string_value(format));
    if (format_id == ASSAY_NUM_WEIGHT_FORMATS)
        return refuse(file, index, "format", format, "bf16, q4g64, q5g64, q6g64 or q8g32", error);
    if (json_is_string(encoder))
        encoder_id = assay_weight_encoder_from_name(json_string_value(encoder));
    if (encoder != NULL && encoder_id == ASSAY_NUM_WEIGHT_ENCODERS)
        return refuse(file, index, "encoder", encoder, "maxabs, clip25 or grouped", error);
    if (json_object_size(json) != (encoder != NULL ? 3u : 2u))
        return refuse(file, index, "", json, "pattern, format and encoder only", error);
    return add_rule(recipe, json_string_value(pattern), format_id, encoder_id, error);
}

static assay_status read_rules(const char *file, const json_t *root, struct recipe *recipe,
                               struct assay_error *error)
{
    const json_t *rules = json_object_get(root, "rules"), *name = json_object_get(root, "name");
    const size_t count = json_array_size(rules);

    if (count == 0)
        return assay_fail(error, ASSAY_E_PARSE, file, "rules",
                          "is missing, empty or not an array of rules");
    if (name != NULL && (!json_is_string(name) || json_string_length(name) == 0))
        return assay_fail(error, ASSAY_E_PARSE, file, "name",
                          "is not a string of one character or more");
    recipe->name = assay_duplicate(name != NULL ? json_string_value(name) : file);
    if (recipe->name == NULL)
        return no_memory(error);
    ASSAY_TRY(make_room(recipe, count, error));
    for (size_t i = 0; i < count; i++)
        ASSAY_TRY(read_rule(file, i, json_array_get(rules, i), recipe, error));
    return ASSAY_OK;
}

static assay_status read_file(const char *path, struct recipe *recipe, struct assay_error *error)
{
    static const struct json_limits limits = {.bytes = 1 << 20, .values = 1 << 16, .depth = 8};
    struct assay_map map;
    json_t *root = NULL;

    if (strchr(path, '/') == NULL && strchr(path, '.') == NULL)
        return assay_fail(error, ASSAY_E_NOT_FOUND, "recipe", path,
                          "is neither a built-in recipe (bf16, q8, q4-mixed) nor the path of a "
                          "JSON file");
    ASSAY_TRY(assay_map_open(path, &map, error));
    assay_status status = assay_json_parse_object(path, "JSON", map.data, map.bytes, &limits,
                                                  ASSAY_E_PARSE, &root, error);
    assay_map_close(&map);
    ASSAY_TRY(status);
    status = read_rules(path, root, recipe, error);
    json_decref(root);
    return status;
}

static assay_status open_any(const char *text, struct recipe *recipe, struct assay_error *error)
{
    for (int i = 0; i < NUM_BUILT_IN; i++)
        if (strcmp(text, built_in[i].name) == 0)
            return take_built_in(i, recipe, error);
    return read_file(text, recipe, error);
}

assay_status recipe_open(const char *text, struct recipe *recipe, struct assay_error *error)
{
    *recipe = (struct recipe){.name = NULL};
    const assay_status status = open_any(text, recipe, error);
    if (status != ASSAY_OK)
        recipe_close(recipe);
    return status;
}

void recipe_close(struct recipe *recipe)
{
    for (int i = 0; i < recipe->num_rules; i++)
        assay_free(recipe->rules[i].pattern);
    assay_free(recipe->rules);
    assay_free(recipe->name);
    *recipe = (struct recipe){.name = NULL};
}

const struct recipe_rule *recipe_choose(struct recipe *recipe, const char *name)
{
    const struct recipe_rule *chosen = NULL;

    for (int i = 0; i < recipe->num_rules; i++) {
        struct recipe_rule *rule = &recipe->rules[i];
        if (fnmatch(rule->pattern, name, 0) != 0)
            continue;
        rule->num_fits++;
        if (chosen == NULL) {
            rule->num_decided++;
            chosen = rule;
        }
    }
    return chosen;
}

assay_status recipe_check_used(const struct recipe *recipe, struct assay_error *error)
{
    for (int i = 0; i < recipe->num_rules && !recipe->built_in; i++)
        if (recipe->rules[i].num_decided == 0)
            return assay_fail(error, ASSAY_E_NOT_FOUND, recipe->name, recipe->rules[i].pattern,
                              recipe->rules[i].num_fits == 0
                                  ? "rule %d fits no matrix of the model; assay inspect lists them"
                                  : "rule %d decides nothing: earlier rules fit all its matrices",
                              i);
    return ASSAY_OK;
}
