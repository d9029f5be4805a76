/* SPDX-License-Identifier: MIT
 *
 * What assay perplexity prints and writes.
 */
#ifndef ASSAY_TOOLS_PERPLEXITY_REPORT_H
#define ASSAY_TOOLS_PERPLEXITY_REPORT_H

#include <stdio.h>

#include "tools/perplexity_options.h"

void perplexity_report_text(const struct perplexity_options *options,
                            const struct quality_result *result, FILE *stream);
/* Every figure, as JSON. False on lack of memory or a failed write. */
bool perplexity_report_json(const struct perplexity_options *options,
                            const struct quality_result *result, FILE *stream);

#endif
