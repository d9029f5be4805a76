/* SPDX-License-Identifier: MIT
 *
 * Evidence greedy: two sessions, without and with the trade, are fed the same tokens, and their
 * choices are compared at every step. The path is the FP64 reference's continuation where there is
 * one, else the choice made without the trade; both sessions stay on it, so that all steps are
 * compared and not only those before the first departure.
 *
 * A choice that the trade changes is a tie when the gap between the two best tokens is less than
 * twice the difference that was measured between the logits: then either choice is within the
 * error. Otherwise it is a fault. How wide a tie and how large a difference may be is the
 * policy's business: a large error would make everything a tie.
 */
#include "gate_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum {
    STEPS = 128,
    QUICK_PROMPTS = 4,
    QUICK_PROMPT_TOKENS = 256,
    TEXT_PROMPTS = 4, /* of each held-out text, when there are no references */
    TEXT_PROMPT_TOKENS = 192
};

/* The reference's view of one step. */
struct step {
    int32_t choice;
    double logit, gap; /* of the best token, to the second */
    int32_t second;
    double second_logit;
};

struct prompt {
    char name[48];
    int32_t *ids;
    int64_t num_ids;
    struct step *steps; /* NULL: no reference */
    int64_t num_steps;
};

struct prompts {
    struct prompt list[GATE_MAX_PROMPTS];
    int count;
};

static void free_prompts(struct prompts *prompts)
{
    for (int i = 0; i < prompts->count; i++) {
        free(prompts->list[i].ids);
        free(prompts->list[i].steps);
    }
    prompts->count = 0;
}

/* ---- prompts -------------------------------------------------------------------------------- */

static int32_t token(const json_t *value)
{
    return (int32_t)json_integer_value(value);
}

/* False when the entry is not as it should be or there is no memory. */
static bool read_prompt(const json_t *entry, struct prompt *prompt)
{
    const json_t *ids = json_object_get(entry, "prompt_ids");
    const json_t *steps = json_object_get(entry, "steps");
    const char *name = json_string_value(json_object_get(entry, "name"));
    const size_t num_ids = json_array_size(ids), num_steps = json_array_size(steps);
    if (name == NULL || num_ids == 0 || num_steps == 0)
        return false;
    prompt->ids = calloc(num_ids, sizeof *prompt->ids);
    prompt->steps = calloc(num_steps, sizeof *prompt->steps);
    if (prompt->ids == NULL || prompt->steps == NULL)
        return false;
    snprintf(prompt->name, sizeof prompt->name, "%s", name);
    prompt->num_ids = (int64_t)num_ids;
    prompt->num_steps = num_steps < STEPS ? (int64_t)num_steps : STEPS;
    for (size_t i = 0; i < num_ids; i++)
        prompt->ids[i] = token(json_array_get(ids, i));
    for (size_t i = 0; i < num_steps; i++) {
        const json_t *step = json_array_get(steps, i);
        prompt->steps[i] = (struct step){
            .choice = token(json_object_get(step, "top1")),
            .second = token(json_object_get(step, "top2")),
            .logit = json_number_value(json_object_get(step, "logit1")),
            .second_logit = json_number_value(json_object_get(step, "logit2")),
            .gap = json_number_value(json_object_get(step, "gap")),
        };
    }
    return true;
}

static assay_status read_references(const struct gate_bench *bench, struct prompts *prompts,
                                    struct assay_error *error)
{
    char path[1300];
    json_error_t where;
    size_t i;
    json_t *entry;
    bool good = true;
    snprintf(path, sizeof path, "%s/greedy.json", bench->references);
    json_t *root = json_load_file(path, 0, &where);
    if (root == NULL)
        return assay_fail(error, ASSAY_E_PARSE, "gate", path, "%s", where.text);
    json_array_foreach(root, i, entry)
    {
        const size_t length = json_array_size(json_object_get(entry, "prompt_ids"));
        if (prompts->count == (bench->options->quick ? QUICK_PROMPTS : GATE_MAX_PROMPTS))
            break;
        if (bench->options->quick && length > QUICK_PROMPT_TOKENS)
            continue;
        good = good && read_prompt(entry, &prompts->list[prompts->count++]);
    }
    json_decref(root);
    if (!good || prompts->count == 0)
        return assay_fail(error, ASSAY_E_CORRUPT, "gate", path,
                          "holds no prompts with ids and steps");
    return ASSAY_OK;
}

