/* SPDX-License-Identifier: MIT
 *
 * Golden vectors: inputs and outputs in text, from a source that is neither engine nor oracle.
 *
 *   # provenance
 *   vector <case descriptor without route>
 *   in  <args field> <values>
 *   out <args field> <values>
 *   end
 *
 * Values are row-major: decimal or hex floats, integers, nan, inf. Every input of the case must be
 * given, every output listed; an unknown field or a wrong count is an error with its line.
 */
#ifndef PROPERTIES_VECTORS_H
#define PROPERTIES_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "case.h"
#include "oracle.h"

struct vector {
    int line; /* of the "vector" line */
    struct assay_case c;
    struct trial trial;                               /* inputs set */
    struct oracle_output outputs[ORACLE_MAX_OUTPUTS]; /* value from the file, own its rounding */
    int num_outputs;
};

/* Reads the next vector. Returns 1, 0 at the end of the file, -1 with a message on an error.
 * *line counts on from call to call. */
int vector_read(FILE *file, int *line, struct vector *vector, char *message, size_t message_bytes);
void vector_destroy(struct vector *vector);

#endif
