/* SPDX-License-Identifier: MIT
 *
 * The key of gate records: digests of build and policy, names of the rest, the ledger's place.
 */
#include <assay/gate_record.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include <assay/device.h>

#include "core/core.h"

#define WHERE "gate"

/* Written by CMake from golden/gate/policy.json. */
static const char policy_text[] = {
#include "gate_policy_text.inc"
};

const char *assay_gate_policy(size_t *bytes)
{
    *bytes = sizeof policy_text;
    return policy_text;
}

assay_status assay_gate_digest(const void *data, size_t bytes, char digest[65],
                               struct assay_error *error)
{
    unsigned char hash[32];
    digest[0] = '\0';
    if (sodium_init() < 0)
        return assay_fail(error, ASSAY_E_INTERNAL, WHERE, "libsodium", "cannot be initialised");
    crypto_generichash(hash, sizeof hash, data, bytes, NULL, 0);
    sodium_bin2hex(digest, 65, hash, sizeof hash);
    return ASSAY_OK;
}

/* The file that the process was started from, also when it has been replaced since. */
static assay_status build_digest(char digest[65], struct assay_error *error)
{
    struct assay_map map;
    ASSAY_TRY(assay_map_open("/proc/self/exe", &map, error));
    const assay_status status = assay_gate_digest(map.data, map.bytes, digest, error);
    assay_map_close(&map);
    return status;
}

/* A gate on a device speaks for devices of its kind. */
static assay_status describe(const struct assay_gate_machine *machine, char *text, size_t size,
                             struct assay_error *error)
{
    struct assay_device device;
    if (machine->backend != ASSAY_CUDA) {
        snprintf(text, size, "%s", assay_isa_name(machine->isa));
        return ASSAY_OK;
    }
    ASSAY_TRY(assay_device_describe(machine->device, &device, error));
    snprintf(text, size, "sm_%d%d %.80s", device.major, device.minor, device.name);
    return ASSAY_OK;
}

assay_status assay_gate_key_fill(const char *model_digest, assay_trade_set set,
                                 const struct assay_gate_machine *machine,
                                 struct assay_gate_key *key, struct assay_error *error)
{
    *key = (struct assay_gate_key){0};
    if (model_digest == NULL || strlen(model_digest) != 64)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "model digest", "must have 64 characters");
    memcpy(key->model, model_digest, sizeof key->model);
    assay_trade_set_format(set, key->trades, sizeof key->trades);
    snprintf(key->backend, sizeof key->backend, "%s", assay_backend_name(machine->backend));
    ASSAY_TRY(describe(machine, key->isa, sizeof key->isa, error));
    ASSAY_TRY(assay_gate_digest(policy_text, sizeof policy_text, key->policy, error));
    return build_digest(key->build, error);
}

assay_status assay_ledger_default_path(char *path, size_t size, struct assay_error *error)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length;
    /* A relative XDG_DATA_HOME is to be ignored, says the specification. */
    if (data != NULL && data[0] == '/')
        length = snprintf(path, size, "%s/assay/ledger.sqlite", data);
    else if (home != NULL && home[0] != '\0')
        length = snprintf(path, size, "%s/.local/share/assay/ledger.sqlite", home);
    else
        return assay_fail(error, ASSAY_E_NOT_FOUND, "ledger", "HOME",
                          "neither XDG_DATA_HOME nor HOME is set: name the ledger with --ledger");
    if (length < 0 || (size_t)length >= size)
        return assay_fail(error, ASSAY_E_ARG, "ledger", "path", "is longer than %zu bytes", size);
    return ASSAY_OK;
}
