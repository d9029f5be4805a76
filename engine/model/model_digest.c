/* SPDX-License-Identifier: MIT
 *
 * The digest that ties evidence to a model: BLAKE2b-256 over its files in name order: config.json
 * and the safetensors, or artifact.json and payload.bin, or the GGUF file. Each file enters as its
 * name with the terminating zero, its length (u64, little endian) and its bytes, so that no two
 * different sets of files hash the same text.
 */
#include "model/model_state.h"

#include <string.h>

#include <sodium.h>

enum { DIGEST_BYTES = 32 };

static void add_file(crypto_generichash_state *state, const char *name, const struct assay_map *map)
{
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)map->bytes >> 8 * i);
    crypto_generichash_update(state, (const unsigned char *)name, strlen(name) + 1);
    crypto_generichash_update(state, length, sizeof length);
    crypto_generichash_update(state, map->data, map->bytes);
}

static void compute(assay_model *model)
{
    static const char config_name[] = "config.json";
    crypto_generichash_state state;
    unsigned char digest[DIGEST_BYTES];
    bool has_config = model->store.config_map.data != NULL; /* not added yet */

    crypto_generichash_init(&state, NULL, 0, sizeof digest);
    for (int i = 0; i < model->store.num_files; i++) {
        const struct store_file *file = &model->store.files[i];
        if (has_config && strcmp(config_name, file->name) < 0) {
            add_file(&state, config_name, &model->store.config_map);
            has_config = false;
        }
        add_file(&state, file->name, &file->map);
    }
    if (has_config)
        add_file(&state, config_name, &model->store.config_map);
    crypto_generichash_final(&state, digest, sizeof digest);
    sodium_bin2hex(model->digest, sizeof model->digest, digest, sizeof digest);
}

assay_status assay_model_digest(assay_model *model, char digest[65], struct assay_error *error)
{
    if (model == NULL || digest == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_model_digest",
                          model == NULL ? "model" : "digest", "must not be NULL");
    if (model->digest[0] == '\0') {
        if (sodium_init() < 0)
            return assay_fail(error, ASSAY_E_INTERNAL, "assay_model_digest", "libsodium",
                              "cannot be initialised");
        compute(model);
    }
    memcpy(digest, model->digest, sizeof model->digest);
    return ASSAY_OK;
}
