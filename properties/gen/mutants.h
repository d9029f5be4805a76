/* SPDX-License-Identifier: MIT
 *
 * What every op's mutants share. <op>_mutants.h lists the planted faults as one table of
 *
 *   X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md)
 *
 * and counts them by it; <op>_mutants.c has `assay_status run(const void *args, enum fault fault)`
 * and expands the table three times: to the enumeration, to one route function a fault, and to the
 * rows of its case_mutant array.
 */
#ifndef PROPERTIES_GEN_MUTANTS_H
#define PROPERTIES_GEN_MUTANTS_H

#include "case.h"

/* enum { RMSNORM_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) }; */
#define MUTANT_COUNT(enumerator, short_name, text, ids) +1

/* enum fault { FAULT_TABLE(MUTANT_ENUM) }; */
#define MUTANT_ENUM(enumerator, short_name, text, ids) enumerator,

/* FAULT_TABLE(MUTANT_RUN): a route function has no room for a parameter that names the fault. */
#define MUTANT_RUN(enumerator, short_name, text, ids)                              \
    static assay_status run_##enumerator(assay_context *context, const void *args, \
                                         void *workspace)                          \
    {                                                                              \
        (void)context;                                                             \
        (void)workspace;                                                           \
        return run(args, enumerator);                                              \
    }

/* A row of the array: an op adds its name, the profile that the mutant claims to keep and, where
 * the mutant is not for all calls, the route's `when` and `accepts`. */
#define MUTANT_WHEN(op, claimed, condition, predicate, enumerator, short_name, text, ids) \
    {.fault = text,                                                                       \
     .catalogue = ids,                                                                    \
     .route = {.name = op ".mutant." short_name ".cpu",                                   \
               .backend = ASSAY_CPU,                                                      \
               .profile = claimed,                                                        \
               .when = condition,                                                         \
               .accepts = predicate,                                                      \
               .run = run_##enumerator}},
#define MUTANT(op, claimed, enumerator, short_name, text, ids) \
    MUTANT_WHEN(op, claimed, NULL, NULL, enumerator, short_name, text, ids)

#endif
