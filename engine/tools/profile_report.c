/* SPDX-License-Identifier: MIT
 *
 * assay profile: its table and its JSON.
 */
#include <jansson.h>

#include "tools/profile.h"
#include "tools/tool.h"

static const char *const names[NUM_PHASES] = {
#define PHASE_NAME(enumerator, name, text) name,
    PROFILE_PHASE_TABLE(PHASE_NAME)
#undef PHASE_NAME
};

static const char *const texts[NUM_PHASES] = {
#define PHASE_TEXT(enumerator, name, text) text,
    PROFILE_PHASE_TABLE(PHASE_TEXT)
#undef PHASE_TEXT
};

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void print_cells(const struct profile_part *part, const struct profile_row *row, FILE *to)
{
    fprintf(to, " %10.1f %6.1f %7.1f ", 1e6 * row->seconds, share(row->seconds, part->seconds),
            row->spans);
    if (row->floor_seconds > 0)
        fprintf(to, "%5.0f %%", share(row->floor_seconds, row->seconds));
    else
        fprintf(to, "%7s", "");
}

static double total_floor(const struct profile_part *part)
{
    double sum = 0;
    for (int phase = 0; phase < NUM_PHASES; phase++)
        sum += part->rows[phase].floor_seconds;
    return sum;
}

void profile_print(const struct profile *profile, FILE *to)
{
    const struct profile_options *o = profile->options;
    const struct profile_part *parts[] = {&profile->decode, &profile->prefill};
    char decode[64], prefill[64];
    snprintf(decode, sizeof decode, "decode step%s", profile->replayed ? ", replayed" : "");
    snprintf(prefill, sizeof prefill, "prefill of %lld", (long long)o->chunk);
    fprintf(to, "%s, %s, after %lld tokens; mean of %lld steps; copy rate %.2f GB/s\n",
            o->model_dir, assay_backend_name(o->context.backend), (long long)o->length,
            (long long)o->steps, 1e-9 * profile->copy_rate);
    fprintf(to, "%-22s %-34s %-34s\n", "", decode, prefill);
    fprintf(to, "%-22s", "phase");
    for (int i = 0; i < 2; i++)
        fprintf(to, " %10s %6s %7s %7s", "us", "%", "spans", "floor");
    fputc('\n', to);
    for (int phase = 0; phase < NUM_PHASES; phase++) {
        fprintf(to, "%-22s", texts[phase]);
        for (int i = 0; i < 2; i++)
            print_cells(parts[i], &parts[i]->rows[phase], to);
        fputc('\n', to);
    }
    fprintf(to, "%-22s", "all");
    for (int i = 0; i < 2; i++)
        fprintf(to, " %10.1f %6.1f %7s %5.0f %%", 1e6 * parts[i]->seconds, 100.0, "",
                share(total_floor(parts[i]), parts[i]->seconds));
    fputc('\n', to);
}

static json_t *part_json(const struct profile_part *part)
{
    json_t *phases = json_object();
    for (int phase = 0; phase < NUM_PHASES; phase++) {
        const struct profile_row *row = &part->rows[phase];
        json_object_set_new(phases, names[phase],
                            json_pack("{s:f, s:f, s:f, s:f}", "seconds", row->seconds, "share",
                                      share(row->seconds, part->seconds) / 100, "spans", row->spans,
                                      "floor_seconds", row->floor_seconds));
    }
    return json_pack("{s:f, s:o}", "seconds", part->seconds, "phases", phases);
}

int profile_print_json(const struct profile *profile, FILE *to)
{
    const struct profile_options *o = profile->options;
    json_t *root =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:b, s:f, s:o, s:o}", "model", o->model_dir, "backend",
                  assay_backend_name(o->context.backend), "context", (json_int_t)o->length, "chunk",
                  (json_int_t)o->chunk, "steps", (json_int_t)o->steps, "cuda_graphs",
                  profile->replayed, "copy_bytes_per_second", profile->copy_rate, "decode",
                  part_json(&profile->decode), "prefill", part_json(&profile->prefill));
    const int status = root == NULL ? -1 : json_dumpf(root, to, JSON_INDENT(2));
    json_decref(root);
    if (status != 0) {
        fprintf(stderr, "assay profile: no memory for the JSON\n");
        return TOOL_USAGE;
    }
    fputc('\n', to);
    return TOOL_OK;
}
