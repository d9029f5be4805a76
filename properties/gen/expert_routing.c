/* SPDX-License-Identifier: MIT
 *
 * Slots of tokens for the cases of experts: see expert_routing.h.
 */
#include "expert_routing.h"

#include <string.h>

#include "words.h"

const char *const expert_routing_names[] = {"spread", "last", "one", "repeated", "invalid"};
const char *const expert_weight_names[] = {"any", "router", "zeros"};

/* Distinct experts need as many: other cases get EXPERT_REPEATED. */
static void fit_routing(struct assay_case *c)
{
    if (case_get(c, "E") < case_get(c, "k") && case_get(c, "routing") == EXPERT_SPREAD)
        case_set(c, "routing", EXPERT_REPEATED);
}

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit < 1 ? 1 : limit;
}

/* Of a handful of elements all may be zero, as large gates of the wrong sign make them, or none may
 * have a promise: three rows of x and three weights are not finite. */
static void fit_small(struct assay_case *c)
{
    const int64_t tokens = case_get(c, "T"), pairs = tokens * case_get(c, "k");
    const bool is_wide = c->dist == CASE_DIST_OUTLIERS || c->dist == CASE_DIST_MASSIVE ||
                         c->dist == CASE_DIST_CANCEL || c->dist == CASE_DIST_TIES;
    if (pairs < 4 && case_get(c, "weights") == EXPERT_WEIGHTS_ZEROS)
        case_set(c, "weights", EXPERT_WEIGHTS_ANY);
    if ((tokens < 8 && c->dist == CASE_DIST_NONFINITE) ||
        (pairs * case_get(c, "F") < 16 && is_wide))
        c->dist = CASE_DIST_NORMAL;
}

void expert_fit_extents(struct assay_case *c, int64_t host_work, int64_t executor_work,
                        int64_t most_weights)
{
    const bool is_slow = strstr(c->route, ".simt") != NULL; /* the executor */
    const int64_t most_work = is_slow ? executor_work : host_work;
    int64_t hidden = case_get(c, "H"), width = case_get(c, "F"), k = case_get(c, "k");
    if (c->dist == CASE_DIST_NONFINITE && case_get(c, "T") < 8)
        case_set(c, "T", 8);
    fit_routing(c);
    /* Extents give way to the tokens that a case is about: to the second block of 32, say. */
    const int64_t asked = case_get(c, "T") < 33 ? case_get(c, "T") : 33;
    const bool needs_tokens = asked > 8 || c->dist == CASE_DIST_NONFINITE;
    const int64_t of_token = most_work / 3 / (needs_tokens ? asked : 1);
    if (hidden > width)
        width = at_most(width, of_token / hidden);
    else
        hidden = at_most(hidden, of_token / width);
    k = at_most(k, of_token / hidden / width);
    if (case_get(c, "T") > 0)
        case_set(c, "T", at_most(case_get(c, "T"), most_work / 3 / hidden / width / k));
    case_set(c, "E", at_most(case_get(c, "E"), most_weights / 3 / hidden / width));
    case_set(c, "H", hidden);
    case_set(c, "F", width);
    case_set(c, "k", k);
    fit_routing(c);
    fit_small(c);
}

static int64_t draw_id(const struct trial *trial, int64_t t, int64_t i, const int64_t *row)
{
    const struct assay_case *c = trial->c;
    const int64_t count = case_get(c, "E"), routing = case_get(c, "routing");
    uint64_t at = (uint64_t)(t * 64 + i) << 20;
    if (routing == EXPERT_LAST)
        return (count - 1 - i % count);
    if (routing == EXPERT_ONE)
        return trial_below(trial, "one", 0, count);
    if (routing == EXPERT_INVALID && (t * 5 + i) % 7 == 0)
        return t % 2 == 0 ? -1 : count;
    int64_t id = trial_below(trial, "id", at, count);
    const bool is_distinct = routing == EXPERT_SPREAD && count >= case_get(c, "k");
    for (int64_t j = 0; is_distinct && j < i; j++)
        if (row[j] == id) { /* once more, from the start */
            id = trial_below(trial, "id", ++at, count);
            j = -1;
        }
    return id;
}

void expert_ids(struct trial *trial, const struct assay_tensor *ids)
{
    int64_t row[64];
    for (int64_t t = 0; t < ids->extent[0]; t++)
        for (int64_t i = 0; i < ids->extent[1]; i++) {
            row[i] = draw_id(trial, t, i, row);
            trial_put_int(trial, ids, t * ids->extent[1] + i, row[i]);
        }
}

void expert_weights(struct trial *trial, const struct assay_tensor *weights)
{
    const int64_t kind = case_get(trial->c, "weights"), k = weights->extent[1];
    for (int64_t t = 0; t < weights->extent[0] && kind == EXPERT_WEIGHTS_ROUTER; t++) {
        double sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += 1 + trial_uniform(trial, "part", (uint64_t)(t * k + i));
        for (int64_t i = 0; i < k; i++)
            trial_put(trial, weights, t * k + i,
                      (1 + trial_uniform(trial, "part", (uint64_t)(t * k + i))) / sum);
    }
    for (int64_t i = 0; i < assay_tensor_count(weights) && kind == EXPERT_WEIGHTS_ZEROS; i += 3)
        trial_put(trial, weights, i, 0);
}

bool expert_is_used(const struct assay_tensor *ids, int64_t e)
{
    for (int64_t i = 0; i < assay_tensor_count(ids); i++)
        if (oracle_get_int(ids, i) == e)
            return true;
    return false;
}

/* A repeated row or column, or a wrong expert, shows only where neighbours differ. */
void expert_claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), columns = case_get(c, "H");
    if (c->dist != CASE_DIST_NORMAL || rows == 0 || columns < 8 || case_get(c, "F") < 8 ||
        case_get(c, "routing") == EXPERT_INVALID || case_get(c, "weights") == EXPERT_WEIGHTS_ZEROS)
        return;
    const double *y = outputs[0].value;
    trial_claim(trial, "the last two columns of y differ", y[columns - 1] != y[columns - 2]);
    bool differ = rows < 2;
    for (int64_t n = 0; n < columns && !differ; n++)
        differ = y[(rows - 1) * columns + n] != y[(rows - 2) * columns + n];
    trial_claim(trial, "the last two rows of y differ", differ);
}