/* Prompts cut out of one held-out text at even distances. */
static assay_status cut_prompts(const struct gate_bench *bench, const char *text,
                                struct prompts *prompts, struct assay_error *error)
{
    int32_t *ids;
    size_t num_ids;
    TRY(gate_bench_text(bench, text, &ids, &num_ids, error));
    const int count = bench->options->quick ? 2 : TEXT_PROMPTS;
    const size_t length = num_ids / 2 < TEXT_PROMPT_TOKENS ? num_ids / 2 : TEXT_PROMPT_TOKENS;
    bool good = length > 0;
    for (int i = 0; i < count && good && prompts->count < GATE_MAX_PROMPTS; i++) {
        struct prompt *prompt = &prompts->list[prompts->count++];
        const size_t begin = (num_ids - length) / (size_t)count * (size_t)i;
        snprintf(prompt->name, sizeof prompt->name, "%s-%zu", text, begin);
        prompt->ids = calloc(length, sizeof *prompt->ids);
        prompt->num_ids = (int64_t)length;
        prompt->num_steps = STEPS;
        good = prompt->ids != NULL;
        if (good)
            memcpy(prompt->ids, ids + begin, length * sizeof *ids);
    }
    assay_tokens_free(ids);
    return good ? ASSAY_OK
                : assay_fail(error, ASSAY_E_MEMORY, "gate", text, "too short, or no memory");
}

static assay_status find_prompts(const struct gate_bench *bench, struct prompts *prompts,
                                 struct assay_error *error)
{
    if (bench->references[0] != '\0')
        return read_references(bench, prompts, error);
    for (int i = 0; i < GATE_MAX_TEXTS; i++)
        TRY(cut_prompts(bench, gate_texts[i], prompts, error));
    return ASSAY_OK;
}

/* ---- comparison ----------------------------------------------------------------------------- */

struct pair {
    const struct gate_bench *bench;
    assay_session *without, *with;
    float *logits_without, *logits_with;
    int64_t steps;
    double faults, widest_tie, largest;
};

/* The best and the second best; ties go to the smaller id, as argmax has it. A NaN is never best,
 * but makes the difference below a NaN. */
static void top_two(const float *logits, int64_t count, int32_t top[2])
{
    top[0] = top[1] = -1;
    for (int64_t i = 0; i < count; i++) {
        if (top[0] < 0 || logits[i] > logits[top[0]]) {
            top[1] = top[0];
            top[0] = (int32_t)i;
        } else if (top[1] < 0 || logits[i] > logits[top[1]]) {
            top[1] = (int32_t)i;
        }
    }
}

static double largest_difference(const struct pair *pair)
{
    double largest = 0.0;
    for (int64_t i = 0; i < pair->bench->addressable; i++) {
        const double d = fabs((double)pair->logits_with[i] - (double)pair->logits_without[i]);
        if (!(d <= largest)) /* also a NaN, which then stays */
            largest = isnan(d) ? INFINITY : d;
    }
    return largest;
}

/* Compares one step and returns the token that the path takes. */
static int32_t compare(struct pair *pair, const struct step *reference, int64_t at,
                       struct gate_prompt *out)
{
    int32_t without[2], with[2];
    const float *logits = pair->logits_without;
    top_two(logits, pair->bench->addressable, without);
    top_two(pair->logits_with, pair->bench->addressable, with);
    struct step here = {.choice = without[0], .gap = 0.0};
    double difference = largest_difference(pair), own = 0.0;
    if (reference != NULL) {
        here = *reference;
        own = fmax(fabs((double)logits[here.choice] - here.logit),
                   fabs((double)logits[here.second] - here.second_logit));
        out->baseline_changed += without[0] != here.choice;
    } else if (without[1] >= 0) {
        here.gap = (double)logits[without[0]] - (double)logits[without[1]];
    }
    out->logit_difference = fmax(out->logit_difference, difference);
    out->steps++;
    if (with[0] == here.choice)
        return here.choice;
    if (out->changed++ == 0)
        out->prefix = at;
    const double error = difference + own;
    const bool tie = isfinite(error) && here.gap < 2.0 * error;
    out->faults += !tie;
    pair->widest_tie = fmax(pair->widest_tie, here.gap);
    return here.choice;
}

/* Reference ids come from a file: they must be tokens of the model. */
static assay_status check_ids(const struct pair *pair, const struct prompt *prompt,
                              struct assay_error *error)
{
    const int64_t limit = pair->bench->addressable;
    for (int64_t i = 0; prompt->steps != NULL && i < prompt->num_steps; i++)
        if (prompt->steps[i].choice < 0 || prompt->steps[i].choice >= limit ||
            prompt->steps[i].second < 0 || prompt->steps[i].second >= limit)
            return assay_fail(error, ASSAY_E_RANGE, "gate", prompt->name,
                              "step %lld of the reference names no token", (long long)i);
    return ASSAY_OK;
}

