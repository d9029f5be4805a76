/* SPDX-License-Identifier: MIT
 *
 * The JSON report of assay perplexity. A figure that is not finite is null.
 */
#include <math.h>

#include <jansson.h>

#include "tools/perplexity_report.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *count(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* ---- losses --------------------------------------------------------------------------------- */

static json_t *loss(const struct quality_result *result, const struct quality_loss *from)
{
    json_t *means = json_array(), *perplexities = json_array();
    for (int s = 0; s < result->num_sources; s++) {
        json_array_append_new(means, number(from->mean[s]));
        json_array_append_new(perplexities, number(exp(from->mean[s])));
    }
    return json_pack("{s:s, s:s, s:I, s:I, s:o, s:o}", "name", from->name, "domain", from->domain,
                     "windows", (json_int_t)from->windows, "tokens", (json_int_t)from->tokens,
                     "nats_per_token", means, "perplexity", perplexities);
}

static json_t *losses(const struct quality_result *result, const struct quality_loss *from,
                      int64_t num)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < num; i++)
        json_array_append_new(list, loss(result, &from[i]));
    return list;
}

static json_t *windows(const struct quality_result *result)
{
    json_t *list = losses(result, result->windows, result->plan.num_windows);
    for (int64_t w = 0; w < result->plan.num_windows; w++) {
        const struct score_window *window = &result->plan.windows[w];
        json_t *row = json_array_get(list, (size_t)w);
        json_object_set_new(row, "begin", json_integer((json_int_t)window->begin));
        json_object_set_new(row, "length", json_integer((json_int_t)window->length));
        json_object_set_new(row, "first_scored", json_integer((json_int_t)window->first));
    }
    return list;
}

/* ---- comparisons ---------------------------------------------------------------------------- */

static json_t *interval(const struct paired_interval *from)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:o}", "mean", number(from->mean), "standard_error",
                     number(from->standard_error), "low", number(from->low), "high",
                     number(from->high), "units", (json_int_t)from->units, "tokens",
                     number(from->tokens));
}

static json_t *change(const struct quality_change *from, const char *base, const char *other)
{
    json_t *levels = json_object();
    for (int level = 0; level < PAIRED_NUM_LEVELS; level++)
        json_object_set_new(levels, paired_level_name((enum paired_level)level),
                            interval(&from->nll[level]));
    json_t *kl = interval(&from->kl), *right = interval(&from->right);
    json_object_set_new(kl, "median", number(from->kl_median));
    json_object_set_new(kl, "99", number(from->kl_99));
    json_object_set_new(kl, "99.9", number(from->kl_999));
    json_object_set_new(kl, "largest", number(from->kl_most));
    json_object_set_new(right, "root_mean_square", number(from->right_rms));
    json_object_set_new(right, "least", number(from->right_least));
    json_object_set_new(right, "most", number(from->right_most));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I}", "base", base, "other", other,
                     "level", paired_level_name(from->level), "nll_change", levels, "kl", kl,
                     "same_top", interval(&from->same_top), "shared_top_5",
                     interval(&from->shared_top), "right_probability_change", right, "not_finite",
                     (json_int_t)from->not_finite);
}

static json_t *comparisons(const struct quality_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->num_changes; i++) {
        const struct quality_change *from = &result->change[i];
        json_array_append_new(
            list, change(from, result->source[from->base].name, result->source[from->other].name));
    }
    return list;
}

static json_t *tool_floor(const struct quality_result *result)
{
    const char *name = result->source[0].name;
    if (!result->has_floor)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:o, s:o}", "tokens", (json_int_t)result->floor_tokens,
                     "pass", (json_int_t)result->floor_width[0], "other_pass",
                     (json_int_t)result->floor_width[1], "itself",
                     change(&result->floor_self, name, name), "other",
                     change(&result->floor_width_change, name, name));
}

/* ---- coverage ------------------------------------------------------------------------------- */

static json_t *sources(const struct quality_result *result)
{
    json_t *list = json_array();
    for (int s = 0; s < result->num_sources; s++) {
        const struct quality_source *from = &result->source[s];
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:I, s:o, s:o}", "name", from->name, "pass_tokens",
                            (json_int_t)from->width, "passes", (json_int_t)from->passes,
                            "full_passes", (json_int_t)from->full_passes, "gdn_chunked",
                            count(from->chunked), "gdn_recurrent", count(from->recurrent)));
    }
    return list;
}

static json_t *routes(const struct quality_result *result)
{
    json_t *object = json_object();
    for (int r = 0; r < result->num_routes; r++) {
        json_t *counts = json_array();
        for (int s = 0; s < result->num_sources; s++)
            json_array_append_new(counts, count(result->routes[r].count[s]));
        json_object_set_new(object, result->routes[r].name, counts);
    }
    return object;
}

bool perplexity_report_json(const struct perplexity_options *options,
                            const struct quality_result *result, FILE *stream)
{
    const struct quality_options *m = &options->measure;
    json_t *power = json_pack("{s:o, s:o, s:o, s:o}", "power", number(m->power), "limit",
                              number(m->limit), "detectable", number(result->detectable),
                              "tokens_needed", number(result->tokens_needed));
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:i, s:b, s:s?, s:I, s:I, s:I, s:I, s:o}", "model", m->model_dir,
        "backend", assay_backend_name(m->backend), "through", score_path_name(m->path), "lanes",
        m->num_lanes > 0 ? m->num_lanes : 1, "ungated", options->ungated, "planted", m->plant,
        "context", (json_int_t)result->context, "stride", (json_int_t)result->stride, "setting",
        (json_int_t)result->setting, "seed", (json_int_t)m->seed, "sources", sources(result));
    json_object_set_new(root, "overall", loss(result, &result->overall));
    json_object_set_new(root, "domains", losses(result, result->domains, result->num_domains));
    json_object_set_new(root, "streams", losses(result, result->streams, result->num_texts));
    json_object_set_new(root, "windows", windows(result));
    json_object_set_new(root, "routes", routes(result));
    json_object_set_new(root, "coverage",
                        result->needs_coverage ? count(result->coverage) : json_null());
    json_object_set_new(root, "comparisons", comparisons(result));
    json_object_set_new(root, "floor", tool_floor(result));
    json_object_set_new(root, "power", power);
    json_object_set_new(root, "verdict", json_string(quality_verdict_name(result->verdict)));
    json_object_set_new(root, "reason", json_string(result->reason));
    json_object_set_new(root, "seconds", number(result->seconds));
    const bool good =
        root != NULL && json_dumpf(root, stream, JSON_INDENT(1)) == 0 && fputc('\n', stream) != EOF;
    json_decref(root);
    return good;
}
