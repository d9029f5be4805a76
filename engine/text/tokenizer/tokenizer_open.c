/* SPDX-License-Identifier: MIT
 *
 * Opening and closing a tokenizer.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include <string.h>

#include "artifact/input_file.h"
#include "core/core.h"
#include "text/text_json.h"

/* Parses DIR/NAME; *json stays NULL when the file is missing and may be. */
static assay_status read_file(const char *dir, const char *name, bool may_be_missing, json_t **json,
                              struct assay_error *error)
{
    *json = NULL;
    char *path = assay_path_join(dir, name);
    if (path == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, name, "path", "no memory for the path");
    struct assay_map map = {0};
    struct assay_error failure = {0};
    assay_status status = assay_map_open(path, &map, &failure);
    if (status == ASSAY_OK) {
        status = assay_json_parse_object(name, "JSON", map.data, map.bytes, &text_json_limits,
                                         ASSAY_E_PARSE, json, error);
        assay_map_close(&map);
    } else if (status == ASSAY_E_NOT_FOUND && may_be_missing) {
        status = ASSAY_OK;
    } else {
        (void)assay_fail(error, status, name, path,
                         "%s; a model needs it in its folder, or beside "
                         "its .gguf file",
                         failure.message);
    }
    assay_free(path);
    return status;
}

static assay_status read_tokenizer(struct assay_tokenizer *tokenizer, const char *dir,
                                   struct assay_error *error)
{
    json_t *root = NULL, *config = NULL;
    assay_status status = read_file(dir, TOKENIZER_FILE, false, &root, error);
    if (status == ASSAY_OK)
        status = read_file(dir, TOKENIZER_CONFIG_FILE, true, &config, error);
    if (status == ASSAY_OK)
        status = tokenizer_read_steps(tokenizer, root, error);
    if (status == ASSAY_OK)
        status = tokenizer_read_model(tokenizer, root, config, error);
    json_decref(config);
    json_decref(root);
    return status;
}

assay_status assay_tokenizer_open(const char *dir, assay_tokenizer **tokenizer,
                                  struct assay_error *error)
{
    if (tokenizer != NULL)
        *tokenizer = NULL;
    if (dir == NULL || tokenizer == NULL)
        return assay_fail(error, ASSAY_E_ARG, "tokenizer", dir == NULL ? "dir" : "tokenizer",
                          "must not be NULL");
    struct assay_tokenizer *made = assay_alloc_zero(1, sizeof *made);
    if (made == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "tokenizer", "tokenizer", "no memory");
    char *folder = assay_input_folder(dir);
    assay_status status = ASSAY_OK;
    if (folder == NULL)
        status = assay_fail(error, ASSAY_E_MEMORY, "tokenizer", "tokenizer", "no memory");
    if (status == ASSAY_OK)
        status = read_tokenizer(made, folder, error);
    assay_free(folder);
    if (status == ASSAY_OK)
        *tokenizer = made;
    else
        assay_tokenizer_close(made);
    return status;
}

void assay_tokenizer_close(assay_tokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return;
    token_table_destroy(&tokenizer->table);
    merge_table_destroy(&tokenizer->merges);
    added_tokens_destroy(&tokenizer->added);
    split_pattern_free(tokenizer->pattern);
    assay_free(tokenizer);
}

int64_t assay_tokenizer_size(const assay_tokenizer *tokenizer)
{
    return tokenizer != NULL ? tokenizer->table.size : 0;
}

int64_t assay_tokenizer_added(const assay_tokenizer *tokenizer, const char *text)
{
    if (tokenizer == NULL || text == NULL)
        return -1;
    int32_t id = token_table_find(&tokenizer->table, (const unsigned char *)text, strlen(text));
    return id >= 0 && tokenizer->table.tokens[id].kind >= TOKEN_ADDED ? id : -1;
}
