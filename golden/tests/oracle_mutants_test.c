/* SPDX-License-Identifier: MIT
 *
 * model.oracle.mutants: every planted error leaves its mark on the traces, far outside the
 * allowance. The value-to-key head mapping has its own test (model.oracle.heads): this model has
 * one key head, for which both mappings are the same. On the mixture of experts only what a dense
 * model does not have is planted.
 */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "oracle_fixture.h"

/* A fault that just passed the allowance would be caught by luck. */
#define CLEARLY 1000

static const char *const descriptions[] = {
#define DESCRIPTION(enumerator, text) text,
    ORACLE_FAULT_TABLE(DESCRIPTION)
#undef DESCRIPTION
};

struct inputs {
    const struct oracle_model *model;
    struct oracle_archive *trace, *mtp;
    int32_t *ids, *next;
    double *hidden;
    int64_t n;
};

static void keep_worse(struct fixture_trace *worst, const struct fixture_trace *trace)
{
    if (trace->worst_share > worst->worst_share)
        *worst = *trace;
}

/* Worst finding over both traces. */
static struct fixture_trace examine(const struct inputs *in, enum oracle_fault fault)
{
    char message[512] = "";
    struct fixture_trace main_trace = {.references = in->trace, .positions = 32};
    struct fixture_trace mtp_trace = {.references = in->mtp, .positions = 32};
    struct oracle_session *session = fixture_session(in->model, ORACLE_FLOAT64, fault);
    fixture_forward(session, in->ids, in->n,
                    &(struct oracle_outputs){
                        .hidden = in->hidden, .observe = fixture_observe, .data = &main_trace});
    struct oracle_outputs outputs = {.observe = fixture_observe, .data = &mtp_trace};
    assay_status status =
        oracle_mtp_forward(session, in->next, in->hidden, in->n, &outputs, message, sizeof message);
    cr_assert_eq(status, ASSAY_OK, "%s", message);
    oracle_session_free(session);
    keep_worse(&main_trace, &mtp_trace);
    return main_trace;
}

Test(model_oracle, mutants)
{
    struct oracle_model *model = fixture_model();
    struct inputs in = {.model = model,
                        .trace = fixture_archive("trace32of96-f64.safetensors"),
                        .mtp = fixture_archive("mtp32of96-f64.safetensors")};
    int64_t count;
    in.ids = fixture_ids(in.trace, "input_ids", &in.n);
    in.next = fixture_ids(in.mtp, "mtp.next_ids", &count);
    in.hidden = malloc((size_t)(in.n * oracle_model_extents(model).hidden_size) * sizeof(double));
    cr_assert_not_null(in.hidden);
    for (int fault = 0; fault < ORACLE_NUM_FAULTS; fault++) {
        const bool is_dense = fault < ORACLE_NUM_DENSE_FAULTS;
        if (fault == ORACLE_FAULT_KEY_HEAD_MODULO ||
            (fault != ORACLE_FAULT_NONE && is_dense != (FIXTURE_LAYERS == 8)))
            continue;
        struct fixture_trace found = examine(&in, (enum oracle_fault)fault);
        cr_log_info("%s: worst %s, %.1e, %.2g times the allowance", descriptions[fault],
                    found.worst_name, found.worst_difference, found.worst_share);
        if (fault == ORACLE_FAULT_NONE)
            cr_assert_leq(found.worst_share, 1);
        else
            cr_assert_gt(found.worst_share, CLEARLY, "survives: %s", descriptions[fault]);
    }
    free(in.hidden);
    free(in.next);
    free(in.ids);
    oracle_archive_close(in.trace);
    oracle_archive_close(in.mtp);
    oracle_model_close(model);
}
