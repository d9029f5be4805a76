/* SPDX-License-Identifier: MIT
 *
 * Recording and replaying decode steps.
 */
#include "runtime/step_graphs.h"

#include <assay/device.h>

#include "core/core.h"
#include "runtime/session_faults.h"

/* 256 * 4^8 is the largest capacity. */
enum { NUM_TIERS = 9 };

struct step_graph {
    assay_graph *graph; /* NULL: not recorded */
    bool ran;           /* its calls have run once, so the workspace is large enough */
    /* What the recorded calls name by value and a later step may find changed; the workspace's
     * place is the graph's own affair. */
    uint64_t kv_generation;
    struct token_choice choice; /* PASS_CHOOSE only */
};

struct step_graphs {
    /* Of prefill passes and of decode steps: one of several columns has other calls. */
    struct step_graph slots[2][SESSION_STEP_TOKENS][NUM_TIERS][NUM_PASS_TAILS];
    int64_t num_recorded, num_replayed;
};

struct step_graphs *step_graphs_create(void)
{
    return assay_alloc_zero(1, sizeof(struct step_graphs));
}

void step_graphs_destroy(struct step_graphs *graphs)
{
    if (graphs == NULL)
        return;
    struct step_graph *const slots = &graphs->slots[0][0][0][0];
    for (size_t i = 0; i < sizeof graphs->slots / sizeof *slots; i++)
        assay_graph_destroy(slots[i].graph);
    assay_free(graphs);
}

void step_graphs_counts(const struct step_graphs *graphs, int64_t *recorded, int64_t *replayed)
{
    *recorded = graphs == NULL ? 0 : graphs->num_recorded;
    *replayed = graphs == NULL ? 0 : graphs->num_replayed;
}

/* Numbers that pass the checks of sample are never NaN. */
static bool same_choice(const struct token_choice *a, const struct token_choice *b)
{
    const struct assay_sampling *x = &a->sampling, *y = &b->sampling;
    return a->limit == b->limit && x->temperature == y->temperature && x->top_k == y->top_k &&
           x->top_p == y->top_p && x->min_p == y->min_p && x->presence == y->presence &&
           x->frequency == y->frequency && x->seed == y->seed;
}

static void forget(struct step_graph *slot)
{
    assay_graph_destroy(slot->graph);
    slot->graph = NULL;
}

/* Ends the recording in any case. The error record is then the first failure's: ending has one of
 * its own, which says only that the recording is void. */
static assay_status record(assay_session *session, const struct pass *pass, struct step_graph *slot)
{
    assay_context *const context = session->context;
    ASSAY_TRY(assay_graph_begin(context));
    const assay_status status = session_pass_calls(session, pass);
    const struct assay_error first = *assay_context_error(context);
    const assay_status ended = assay_graph_end(context, &slot->graph);
    if (status != ASSAY_OK) {
        forget(slot);
        assay_context_clear_error(context);
        return assay_refuse(context, status, first.where, first.what, "%s", first.message);
    }
    slot->kv_generation = session->kv_generation;
    return ended;
}

assay_status step_graphs_run(struct step_graphs *graphs, assay_session *session,
                             const struct pass *pass)
{
    int tier;
    const int64_t width = pass->block.ids.extent[0];
    session_tier(session, session->length + width, &tier);
    struct step_graph *const slot =
        &graphs->slots[session->schedule.is_decode][width - 1][tier][pass->tail];
    if (pass->tail == PASS_CHOOSE && !same_choice(&slot->choice, &session->choice)) {
        /* Another kind of draw may need more workspace: it starts from the beginning. */
        forget(slot);
        slot->ran = false;
        slot->choice = session->choice;
    }
    if (!slot->ran) {
        ASSAY_TRY(session_pass_calls(session, pass));
        slot->ran = true;
        return ASSAY_OK;
    }
    if (slot->graph != NULL &&
        ((slot->kv_generation != session->kv_generation && !SESSION_FAULT(STALE_GRAPH)) ||
         !assay_graph_is_current(session->context, slot->graph)))
        forget(slot);
    if (slot->graph == NULL) {
        ASSAY_TRY(record(session, pass, slot));
        graphs->num_recorded++;
    }
    graphs->num_replayed++;
    return assay_graph_replay(session->context, slot->graph);
}
