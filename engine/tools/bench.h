/* SPDX-License-Identifier: MIT
 *
 * The measurements of `assay bench`.
 */
#ifndef ASSAY_TOOLS_BENCH_H
#define ASSAY_TOOLS_BENCH_H

#include <jansson.h>

#include <assay/context.h>
#include <assay/device.h>

#include "case.h"

struct bench_options {
    char **arguments;
    int num_arguments;
    int num_threads;
    enum assay_backend backend;
    int device;
    double seconds; /* of one measurement */
    const char *deck, *model, *json;
    const char *plugin; /* NULL: none */
    double time_limit;  /* of one call of the plugin */
};

struct bench {
    struct bench_options options;
    assay_context *context;
    double copy_bandwidth;      /* bytes read + written a second, `num_threads` threads */
    double madd_rate;           /* binary32 multiply-adds a second, `num_threads` threads */
    struct assay_device device; /* backend cuda */
    json_t *rows;
    double last_seconds; /* of the route measured last */
    /* Called before a route is measured; NULL: not. */
    void (*measuring)(void *user, const struct assay_case *c, const struct assay_route *route);
    void *user;
};

/* Each returns an enum tool_exit or prints one line a measurement. */
int bench_begin(struct bench *bench); /* context, and the machine's two rates if not set */
void bench_machine(struct bench *bench);
void bench_case(struct bench *bench, const struct assay_case *c);
void bench_peer(struct bench *bench);
void bench_oracle(struct bench *bench);
int bench_decode(struct bench *bench);
int bench_write(struct bench *bench);
void bench_end(struct bench *bench);

/* plugin_bench.c: the plugin's routes, and ours beside them, in a child process. Writes the JSON,
 * too. */
int bench_plugin(const struct bench_options *options);

/* bench_device.c: backend cuda. The device's two rates; a trial of the case without host memory for
 * its large buffers; seconds of one call on the forced route. */
int bench_device_begin(struct bench *bench);
bool bench_device_trial(struct trial *trial, const struct assay_case *c);
assay_status bench_device_case(struct bench *bench, struct trial *trial, double *seconds);

#endif
