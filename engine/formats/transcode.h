/* SPDX-License-Identifier: MIT
 *
 * A matrix from one weight format to another, in host memory, while a model loads.
 */
#ifndef ASSAY_FORMATS_TRANSCODE_H
#define ASSAY_FORMATS_TRANSCODE_H

#include <assay/context.h>
#include <assay/weights.h>

/* What the result needs: assay_weight_layout_of(to, from->rows, from->columns).total bytes. */

/* Decodes the rows of *from and encodes them (clip25) at `memory`, which has room for the layout of
 * the format; *view is then the whole of it, and no byte of the layout is left unwritten. Rows are
 * shared out over the context's threads; the bytes do not depend on how. The first row's error is
 * returned: ASSAY_E_ARG where a weight's magnitude exceeds what the format's scale can express. */
ASSAY_MUST_USE assay_status transcode_weights(assay_context *context,
                                              const struct assay_weights *from,
                                              enum assay_weight_format to, void *memory,
                                              struct assay_weights *view,
                                              struct assay_error *error);

#endif
