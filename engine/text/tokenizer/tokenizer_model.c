/* SPDX-License-Identifier: MIT
 *
 * Vocabulary, merges and added tokens from the parsed tokenizer files. Everything that the rest of
 * the tokenizer relies on is checked here: ids are unique and nearly dense, each of the 256 bytes
 * has a token, each merge joins two known tokens into a known one.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "core/json_input.h"

enum {
    MAX_ID = (1 << 24) - 1,
    MAX_ADDED_BYTES = 256, /* bounds the search for added tokens at one place of a text */
    SPARE_IDS = 1024,      /* how many unused ids a file may have beyond one for each token */
};

/* What the tables must hold, measured before they are made. */
struct extent {
    int64_t largest_id;
    size_t bytes, count, longest_key;
};

/* ---- the model's options -------------------------------------------------------------------- */

static assay_status check_empty(const json_t *model, const char *name, struct assay_error *error)
{
    const json_t *value = json_object_get(model, name);
    if (value == NULL || json_is_null(value) ||
        (json_is_string(value) && json_string_length(value) == 0))
        return ASSAY_OK;
    char field[64];
    snprintf(field, sizeof field, "model.%s", name);
    return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, field, "must be null, is %s",
                      assay_json_type(value));
}

static assay_status read_flag(const json_t *model, const char *name, bool *flag,
                              struct assay_error *error)
{
    const json_t *value = json_object_get(model, name);
    *flag = json_is_true(value);
    if (value == NULL || json_is_null(value) || json_is_boolean(value))
        return ASSAY_OK;
    char field[64];
    snprintf(field, sizeof field, "model.%s", name);
    return assay_fail(error, ASSAY_E_PARSE, TOKENIZER_FILE, field, "must be true or false, is %s",
                      assay_json_type(value));
}

static assay_status read_options(struct assay_tokenizer *tokenizer, const json_t *model,
                                 struct assay_error *error)
{
    if (!json_is_object(model))
        return assay_fail(error, ASSAY_E_PARSE, TOKENIZER_FILE, "model", "must be an object, is %s",
                          assay_json_type(model));
    const json_t *type = json_object_get(model, "type");
    if (!json_is_string(type) || strcmp(json_string_value(type), "BPE") != 0)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, "model.type",
                          "must be \"BPE\", is %.40s",
                          json_is_string(type) ? json_string_value(type) : assay_json_type(type));
    ASSAY_TRY(check_empty(model, "dropout", error));
    ASSAY_TRY(check_empty(model, "continuing_subword_prefix", error));
    ASSAY_TRY(check_empty(model, "end_of_word_suffix", error));
    bool byte_fallback;
    ASSAY_TRY(read_flag(model, "byte_fallback", &byte_fallback, error));
    if (byte_fallback)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, "model.byte_fallback",
                          "must be false: only byte-level vocabularies are read");
    return read_flag(model, "ignore_merges", &tokenizer->whole_words, error);
}

/* ---- vocabulary ----------------------------------------------------------------------------- */

static assay_status check_id(const char *file, const char *field, const json_t *value, int64_t *id,
                             struct assay_error *error)
{
    if (!json_is_integer(value))
        return assay_fail(error, ASSAY_E_PARSE, file, field, "must be an integer id, is %s",
                          assay_json_type(value));
    *id = json_integer_value(value);
    if (*id < 0 || *id > MAX_ID)
        return assay_fail(error, ASSAY_E_RANGE, file, field, "ids are 0 to %d, this is %" PRId64,
                          (int)MAX_ID, *id);
    return ASSAY_OK;
}

static void vocab_field(char field[96], const char *key)
{
    snprintf(field, 96, "model.vocab[\"%.64s\"]", key);
}

static assay_status measure_vocab(json_t *vocab, struct extent *extent, struct assay_error *error)
{
    if (!json_is_object(vocab))
        return assay_fail(error, ASSAY_E_PARSE, TOKENIZER_FILE, "model.vocab",
                          "must be an object, is %s", assay_json_type(vocab));
    for (void *at = json_object_iter(vocab); at != NULL; at = json_object_iter_next(vocab, at)) {
        const char *key = json_object_iter_key(at);
        size_t bytes = strlen(key);
        char field[96];
        int64_t id = 0;
        vocab_field(field, key);
        if (bytes == 0)
            return assay_fail(error, ASSAY_E_CORRUPT, TOKENIZER_FILE, field, "a token is empty");
        ASSAY_TRY(check_id(TOKENIZER_FILE, field, json_object_iter_value(at), &id, error));
        extent->largest_id = id > extent->largest_id ? id : extent->largest_id;
        extent->longest_key = bytes > extent->longest_key ? bytes : extent->longest_key;
        extent->bytes += bytes;
        extent->count++;
    }
    return ASSAY_OK;
}

