/* SPDX-License-Identifier: MIT
 *
 * Makes keys and certificates; <assay/certificate.h> reads them.
 */
#ifndef CERTIFICATE_SIGN_H
#define CERTIFICATE_SIGN_H

#include <jansson.h>

#include <assay/status.h>

/* A new key pair: the secret key in `path`, readable by its owner only, the public key in
 * `path`.pub as a line for a list of trusted keys. Overwrites nothing. */
ASSAY_MUST_USE assay_status certificate_new_key(const char *path, struct assay_error *error);
/* The run as ledger_load gives it, signed: the file's text, allocated (free()). Refuses planted
 * runs and records that are damaged, and a key file that others may read. */
ASSAY_MUST_USE assay_status certificate_sign(const json_t *run, const char *key_path, char **text,
                                             struct assay_error *error);

#endif
