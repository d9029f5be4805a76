/* SPDX-License-Identifier: MIT
 *
 * Experts that are stored one by one (qwen3_5.md section 3.3: mlp.experts.E.gate_proj.weight,
 * up_proj, down_proj) as the banks that ops take: mlp.experts.gate_up_proj [E, 2*Im, H], gate rows
 * first, and mlp.experts.down_proj [E, H, Im].
 */
#include "artifact/joined.h"

#include <inttypes.h>
#include <string.h>

enum { NUM_BANKS = 2, MAX_MATRICES = 2 };

/* A bank: an expert's matrices, one after another, all of `rows` rows. */
struct bank {
    const char *name; /* after mlp.experts. */
    int num_matrices;
    const char *matrices[MAX_MATRICES]; /* after the expert's number */
    int64_t rows, columns;              /* of a matrix */
};

static void list_banks(const struct assay_model_config *c, struct bank banks[NUM_BANKS])
{
    banks[0] = (struct bank){
        "gate_up_proj", 2, {"gate_proj.weight", "up_proj.weight"}, c->expert_size, c->hidden_size};
    banks[1] = (struct bank){"down_proj", 1, {"down_proj.weight"}, c->hidden_size, c->expert_size};
}

size_t join_expert_stem(const char *name)
{
    static const char part[] = ".mlp.experts.";
    const char *at = strstr(name, part);

    if (at == NULL)
        return 0;
    at += strlen(part);
    return *at >= '0' && *at <= '9' ? (size_t)(at - name) : 0;
}

/* The matrix of an expert. stem: up to the expert's number. */
static assay_status find_expert(const struct join *join, const char *stem, int64_t expert,
                                const char *matrix, int64_t *index)
{
    const struct weight_store *store = join->store;
    char name[JOIN_NAME_SIZE];

    snprintf(name, sizeof name, "%s%" PRId64 ".%s", stem, expert, matrix);
    *index = weight_store_find(store, name);
    if (*index >= 0)
        return ASSAY_OK;
    return assay_fail(join->error, ASSAY_E_NOT_FOUND,
                      store->num_files == 1 ? store->files[0].name : store->kind->list_name, name,
                      "the tensor is missing; config.json states %" PRId64
                      " experts, and others of the layer are stored one by one",
                      join->config->num_experts);
}

/* All of a bank before anything is allocated: there may be fewer experts than config.json says. */
static assay_status check_experts(const struct join *join, const char *stem,
                                  const struct bank *bank)
{
    const struct stored_tensor *tensors = join->store->tensors;
    enum assay_dtype first = ASSAY_NUM_DTYPES;
    int64_t index = 0;

    for (int64_t e = 0; e < join->config->num_experts; e++)
        for (int m = 0; m < bank->num_matrices; m++) {
            ASSAY_TRY(find_expert(join, stem, e, bank->matrices[m], &index));
            ASSAY_TRY(join_check(join, &tensors[index], bank->rows, bank->columns, first));
            first = tensors[index].dtype;
            join->used[index] = true;
        }
    return ASSAY_OK;
}

static assay_status make_bank(const struct join *join, const char *stem, const struct bank *bank)
{
    const struct stored_tensor *tensors = join->store->tensors;
    const int64_t experts = join->config->num_experts, count = experts * bank->num_matrices;
    struct joined_tensor *joined = NULL;
    char name[JOIN_NAME_SIZE + 16];
    int64_t index = 0;

    ASSAY_TRY(check_experts(join, stem, bank));
    snprintf(name, sizeof name, "%s%s", stem, bank->name);
    ASSAY_TRY(find_expert(join, stem, 0, bank->matrices[0], &index));
    ASSAY_TRY(join_new(join, name, &tensors[index], count, bank->rows, &joined));
    joined->tensor.rank = 3;
    joined->tensor.extent[0] = experts;
    joined->tensor.extent[1] = bank->num_matrices * bank->rows;
    joined->tensor.extent[2] = bank->columns;
    for (int64_t p = 0; p < count; p++) {
        const char *matrix = bank->matrices[p % bank->num_matrices];
        ASSAY_TRY(find_expert(join, stem, p / bank->num_matrices, matrix, &index));
        joined->parts->data[p] = tensors[index].data;
    }
    return join_finish(join, joined);
}

/* Tensors [first, last) have the stem of the layer's experts. */
static assay_status join_layer(const struct join *join, int64_t first, int64_t last, size_t length)
{
    const struct stored_tensor *tensors = join->store->tensors;
    struct bank banks[NUM_BANKS];
    char stem[JOIN_NAME_SIZE];

    for (int64_t i = first; i < last; i++)
        if (join_expert_stem(tensors[i].name) == 0)
            return assay_fail(join->error, ASSAY_E_CORRUPT, join_file(join, &tensors[i]),
                              tensors[i].name,
                              "the layer's experts are stored one by one as well (%s): which of "
                              "them the model has cannot be known",
                              tensors[first].name);
    snprintf(stem, sizeof stem, "%.*s", (int)length, tensors[first].name);
    list_banks(join->config, banks);
    for (int b = 0; b < NUM_BANKS; b++)
        ASSAY_TRY(make_bank(join, stem, &banks[b]));
    return ASSAY_OK;
}

/* What else has an expert's name stays in the list, where binding will find no use for it. */
assay_status join_experts(const struct join *join)
{
    const struct weight_store *store = join->store;

    for (int64_t i = 0, last; i < store->num_tensors; i = last) {
        const char *name = store->tensors[i].name;
        const size_t length = join_expert_stem(name);
        last = i + 1;
        if (length == 0)
            continue;
        while (last < store->num_tensors && strncmp(store->tensors[last].name, name, length) == 0)
            last++;
        ASSAY_TRY(join_layer(join, i, last, length));
    }
    return ASSAY_OK;
}