static assay_status collisions(const char *file, const char *field, struct assay_error *error)
{
    return assay_fail(error, ASSAY_E_UNSUPPORTED, file, field,
                      "more than %d entries share a hash value", (int)TOKENIZER_MAX_PROBES);
}

static assay_status fill_vocab(struct token_table *table, json_t *vocab, struct assay_error *error)
{
    for (void *at = json_object_iter(vocab); at != NULL; at = json_object_iter_next(vocab, at)) {
        const char *key = json_object_iter_key(at);
        int32_t id = (int32_t)json_integer_value(json_object_iter_value(at));
        char field[96];
        vocab_field(field, key);
        if (table->tokens[id].kind != TOKEN_NONE)
            return assay_fail(error, ASSAY_E_CORRUPT, TOKENIZER_FILE, field,
                              "id %d belongs to another token already", (int)id);
        unsigned char *raw = table->bytes + table->bytes_used;
        int64_t bytes = byte_alphabet_decode(key, strlen(key), raw);
        if (bytes < 0)
            return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, field,
                              "holds a character that stands for no byte");
        if (!token_table_put(table, id, TOKEN_PLAIN, raw, (size_t)bytes))
            return collisions(TOKENIZER_FILE, field, error);
    }
    return ASSAY_OK;
}

static assay_status fill_byte_ids(struct assay_tokenizer *tokenizer, struct assay_error *error)
{
    for (int byte = 0; byte < 256; byte++) {
        unsigned char raw = (unsigned char)byte;
        tokenizer->byte_ids[byte] = token_table_find(&tokenizer->table, &raw, 1);
        if (tokenizer->byte_ids[byte] < 0)
            return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, "model.vocab",
                              "has no token for the byte 0x%02X", (unsigned)byte);
    }
    return ASSAY_OK;
}

/* ---- merges --------------------------------------------------------------------------------- */

/* The two sides of a merge: ["a", "b"], or the older "a b". */
static bool sides_of(const json_t *merge, const char *side[2], size_t bytes[2])
{
    if (json_is_string(merge)) {
        side[0] = json_string_value(merge);
        const char *space = strchr(side[0], ' ');
        if (space == NULL || strchr(space + 1, ' ') != NULL)
            return false;
        side[1] = space + 1;
        bytes[0] = (size_t)(space - side[0]);
        bytes[1] = strlen(side[1]);
        return true;
    }
    if (!json_is_array(merge) || json_array_size(merge) != 2)
        return false;
    for (size_t i = 0; i < 2; i++) {
        const json_t *text = json_array_get(merge, i);
        if (!json_is_string(text))
            return false;
        side[i] = json_string_value(text);
        bytes[i] = json_string_length(text);
    }
    return true;
}

/* scratch: twice the longest key. */
static assay_status read_merge(struct assay_tokenizer *tokenizer, const json_t *json, size_t rank,
                               unsigned char *scratch, size_t longest, struct assay_error *error)
{
    const struct token_table *table = &tokenizer->table;
    char field[96];
    snprintf(field, sizeof field, "model.merges[%zu]", rank);
    const char *side[2];
    size_t bytes[2], total = 0;
    int32_t id[2];
    if (!sides_of(json, side, bytes))
        return assay_fail(error, ASSAY_E_PARSE, TOKENIZER_FILE, field,
                          "must be \"a b\" or [\"a\", \"b\"]");
    for (int i = 0; i < 2; i++) {
        int64_t raw = -1;
        if (bytes[i] <= longest)
            raw = byte_alphabet_decode(side[i], bytes[i], scratch + total);
        id[i] = raw > 0 ? token_table_find(table, scratch + total, (size_t)raw) : -1;
        if (id[i] < 0)
            return assay_fail(error, ASSAY_E_CORRUPT, TOKENIZER_FILE, field,
                              "names a token that is not in model.vocab: \"%.*s\"",
                              (int)(bytes[i] < 64 ? bytes[i] : 64), side[i]);
        total += (size_t)raw;
    }
    int32_t result = token_table_find(table, scratch, total);
    if (result < 0)
        return assay_fail(error, ASSAY_E_CORRUPT, TOKENIZER_FILE, field,
                          "makes a token that is not in model.vocab: \"%.*s\" + \"%.*s\"",
                          (int)(bytes[0] < 64 ? bytes[0] : 64), side[0],
                          (int)(bytes[1] < 64 ? bytes[1] : 64), side[1]);
    /* Implementations differ in which of two ranks counts, so there must not be two. */
    const struct merge *other = merge_table_find(&tokenizer->merges, id[0], id[1]);
    if (other != NULL)
        return assay_fail(error, ASSAY_E_CORRUPT, TOKENIZER_FILE, field, "repeats model.merges[%d]",
                          (int)other->rank);
    struct merge merge = {id[0], id[1], result, (int32_t)rank};
    if (!merge_table_put(&tokenizer->merges, merge))
        return collisions(TOKENIZER_FILE, field, error);
    return ASSAY_OK;
}

