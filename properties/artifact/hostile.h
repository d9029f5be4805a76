/* SPDX-License-Identifier: MIT
 *
 * One attempt to open a folder whose content is not to be trusted, with everything that must hold
 * however the attempt ends.
 */
#ifndef ASSAY_PROPERTIES_HOSTILE_H
#define ASSAY_PROPERTIES_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>

#include <assay/status.h>

/* What one attempt may allocate beyond the bytes of the files; covers the JSON trees of the small
 * files used here, which are some 30 times their text, and the table of layers. */
#define HOSTILE_ALLOWANCE ((size_t)2 << 20)

struct hostile_counts {
    int refused;
    int opened;
};

/* Opens the model in dir, whose files have `bytes` bytes. When it opens, closes it again. When it
 * does not, the record must name `file` in where and contain `field` in what (each may be NULL:
 * any but empty for file, anything for field) and say something. Always: nothing allocated or
 * mapped afterwards and a peak of at most bytes + allowance. Returns the status. */
assay_status hostile_open(const char *dir, size_t bytes, size_t allowance, const char *label,
                          const char *file, const char *field, struct hostile_counts *counts);

/* As hostile_open, and the attempt must fail. */
void hostile_refused(const char *dir, size_t bytes, const char *label, const char *file,
                     const char *field, struct hostile_counts *counts);

#endif
