/* SPDX-License-Identifier: MIT
 *
 * What `assay verify` found, by route: terminal table, JSON, JUnit XML.
 */
#ifndef ASSAY_TOOLS_VERIFY_REPORT_H
#define ASSAY_TOOLS_VERIFY_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/status.h>

#include "tools/tolerated.h"
#include "verify.h"

struct verify_failure {
    struct verify_outcome outcome;
    struct assay_case smallest;
};

struct verify_row {
    const char *op;
    const char *route;
    enum assay_profile profile;
    int64_t cases, failed, mistrusted, not_run, refused, mpfr, tolerated;
    double seconds;
    struct verdict worst;            /* merged over the cases that passed */
    struct assay_case worst_case;    /* of worst.worst_ratio */
    struct verify_failure *failures; /* the first few */
    int num_failures;
};

enum { VERIFY_MAX_FAILURES = 8 }; /* kept for each route; all are counted */

struct verify_report {
    struct verify_row *rows;
    int num_rows;
    uint64_t seed;
    double seconds;
    struct tolerated_list tolerated;
    const char *plugin; /* whose routes these are: repeat commands name it; NULL: none */
};

void verify_report_add(struct verify_report *report, const struct verify_outcome *outcome);
/* Reads the list of tolerated failures, before the first case. */
ASSAY_MUST_USE assay_status verify_report_tolerate(struct verify_report *report, const char *path,
                                                   struct assay_error *error);
/* Cases that failed, are mistrusted or did not run and are not tolerated, and entries of that list
 * whose route ran and no longer has the finding. */
int64_t verify_report_bad(const struct verify_report *report);
/* Those of the bad that had no memory. */
int64_t verify_report_not_run(const struct verify_report *report);
int64_t verify_report_cases(const struct verify_report *report);
/* One case's verdict, its error measures and the worst element's bound. */
void verify_outcome_print(const struct verify_outcome *outcome);
void verify_report_print(const struct verify_report *report);
ASSAY_MUST_USE assay_status verify_report_json(const struct verify_report *report, const char *path,
                                               struct assay_error *error);
ASSAY_MUST_USE assay_status verify_report_junit(const struct verify_report *report,
                                                const char *path, struct assay_error *error);
void verify_report_free(struct verify_report *report);

#endif
