/* SPDX-License-Identifier: MIT
 *
 * The measurements of `assay bench`.
 */
#ifndef ASSAY_TOOLS_BENCH_H
#define ASSAY_TOOLS_BENCH_H

#include <jansson.h>

#include <assay/context.h>

#include "case.h"

struct bench_options {
    char **arguments;
    int num_arguments;
    int num_threads;
    double seconds; /* of one measurement */
    const char *deck, *model, *json;
};

struct bench {
    struct bench_options options;
    assay_context *context;
    double copy_bandwidth; /* bytes read + written a second, `num_threads` threads */
    double madd_rate;      /* binary32 multiply-adds a second, `num_threads` threads */
    json_t *rows;
};

/* Each returns an enum tool_exit or prints one line a measurement. */
int bench_begin(struct bench *bench); /* context, and the machine's two rates */
void bench_machine(struct bench *bench);
void bench_case(struct bench *bench, const struct assay_case *c);
void bench_peer(struct bench *bench);
void bench_oracle(struct bench *bench);
int bench_decode(struct bench *bench);
int bench_write(struct bench *bench);
void bench_end(struct bench *bench);

#endif
