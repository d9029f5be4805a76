/* SPDX-License-Identifier: MIT
 *
 * The mechanical mutants: what there is, and one mutant through its cases.
 */
#ifndef PROPERTIES_MUTATION_H
#define PROPERTIES_MUTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "verify.h"

struct mutant {
    const char *folder; /* of the file */
    const char *file;
    int line;
    const char *operator;
    int number;       /* among those of this operator on this line, from 1 on */
    const char *text; /* of the line */
};

extern const struct mutant mutants[];
extern const int num_mutants;

enum { MUTANT_ID_BYTES = 128 };
/* file:line:operator, and :number from the second on. */
void mutant_id(const struct mutant *m, char id[MUTANT_ID_BYTES]);

/* An op's routes of one backend. */
struct mutation_target {
    const struct case_spec *spec;
    enum assay_backend backend;
    struct case_list list;
    double *seconds; /* of each case, without a mutant */
    uint64_t *work;  /* sites that it comes to */
    uint64_t *reach; /* bits [case][mutant]: the case comes to the mutant's site */
    int64_t *order;  /* cases, least work first */
};

/* What became of a mutant; shared with the children that run it. */
struct mutation_result {
    int64_t reaching; /* cases that come to its site */
    int64_t cases;    /* run until it was killed, or all */
    int64_t at;       /* the running case, in the target's list */
    int target;       /* that killed it */
    int seed;         /* that it took; 0: not killed */
    bool killed;
    char check[32]; /* that killed it: the verdict's finding or the executor's */
    char by[CASE_TEXT_BYTES];
    char message[256];
};

/* The cases of one op and backend, each run without a mutant by a child. False: no memory, or a
 * message about a case that is bad without any mutant. */
bool mutation_target_create(struct mutation_target *t, const struct case_spec *spec,
                            enum assay_backend backend, uint64_t seed, bool measure);
void mutation_target_destroy(struct mutation_target *t);
bool mutation_reaches(const struct mutation_target *t, int64_t at, int mutant);

/* Executions of sites that a mutant's cases may take before the last one; the executor is slower.
 * MUTATION_PATIENCE times as many where the mutant is not known to survive. */
enum { MUTATION_SHARE_CPU = 10000000, MUTATION_SHARE_SIMT = 4000000, MUTATION_PATIENCE = 5 };

/* In a child process: until the first bad verdict, or `shares` of work are done (0: all cases).
 * mutation_start returns the child's id; -1: none. */
int mutation_start(const struct mutation_target *t, int index, int mutant, int shares,
                   struct mutation_result *result);
/* What the child's end says of the mutant that it ran. */
void mutation_finish(const struct mutation_target *t, int status, struct mutation_result *result);

#endif
