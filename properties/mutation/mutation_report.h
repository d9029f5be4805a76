/* SPDX-License-Identifier: MIT
 *
 * What assay_mutation says in the end.
 */
#ifndef PROPERTIES_MUTATION_REPORT_H
#define PROPERTIES_MUTATION_REPORT_H

#include <stdio.h>

#include "mutation_known.h"

void report_list(const bool *chosen);
/* False when a mutant survived that is not known to; in a whole run also when a known one does not
 * exist or was killed. */
bool report_summary(const struct mutation_result *results, const bool *chosen,
                    struct known_list *known, bool whole);
/* docs/mutation-score.md, of a whole run. */
void report_markdown(FILE *f, const struct mutation_result *results,
                     const struct known_list *known);
void report_survivors(FILE *f, const struct mutation_result *results,
                      const struct known_list *known);

#endif
