/* SPDX-License-Identifier: MIT */
#include "oracle_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#define TRACE_TOKENS 96

struct oracle_model *fixture_model(void)
{
    char message[512] = "";
    struct oracle_model *model;
    assay_status status = oracle_model_open(FIXTURE_MODEL, &model, message, sizeof message);
    cr_assert_eq(status, ASSAY_OK, "%s", message);
    return model;
}

struct oracle_archive *fixture_archive(const char *file)
{
    char path[4096], message[512] = "";
    (void)snprintf(path, sizeof path, "%s/%s", FIXTURE_REFERENCES, file);
    struct oracle_archive *archive;
    assay_status status = oracle_archive_open(path, &archive, message, sizeof message);
    cr_assert_eq(status, ASSAY_OK, "%s", message);
    return archive;
}

double *fixture_tensor(const struct oracle_archive *archive, const char *name, int64_t *count)
{
    char message[512] = "";
    double *values;
    assay_status status =
        oracle_archive_read(archive, name, &values, count, message, sizeof message);
    cr_assert_eq(status, ASSAY_OK, "%s", message);
    return values;
}

int32_t *fixture_ids(const struct oracle_archive *archive, const char *name, int64_t *count)
{
    double *values = fixture_tensor(archive, name, count);
    int32_t *ids = malloc((size_t)*count * sizeof *ids);
    cr_assert_not_null(ids);
    for (int64_t i = 0; i < *count; i++)
        ids[i] = (int32_t)values[i];
    free(values);
    return ids;
}

struct oracle_session *fixture_session(const struct oracle_model *model,
                                       enum oracle_arithmetic arithmetic, enum oracle_fault fault)
{
    struct oracle_session_options options = {
        .arithmetic = arithmetic, .num_threads = 2, .fault = fault};
    struct oracle_session *session = oracle_session_new(model, &options);
    cr_assert_not_null(session, "out of memory");
    return session;
}

void fixture_forward(struct oracle_session *session, const int32_t *ids, int64_t n,
                     const struct oracle_outputs *outputs)
{
    char message[512] = "";
    assay_status status = oracle_model_forward(session, ids, n, outputs, message, sizeof message);
    cr_assert_eq(status, ASSAY_OK, "%s", message);
}

double fixture_allowance(int64_t layers, int64_t tokens, double scale)
{
    const double u = 0x1p-53, lambda = 10;
    double roundings = (double)layers * (double)(2500 + 3 * tokens);
    return 2 * lambda * sqrt(roundings) * u * scale;
}

double fixture_max_abs(const double *values, int64_t count)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(values[i]));
    return largest;
}

/* A NaN on either side is an infinite difference. */
double fixture_max_difference(const double *a, const double *b, int64_t count)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        double difference = fabs(a[i] - b[i]);
        if (!(difference <= largest))
            largest = isnan(difference) ? INFINITY : difference;
    }
    return largest;
}

/* Layers that were passed before the tensor is complete, from its name. */
static int64_t depth_of(const char *name)
{
    long long layer = 0;
    if (sscanf(name, "layers.%lld.", &layer) == 1)
        return layer + 1;
    if (strcmp(name, "embed") == 0)
        return 0;
    return strncmp(name, "mtp.", 4) == 0 ? FIXTURE_LAYERS + 2 : FIXTURE_LAYERS + 1;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* Both as rows of `cols` elements; `stride` between the rows of the observed one. */
static double row_difference(const double *reference, int64_t rows, int64_t cols,
                             const double *values, int64_t stride)
{
    double largest = 0;
    for (int64_t r = 0; r < rows; r++)
        largest =
            fmax(largest, fixture_max_difference(reference + r * cols, values + r * stride, cols));
    return largest;
}

void fixture_observe(void *data, const char *name, const double *values, int64_t rows, int64_t cols)
{
    struct fixture_trace *trace = data;
    struct oracle_stored stored;
    if (oracle_archive_find(trace->references, name, &stored, NULL, 0) != ASSAY_OK)
        return;
    int64_t count, kept = trace->positions;
    double *reference = fixture_tensor(trace->references, name, &count);
    double difference = INFINITY;    /* another shape */
    if (ends_with(name, ".probs")) { /* [head, kept, kept] of [head, n, n] */
        int64_t heads = stored.extent[0], n = rows / heads;
        difference = 0;
        for (int64_t h = 0; h < heads; h++)
            difference = fmax(difference, row_difference(reference + h * kept * kept, kept, kept,
                                                         values + h * n * cols, cols));
    } else {
        bool whole = ends_with(name, ".state") || ends_with(name, ".conv_state");
        int64_t compared_rows = whole ? rows : kept;
        if (count == compared_rows * cols)
            difference = row_difference(reference, compared_rows, cols, values, cols);
    }
    double allowed =
        fixture_allowance(depth_of(name), TRACE_TOKENS, fixture_max_abs(reference, count));
    double share = difference == 0 ? 0 : difference / allowed;
    if (share > trace->worst_share) {
        trace->worst_share = share;
        trace->worst_difference = difference;
        (void)snprintf(trace->worst_name, sizeof trace->worst_name, "%s", name);
    }
    if (getenv("ORACLE_TRACE_PRINT") != NULL)
        (void)fprintf(stderr, "%-28s difference %.2e of %.2e\n", name, difference, allowed);
    trace->compared++;
    free(reference);
}
