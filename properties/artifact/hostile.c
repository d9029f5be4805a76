/* SPDX-License-Identifier: MIT
 *
 * Attempts to open hostile folders: see hostile.h.
 */
#include "hostile.h"

#include <string.h>

#include <criterion/criterion.h>

#include <assay/model.h>
#include <assay/testing.h>

#include "memory_meter.h"
#include "small_model.h"

static void check_record(const struct assay_error *error, assay_status status, const char *label,
                         const char *file, const char *field)
{
    cr_assert(error->status == status, "%s: record has %s, call returned %s", label,
              assay_status_name(error->status), assay_status_name(status));
    cr_assert(strcmp(assay_status_name(status), "unknown status") != 0, "%s", label);
    cr_assert(status != ASSAY_E_INTERNAL, "%s", label);
    cr_assert(error->where[0] != '\0' && error->message[0] != '\0', "%s: empty record", label);
    cr_assert(file == NULL || strcmp(error->where, file) == 0, "%s: names %s, expected %s (%s)",
              label, error->where, file, error->message);
    cr_assert(field == NULL || strstr(error->what, field) != NULL,
              "%s: names field '%s', expected '%s' (%s)", label, error->what, field,
              error->message);
}

assay_status hostile_open(const char *dir, size_t bytes, size_t allowance, const char *label,
                          const char *file, const char *field, struct hostile_counts *counts)
{
    struct assay_error error = {.status = ASSAY_OK};
    assay_model *model = NULL;

    memory_meter_reset();
    assay_status status = assay_model_open(dir, &model, &error);
    if (status == ASSAY_OK) {
        cr_assert(model != NULL && error.status == ASSAY_OK, "%s", label);
        assay_model_close(model);
        counts->opened++;
    } else {
        cr_assert(model == NULL, "%s", label);
        check_record(&error, status, label, file, field);
        counts->refused++;
    }
    cr_assert(memory_meter_peak() > 0, "%s: the meter saw no allocation at all", label);
    cr_assert(memory_meter_peak() <= bytes + allowance, "%s: %zu bytes live for a file of %zu",
              label, memory_meter_peak(), bytes);
    cr_assert(memory_meter_request() <= bytes + allowance, "%s: %zu bytes asked for a file of %zu",
              label, memory_meter_request(), bytes);
    cr_assert(memory_meter_live() == 0, "%s: %zu bytes leaked", label, memory_meter_live());
    cr_assert(assay_live_allocations() == 0, "%s: %lld allocations leaked", label,
              (long long)assay_live_allocations());
    if (dir[0] != '\0')
        small_unmapped(dir, label);
    return status;
}

void hostile_refused(const char *dir, size_t bytes, const char *label, const char *file,
                     const char *field, struct hostile_counts *counts)
{
    assay_status status = hostile_open(dir, bytes, HOSTILE_ALLOWANCE, label, file, field, counts);

    cr_assert(status != ASSAY_OK, "%s: was opened", label);
}