static assay_status read_merges(struct assay_tokenizer *tokenizer, const json_t *merges,
                                size_t longest, struct assay_error *error)
{
    if (!json_is_array(merges))
        return assay_fail(error, ASSAY_E_PARSE, TOKENIZER_FILE, "model.merges",
                          "must be an array, is %s", assay_json_type(merges));
    size_t count = json_array_size(merges);
    unsigned char *scratch = assay_alloc(2 * longest);
    assay_status status = ASSAY_OK;
    if (scratch == NULL || !merge_table_create(&tokenizer->merges, count))
        status = assay_fail(error, ASSAY_E_MEMORY, TOKENIZER_FILE, "model.merges",
                            "no memory for %zu merges", count);
    for (size_t rank = 0; rank < count && status == ASSAY_OK; rank++)
        status = read_merge(tokenizer, json_array_get(merges, rank), rank, scratch, longest, error);
    assay_free(scratch);
    return status;
}

/* ---- added tokens --------------------------------------------------------------------------- */

struct added_entry {
    const char *file;
    char field[96];
    int64_t id;
    const char *content;
    size_t bytes;
    bool special;
};

static assay_status read_added(const json_t *json, struct added_entry *entry,
                               struct assay_error *error)
{
    /* With any of these an added token is found by other rules than an exact match. */
    static const char *const must_be_false[] = {"single_word", "lstrip", "rstrip", "normalized"};
    for (size_t i = 0; i < sizeof must_be_false / sizeof must_be_false[0]; i++) {
        const json_t *flag = json_object_get(json, must_be_false[i]);
        if (flag != NULL && !json_is_false(flag))
            return assay_fail(error, ASSAY_E_UNSUPPORTED, entry->file, entry->field,
                              "\"%s\" must be false, is %s", must_be_false[i],
                              assay_json_type(flag));
    }
    const json_t *content = json_object_get(json, "content");
    const json_t *special = json_object_get(json, "special");
    entry->bytes = json_string_length(content);
    if (entry->bytes == 0 || entry->bytes > MAX_ADDED_BYTES)
        return assay_fail(error, ASSAY_E_PARSE, entry->file, entry->field,
                          "\"content\" must be a string of 1 to %d bytes, is %s of %zu",
                          (int)MAX_ADDED_BYTES, assay_json_type(content), entry->bytes);
    if (special != NULL && !json_is_boolean(special))
        return assay_fail(error, ASSAY_E_PARSE, entry->file, entry->field,
                          "\"special\" must be true or false, is %s", assay_json_type(special));
    entry->content = json_string_value(content);
    entry->special = json_is_true(special);
    return ASSAY_OK;
}

typedef assay_status added_visitor(void *context, const struct added_entry *entry,
                                   struct assay_error *error);

static assay_status visit_listed(const json_t *root, added_visitor *visit, void *context,
                                 struct assay_error *error)
{
    const json_t *listed = json_object_get(root, "added_tokens");
    if (listed != NULL && !json_is_null(listed) && !json_is_array(listed))
        return assay_fail(error, ASSAY_E_PARSE, TOKENIZER_FILE, "added_tokens",
                          "must be an array, is %s", assay_json_type(listed));
    for (size_t i = 0; i < json_array_size(listed); i++) {
        struct added_entry entry = {.file = TOKENIZER_FILE};
        snprintf(entry.field, sizeof entry.field, "added_tokens[%zu]", i);
        const json_t *json = json_array_get(listed, i);
        ASSAY_TRY(read_added(json, &entry, error));
        ASSAY_TRY(check_id(entry.file, entry.field, json_object_get(json, "id"), &entry.id, error));
        ASSAY_TRY(visit(context, &entry, error));
    }
    return ASSAY_OK;
}

/* A key of added_tokens_decoder: decimal digits only, as long as MAX_ID at most. */
static int64_t id_of_key(const char *key)
{
    size_t digits = strspn(key, "0123456789");
    if (digits == 0 || digits > 8 || key[digits] != '\0')
        return -1;
    int64_t id = 0;
    for (size_t i = 0; i < digits; i++)
        id = 10 * id + (key[i] - '0');
    return id <= MAX_ID ? id : -1;
}

