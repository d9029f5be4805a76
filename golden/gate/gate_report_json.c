/* SPDX-License-Identifier: MIT
 *
 * The report as JSON: what --json writes and the ledger keeps.
 */
#include "gate_report.h"

#include <math.h>

#include <jansson.h>

/* JSON has no NaN and no infinity: they are null. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *identity(const struct gate_result *result)
{
    const struct assay_gate_key *key = &result->key;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:i}", "model_dir",
                     result->model_dir, "model_digest", key->model, "trades", key->trades,
                     "backend", key->backend, "isa", key->isa, "build_digest", key->build,
                     "planted", result->plant, "quick", result->quick, "seed",
                     (json_int_t)result->seed, "threads", result->threads);
}

static json_t *limits_of(const struct gate_result *result, enum gate_evidence evidence)
{
    json_t *list = json_array();
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        const struct gate_limit_row *row = &gate_limit_rows[i];
        const bool taken = result->item[row->evidence].taken == GATE_TAKEN;
        if (row->evidence != evidence)
            continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o, s:s}", "key", row->key, "what",
                                              row->what, "value",
                                              taken ? number(result->measured[i]) : json_null(),
                                              "limit", number(result->policy.limit[i]), "state",
                                              gate_state_name(result->state[i])));
    }
    return list;
}

static json_t *evidence(const struct gate_result *result)
{
    json_t *list = json_array();
    for (int e = 0; e < GATE_NUM_EVIDENCE; e++) {
        const struct gate_item *item = &result->item[e];
        const bool covered = gate_evidence_rows[e].needs_coverage;
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:b, s:o, s:f, s:s, s:o}", "name", gate_evidence_rows[e].name,
                      "what", gate_evidence_rows[e].what, "taken", item->taken == GATE_TAKEN,
                      "coverage", covered ? json_integer((json_int_t)item->coverage) : json_null(),
                      "seconds", item->seconds, "note", item->note, "limits",
                      limits_of(result, (enum gate_evidence)e)));
    }
    return list;
}

static json_t *drift(const struct gate_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->num_drift_runs; i++) {
        const struct gate_drift_run *run = &result->drift[i];
        json_t *steps = json_array(), *errors = json_array(), *bounds = json_array();
        for (int k = 0; k < run->num_points; k++) {
            json_array_append_new(steps, number(run->step[k]));
            json_array_append_new(errors, number(run->error[k]));
            json_array_append_new(bounds, number(run->bound[k]));
        }
        json_array_append_new(list, json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "run",
                                              run->name, "steps", (json_int_t)run->steps, "worst",
                                              number(run->worst), "growth", number(run->growth),
                                              "bound_share", number(run->bound_share), "at", steps,
                                              "error", errors, "bound", bounds));
    }
    return list;
}

static json_t *routes(const struct gate_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->num_routes; i++) {
        const struct gate_route *r = &result->route[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:I, s:o, s:o}", "route", r->name, "cases",
                                        (json_int_t)r->cases, "failures", (json_int_t)r->failures,
                                        "bound_share", number(r->bound_share), "allowance_share",
                                        number(r->l2_share)));
    }
    return list;
}

static json_t *divergence(const struct gate_result *result)
{
    static const char *const names[] = {"decode", "prefill"};
    json_t *object = json_object();
    for (int path = 0; path < 2; path++) {
        const struct gate_kl *kl = &result->kl[path];
        if (kl->count == 0)
            continue;
        json_t *bins = json_array();
        for (int b = 0; b < GATE_KL_BINS; b++)
            json_array_append_new(bins, json_integer((json_int_t)kl->bin[b]));
        json_object_set_new(object, names[path],
                            json_pack("{s:I, s:o, s:o, s:I, s:f, s:o}", "tokens",
                                      (json_int_t)kl->count, "mean",
                                      number(kl->sum / (double)kl->count), "max", number(kl->max),
                                      "same_top", (json_int_t)kl->same_top, "lowest_bin",
                                      GATE_KL_LOWEST, "half_decades", bins));
    }
    return object;
}

static json_t *prompts(const struct gate_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->num_prompts; i++) {
        const struct gate_prompt *p = &result->prompt[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "name", p->name, "prompt_tokens",
                      (json_int_t)p->tokens, "steps", (json_int_t)p->steps, "common_prefix",
                      (json_int_t)p->prefix, "changed", (json_int_t)p->changed,
                      "changed_without_trade", (json_int_t)p->baseline_changed, "faults",
                      (json_int_t)p->faults, "logit_difference", number(p->logit_difference)));
    }
    return list;
}

static json_t *losses(const struct gate_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->num_losses; i++) {
        const struct gate_loss *l = &result->loss[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:o, s:o, s:o, s:o}", "text", l->text, "tokens",
                                        (json_int_t)l->tokens, "decode_without", number(l->mean[0]),
                                        "decode_with", number(l->mean[1]), "prefill_without",
                                        number(l->mean[2]), "prefill_with", number(l->mean[3])));
    }
    return list;
}

static json_t *changes(const struct gate_result *result)
{
    static const char *const names[] = {"decode", "prefill", "width"};
    json_t *object = json_object();
    for (int i = 0; i < 3; i++) {
        const struct gate_change *c = &result->change[i];
        json_object_set_new(object, names[i],
                            json_pack("{s:o, s:o, s:o, s:o, s:I}", "relative_change",
                                      number(c->mean), "low_95", number(c->low), "high_95",
                                      number(c->high), "standard_error", number(c->standard_error),
                                      "segments", (json_int_t)c->segments));
    }
    return object;
}

static json_t *width_losses(const struct gate_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->num_width_losses; i++) {
        const struct gate_width_loss *l = &result->width_loss[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:o, s:o, s:I}", "text", l->text,
                                              "tokens", (json_int_t)l->tokens, "without",
                                              number(l->mean[0]), "with", number(l->mean[1]),
                                              "choices_changed", (json_int_t)l->changed));
    }
    return list;
}

static json_t *pair(const double value[2])
{
    return json_pack("{s:o, s:o}", "without", number(value[0]), "with", number(value[1]));
}

/* null where it was not measured. */
static json_t *gain_of(const struct gate_result *result)
{
    const struct gate_gain *g = &result->gain;
    if (!g->taken)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f}", "weight_bytes", pair(g->weights),
                     "decode_step_reads_bytes", pair(g->decode_reads), "state_bytes",
                     pair(g->state), "workspace_bytes", pair(g->workspace),
                     "prefill_tokens_per_second", pair(g->prefill), "decode_tokens_per_second",
                     pair(g->decode), "width_16_tokens_per_second", pair(g->width), "seconds",
                     g->seconds);
}

char *gate_report_json(const struct gate_result *result)
{
    const struct gate_policy *policy = &result->policy;
    json_t *root = json_pack(
        "{s:i, s:s, s:s, s:s, s:f, s:s, s:o, s:{s:s, s:I, s:s, s:s}, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:{s:o, s:o}, s:o}",
        "format", 1, "verdict", gate_verdict_name(result->verdict), "reason", result->reason,
        "recorded", result->recorded, "seconds", result->seconds, "command", result->command, "run",
        identity(result), "policy", "digest", policy->digest, "version",
        (json_int_t)policy->version, "owner", policy->owner, "expires", policy->expires, "evidence",
        evidence(result), "drift", drift(result), "greedy", prompts(result), "losses",
        losses(result), "width_losses", width_losses(result), "loss_changes", changes(result),
        "routes", routes(result), "divergence", divergence(result), "storage", "bytes_without",
        number(result->bytes_without), "bytes_with", number(result->bytes_with), "gain",
        gain_of(result));
    char *text = root == NULL ? NULL : json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    json_decref(root);
    return text;
}