static assay_status feed(struct pair *pair, const int32_t *ids, int64_t count,
                         struct assay_error *error)
{
    TRY(assay_session_forward(pair->without, ids, count, ASSAY_LOGITS_LAST, pair->logits_without,
                              error));
    return assay_session_forward(pair->with, ids, count, ASSAY_LOGITS_LAST, pair->logits_with,
                                 error);
}

static assay_status run_prompt(struct pair *pair, const struct prompt *prompt,
                               struct gate_prompt *out, int64_t total, struct assay_error *error)
{
    snprintf(out->name, sizeof out->name, "%s", prompt->name);
    out->tokens = prompt->num_ids;
    out->prefix = prompt->num_steps;
    TRY(check_ids(pair, prompt, error));
    assay_session_reset(pair->without);
    assay_session_reset(pair->with);
    TRY(feed(pair, prompt->ids, prompt->num_ids, error));
    for (int64_t i = 0; i < prompt->num_steps; i++) {
        const int32_t next =
            compare(pair, prompt->steps == NULL ? NULL : &prompt->steps[i], i, out);
        TRY(gate_bench_progress(pair->bench, "greedy", ++pair->steps, total, error));
        if (i + 1 < prompt->num_steps)
            TRY(feed(pair, &next, 1, error));
    }
    pair->faults += (double)out->faults;
    pair->largest = fmax(pair->largest, out->logit_difference);
    return ASSAY_OK;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static assay_status open_pair(struct gate_bench *bench, const struct prompts *prompts,
                              struct pair *pair, struct assay_error *error)
{
    struct assay_session_options options = assay_session_defaults();
    int64_t longest = 0;
    for (int i = 0; i < prompts->count; i++)
        longest = prompts->list[i].num_ids > longest ? prompts->list[i].num_ids : longest;
    options.capacity = longest + STEPS;
    pair->logits_without = calloc((size_t)bench->vocab, sizeof(float));
    pair->logits_with = calloc((size_t)bench->vocab, sizeof(float));
    if (pair->logits_without == NULL || pair->logits_with == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "gate", "greedy", "no memory for logits");
    options.trades = bench->trades_without;
    TRY(assay_session_create(bench->without, bench->model, &options, &pair->without, error));
    options.trades = bench->trades_with;
    return assay_session_create(bench->with, bench->model, &options, &pair->with, error);
}

static void close_pair(struct pair *pair)
{
    assay_session_destroy(pair->with);
    assay_session_destroy(pair->without);
    free(pair->logits_with);
    free(pair->logits_without);
}

static void summarise(const struct gate_bench *bench, const struct pair *pair)
{
    struct gate_result *result = bench->result;
    struct gate_item *item = &result->item[GATE_GREEDY];
    int64_t changed = 0;
    int diverging = 0;
    for (int i = 0; i < result->num_prompts; i++) {
        changed += result->prompt[i].changed;
        diverging += result->prompt[i].changed > 0;
    }
    item->taken = GATE_TAKEN;
    snprintf(item->note, sizeof item->note,
             "%d of %d prompts diverge, at %lld of %lld steps; compared with %s", diverging,
             result->num_prompts, (long long)changed, (long long)pair->steps,
             result->references ? "the FP64 reference" : "the run without the trade");
    result->measured[GATE_LIMIT_GREEDY_STEPS] = (double)pair->steps;
    result->measured[GATE_LIMIT_GREEDY_FAULTS] = pair->faults;
    result->measured[GATE_LIMIT_GREEDY_TIE] = pair->widest_tie;
    result->measured[GATE_LIMIT_GREEDY_LOGIT] = pair->largest;
}

assay_status gate_collect_greedy(struct gate_bench *bench, struct assay_error *error)
{
    struct gate_result *result = bench->result;
    struct prompts prompts = {.count = 0};
    struct pair pair = {.bench = bench};
    gate_bench_coverage_begin(bench);
    assay_status status = find_prompts(bench, &prompts, error);
    if (status == ASSAY_OK)
        status = open_pair(bench, &prompts, &pair, error);
    int64_t total = 0;
    for (int i = 0; i < prompts.count; i++)
        total += prompts.list[i].num_steps;
    for (int i = 0; i < prompts.count && status == ASSAY_OK; i++) {
        status = run_prompt(&pair, &prompts.list[i], &result->prompt[i], total, error);
        result->num_prompts = i + 1;
    }
    if (status == ASSAY_OK) {
        summarise(bench, &pair);
        result->item[GATE_GREEDY].coverage = gate_bench_extra_coverage(bench, GATE_GREEDY);
    }
    close_pair(&pair);
    free_prompts(&prompts);
    return status;
}
