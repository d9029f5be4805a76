/* SPDX-License-Identifier: MIT
 *
 * assay verify 'sequence ...': a program over sessions.
 */
#ifndef ASSAY_TOOLS_VERIFY_SEQUENCE_H
#define ASSAY_TOOLS_VERIFY_SEQUENCE_H

#include <stdbool.h>

bool is_sequence(const char *argument);
/* Plays the program; a failure prints its shortest form. The exit status. */
int verify_sequence(const char *text);

#endif
