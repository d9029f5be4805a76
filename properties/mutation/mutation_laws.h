/* SPDX-License-Identifier: MIT
 *
 * The second line: what no case kills is given to the op's laws, relations between calls that one
 * case cannot see. mutation_laws_<op> is <op>.laws over the copies (the target mutation_laws).
 */
#ifndef PROPERTIES_MUTATION_LAWS_H
#define PROPERTIES_MUTATION_LAWS_H

#include "mutation.h"

/* Whether the program is there and passes without a mutant. */
bool mutation_laws_hold(const char *op);
/* A child that runs it with the mutant; -1: none. */
int mutation_laws_start(const char *op, int mutant);
void mutation_laws_finish(int status, const char *op, struct mutation_result *result);

#endif
