/* SPDX-License-Identifier: MIT
 *
 * Certificates: a gate run, signed with Ed25519, for machines that do not have its ledger. One
 * file, one line of JSON with sorted keys and without spaces:
 *
 *   {"certificate":PAYLOAD,"public_key":"64 hex digits","signature":"128 hex digits"}
 *
 * The signature is over the bytes of PAYLOAD as they lie in the file. A certificate says no more
 * than the holder of a key said; whose word counts is the business of the list of trusted keys:
 * lines `ed25519 64-HEX-DIGITS NAME`, comments begin with #. The list is $ASSAY_TRUSTED_KEYS, else
 * $XDG_CONFIG_HOME/assay/trusted-keys, else ~/.config/assay/trusted-keys.
 */
#ifndef ASSAY_CERTIFICATE_H
#define ASSAY_CERTIFICATE_H

#include <assay/gate_record.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_CERTIFICATE_FORMAT "assay-certificate-1"

struct assay_certificate {
    struct assay_gate_key key;
    char verdict[16], recorded[32], expires[16]; /* expires: last valid day */
    char public_key[65];
    char signer[64]; /* the key's name in the list of trusted keys */
};

/* Reads a certificate and checks its signature and that the key is trusted; trusted_keys NULL: the
 * list at its place. Not whether it passes, is still valid, or fits anything.
 * ASSAY_E_NOT_FOUND, ASSAY_E_IO; ASSAY_E_CORRUPT: not a certificate, or changed since it was
 * signed; ASSAY_E_GATE: the key is not trusted; ASSAY_E_PARSE: the list has a line that is no key.
 */
ASSAY_MUST_USE assay_status assay_certificate_read(const char *path, const char *trusted_keys,
                                                   struct assay_certificate *certificate,
                                                   struct assay_error *error);
/* The verdict is PASS and the last valid day has not passed; ASSAY_E_GATE says which it is not. */
ASSAY_MUST_USE assay_status assay_certificate_valid(const struct assay_certificate *certificate,
                                                    const char *path, struct assay_error *error);
/* All of it for a run of this process: read, valid, and for this model, set, backend, machine,
 * build and policy. ASSAY_E_GATE names the part that differs. */
ASSAY_MUST_USE assay_status assay_certificate_allows(const char *path, const char *model_digest,
                                                     assay_trade_set set,
                                                     const struct assay_gate_machine *machine,
                                                     struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
