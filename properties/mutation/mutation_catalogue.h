/* SPDX-License-Identifier: MIT
 *
 * catalogue.txt: which mutant stands for which bug of the catalogue of public bugs. A line is
 *
 *   ID FAMILY name | op MUTANT...                 op mutants (assay mutants)
 *   ID FAMILY name | site FILE OPERATOR text      mechanical mutants at lines that hold the text
 *   ID FAMILY name | planted TEST FILE word       a fault in FILE, found by the test TEST
 *   ID FAMILY name | none: why the bug has no counterpart here
 *   ID FAMILY name | open: it has one, and no mutant
 *
 * An id may have several lines.
 */
#ifndef PROPERTIES_MUTATION_CATALOGUE_H
#define PROPERTIES_MUTATION_CATALOGUE_H

#include <stdio.h>

#include "mutation.h"

enum { CATALOGUE_IDS = 149 };

/* Reads the file, sees that all that it names exists, runs the op mutants, prints the score of each
 * family. results: of the mechanical mutants, after a whole run; NULL: not known. markdown: may be
 * NULL. False: something is missing or survives. */
bool catalogue_check(const char *path, const struct mutation_result *results, FILE *markdown);

#endif