static assay_status visit_decoder(const json_t *config, added_visitor *visit, void *context,
                                  struct assay_error *error)
{
    json_t *decoder = json_object_get(config, "added_tokens_decoder");
    if (decoder == NULL || json_is_null(decoder))
        return ASSAY_OK;
    if (!json_is_object(decoder))
        return assay_fail(error, ASSAY_E_PARSE, TOKENIZER_CONFIG_FILE, "added_tokens_decoder",
                          "must be an object, is %s", assay_json_type(decoder));
    for (void *at = json_object_iter(decoder); at != NULL;
         at = json_object_iter_next(decoder, at)) {
        const char *key = json_object_iter_key(at);
        struct added_entry entry = {.file = TOKENIZER_CONFIG_FILE, .id = id_of_key(key)};
        snprintf(entry.field, sizeof entry.field, "added_tokens_decoder[\"%.40s\"]", key);
        if (entry.id < 0)
            return assay_fail(error, ASSAY_E_RANGE, entry.file, entry.field,
                              "keys are ids from 0 to %d", (int)MAX_ID);
        ASSAY_TRY(read_added(json_object_iter_value(at), &entry, error));
        ASSAY_TRY(visit(context, &entry, error));
    }
    return ASSAY_OK;
}

static assay_status visit_added(const json_t *root, const json_t *config, added_visitor *visit,
                                void *context, struct assay_error *error)
{
    ASSAY_TRY(visit_listed(root, visit, context, error));
    return visit_decoder(config, visit, context, error);
}

static assay_status measure_added(void *context, const struct added_entry *entry,
                                  struct assay_error *error)
{
    (void)error;
    struct extent *extent = context;
    extent->largest_id = entry->id > extent->largest_id ? entry->id : extent->largest_id;
    extent->bytes += entry->bytes;
    extent->count++;
    return ASSAY_OK;
}

/* A token may come again with the same id and text; whether it is special is then decided by the
 * later file, tokenizer_config.json. */
static assay_status put_added(void *context, const struct added_entry *entry,
                              struct assay_error *error)
{
    struct token_table *table = context;
    struct token *token = &table->tokens[entry->id];
    const unsigned char *raw = (const unsigned char *)entry->content;
    enum token_kind kind = entry->special ? TOKEN_SPECIAL : TOKEN_ADDED;
    if (token->kind != TOKEN_NONE) {
        if (token->length != entry->bytes ||
            memcmp(table->bytes + token->offset, raw, entry->bytes) != 0)
            return assay_fail(error, ASSAY_E_CORRUPT, entry->file, entry->field,
                              "id %" PRId64 " is \"%.64s\" here and another token elsewhere",
                              entry->id, entry->content);
        token->kind = kind;
        return ASSAY_OK;
    }
    int32_t other = token_table_find(table, raw, entry->bytes);
    if (other >= 0)
        return assay_fail(error, ASSAY_E_CORRUPT, entry->file, entry->field,
                          "\"%.64s\" has id %" PRId64 " here and %d elsewhere", entry->content,
                          entry->id, (int)other);
    if (!token_table_put(table, (int32_t)entry->id, kind, raw, entry->bytes))
        return collisions(entry->file, entry->field, error);
    return ASSAY_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

assay_status tokenizer_read_model(struct assay_tokenizer *tokenizer, const json_t *root,
                                  const json_t *config, struct assay_error *error)
{
    const json_t *model = json_object_get(root, "model");
    json_t *vocab = json_object_get(model, "vocab");
    struct extent extent = {.largest_id = -1};
    ASSAY_TRY(read_options(tokenizer, model, error));
    ASSAY_TRY(measure_vocab(vocab, &extent, error));
    ASSAY_TRY(visit_added(root, config, measure_added, &extent, error));
    int64_t size = extent.largest_id + 1;
    if (size > 2 * (int64_t)extent.count + SPARE_IDS)
        return assay_fail(error, ASSAY_E_CORRUPT, TOKENIZER_FILE, "model.vocab",
                          "the largest id is %" PRId64 ", but there are only %zu tokens",
                          extent.largest_id, extent.count);
    if (!token_table_create(&tokenizer->table, size, extent.bytes, extent.count))
        return assay_fail(error, ASSAY_E_MEMORY, TOKENIZER_FILE, "model.vocab",
                          "no memory for %zu tokens", extent.count);
    ASSAY_TRY(fill_vocab(&tokenizer->table, vocab, error));
    ASSAY_TRY(fill_byte_ids(tokenizer, error));
    ASSAY_TRY(read_merges(tokenizer, json_object_get(model, "merges"), extent.longest_key, error));
    ASSAY_TRY(visit_added(root, config, put_added, &tokenizer->table, error));
    if (!added_tokens_create(&tokenizer->added, &tokenizer->table))
        return assay_fail(error, ASSAY_E_MEMORY, TOKENIZER_FILE, "added_tokens",
                          "no memory for the added tokens");
    return ASSAY_OK;
}
