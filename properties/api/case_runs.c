/* SPDX-License-Identifier: MIT
 *
 * Running the ops' cases.
 */
#include "case_runs.h"

#include <string.h>

size_t case_run_bytes(const struct trial *trial)
{
    size_t bytes = 0;
    for (int i = 0; i < trial->state->num_buffers; i++)
        bytes +=
            (size_t)trial->state->buffer[i].num_segments * trial->state->buffer[i].segment_bytes;
    return bytes;
}

void case_run_copy(const struct trial *trial, unsigned char *bits)
{
    for (int i = 0; i < trial->state->num_buffers; i++) {
        const struct trial_buffer *b = &trial->state->buffer[i];
        for (int64_t k = 0; k < b->num_segments; k++) {
            memcpy(bits, b->live + (size_t)k * b->segment_pitch, b->segment_bytes);
            bits += b->segment_bytes;
        }
    }
}

assay_status case_run(assay_context *context, struct trial *trial)
{
    trial_restore(trial, 0);
    assay_status status = assay_context_force_route(context, NULL);
    if (status == ASSAY_OK && trial->c->route[0] != '\0')
        status = assay_context_force_route(context, trial->c->route);
    return status == ASSAY_OK ? assay_run_op(context, trial->c->spec->op, trial->args) : status;
}

bool case_run_accepted(const struct trial *trial)
{
    const struct assay_route *route = assay_route_find(trial->c->route, NULL);
    return route != NULL && route->backend == ASSAY_CPU && route->isa <= assay_isa_detect() &&
           (route->accepts == NULL || route->accepts(trial->args));
}
