/* SPDX-License-Identifier: MIT
 *
 * Reading a session's file: nothing changes before all of it is known to be right.
 */
#include "runtime/session_file.h"

#include <string.h>

#include <sodium.h>

#include <assay/device.h>

#include "core/core.h"
#include "runtime/session_faults.h"

/* ---- what the header says ------------------------------------------------------------------ */

/* Of any session. */
static assay_status check_frame(const struct assay_map *map, const char *path, int64_t *length,
                                struct assay_error *error)
{
    const uint8_t *const at = map->data;
    if (map->bytes < FILE_HEADER_BYTES + FILE_CHECKSUM_BYTES || memcmp(at, SESSION_FILE_MAGIC, 8))
        return assay_fail(error, ASSAY_E_CORRUPT, path, "magic",
                          map->bytes >= 8 && memcmp(at, SESSION_FILE_MAGIC, 8) == 0
                              ? "ends within the header: it was cut"
                              : "is no saved session");
    const uint64_t version = session_file_number(at + FILE_VERSION_AT, 4);
    const uint64_t settings = session_file_number(at + FILE_SETTINGS_AT, 4);
    const uint64_t bytes = session_file_number(at + FILE_BYTES_AT, 8);
    const uint64_t tokens = session_file_number(at + FILE_TOKENS_AT, 8);
    if (version != FILE_VERSION || settings != NUM_SETTINGS)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, path, "version",
                          "is %llu with %llu settings, this program reads %d with %d: save the "
                          "session again",
                          (unsigned long long)version, (unsigned long long)settings,
                          (int)FILE_VERSION, (int)NUM_SETTINGS);
    if (bytes != map->bytes)
        return assay_fail(error, ASSAY_E_CORRUPT, path, "bytes",
                          "has %zu bytes, its header says %llu: it was cut or extended", map->bytes,
                          (unsigned long long)bytes);
    if (tokens > (uint64_t)map->bytes)
        return assay_fail(error, ASSAY_E_CORRUPT, path, "tokens", "cannot hold %llu tokens",
                          (unsigned long long)tokens);
    *length = (int64_t)tokens;
    return ASSAY_OK;
}

static assay_status check_settings(const uint8_t *file, const uint8_t *own, const char *path,
                                   struct assay_error *error)
{
    for (int i = 0; i < NUM_SETTINGS; i++) {
        const enum session_setting setting = (enum session_setting)i;
        const uint64_t saved = session_file_number(file + FILE_SETTING_AT + 8 * i, 8);
        const uint64_t here = session_file_number(own + FILE_SETTING_AT + 8 * i, 8);
        char was[32], is[32];
        if (saved == here)
            continue;
        session_setting_name(setting, saved, was, sizeof was);
        session_setting_name(setting, here, is, sizeof is);
        return assay_fail(error, ASSAY_E_ARG, path, session_setting_text(setting),
                          "the saved session had %s, this one has %s: restore into a session "
                          "with the same options, or give the tokens again",
                          was, is);
    }
    return ASSAY_OK;
}

static assay_status check_digests(const uint8_t *file, const uint8_t *own, const char *path,
                                  struct assay_error *error)
{
    static const char *const parts[] = {[PART_CONFIG] = "the numbers of config.json",
                                        [PART_LAYERS] = "the layers' weights",
                                        [PART_EMBEDDING] = "the embedding's weights",
                                        [PART_HEAD] = "the output head's weights"};
    for (int part = 0; part < NUM_SESSION_PARTS; part++) {
        const int at = FILE_DIGESTS_AT + part * PART_DIGEST_BYTES;
        if (memcmp(file + at, own + at, PART_DIGEST_BYTES) != 0)
            return assay_fail(error, ASSAY_E_ARG, path, parts[part],
                              "differ from those that the session was saved with: it belongs to "
                              "another model, or to this one converted otherwise; give the tokens "
                              "again");
    }
    return ASSAY_OK;
}

static assay_status check_checksum(const struct assay_map *map, const char *path,
                                   struct assay_error *error)
{
    const size_t covered = map->bytes - FILE_CHECKSUM_BYTES;
    unsigned char checksum[FILE_CHECKSUM_BYTES];
    crypto_generichash(checksum, sizeof checksum, map->data, covered, NULL, 0);
    if (memcmp(checksum, map->data + covered, sizeof checksum) != 0)
        return assay_fail(error, ASSAY_E_CORRUPT, path, "checksum",
                          "does not fit the content: the file was damaged");
    return ASSAY_OK;
}

/* ---- what the payload says ----------------------------------------------------------------- */

static int32_t token_at(const uint8_t *tokens, int64_t index)
{
    return (int32_t)(uint32_t)session_file_number(tokens + 4 * index, 4);
}

static assay_status check_tokens(const assay_session *session, const uint8_t *tokens,
                                 int64_t length, const char *path, struct assay_error *error)
{
    const int64_t vocab = session->config->vocab_size;
    for (int64_t i = 0; i < length; i++) {
        const int32_t id = token_at(tokens, i);
        if (id < 0 || id >= vocab)
            return assay_fail(error, ASSAY_E_CORRUPT, path, "tokens",
                              "id %d at position %lld is outside 0 .. %lld", (int)id, (long long)i,
                              (long long)(vocab - 1));
    }
    return ASSAY_OK;
}

/* Passes as this session could have run them, since a rewind will. */
static assay_status check_marks(const assay_session *session, const uint8_t *marks, int64_t length,
                                const char *path, struct assay_error *error)
{
    int64_t first = 0;
    for (int64_t i = 0; i < length; i++) {
        if (marks[i] != MARK_INSIDE)
            first = i;
        const int64_t most =
            marks[first] == MARK_DECODE && ASSAY_VERIFY_COLUMNS < session->prefill_chunk
                ? ASSAY_VERIFY_COLUMNS
                : session->prefill_chunk;
        if (marks[i] >= NUM_PASS_MARKS || marks[first] == MARK_INSIDE || i - first >= most)
            return assay_fail(error, ASSAY_E_CORRUPT, path, "passes",
                              "token %lld is of no pass that a session runs", (long long)i);
    }
    return ASSAY_OK;
}

static assay_status check_file(const assay_session *session, const struct assay_map *map,
                               const char *path, int64_t *length, struct assay_error *error)
{
    uint8_t own[FILE_HEADER_BYTES];
    ASSAY_TRY(check_frame(map, path, length, error));
    ASSAY_TRY(session_file_header(session, 0, own, error));
    ASSAY_TRY(check_settings(map->data, own, path, error));
    ASSAY_TRY(check_digests(map->data, own, path, error));
    ASSAY_TRY(check_checksum(map, path, error));
    if (*length > session->capacity)
        return assay_fail(error, ASSAY_E_FULL, path, "capacity",
                          "%lld tokens do not fit into %lld: create the session with more room",
                          (long long)*length, (long long)session->capacity);
    const uint64_t expected = session_file_bytes(session, *length);
    if (expected != map->bytes)
        return assay_fail(error, ASSAY_E_CORRUPT, path, "bytes",
                          "has %zu bytes, %lld tokens of this model take %llu", map->bytes,
                          (long long)*length, (unsigned long long)expected);
    const uint8_t *const tokens = map->data + FILE_HEADER_BYTES;
    ASSAY_TRY(check_tokens(session, tokens, *length, path, error));
    return check_marks(session, tokens + 4 * *length, *length, path, error);
}

/* ---- taking it over ------------------------------------------------------------------------ */

static assay_status take_buffers(assay_session *session, const uint8_t *at)
{
    const size_t row = (size_t)session->config->hidden_size * sizeof(float);
    if (!SESSION_FAULT(RESTORE_LAST_ROW))
        ASSAY_TRY(assay_buffer_write(session->context, session->last_row, at, row));
    at += row;
    for (int64_t i = 0; i < session->config->num_layers; i++) {
        struct session_span spans[SESSION_LAYER_SPANS];
        session_file_spans(session, i, session->length, spans);
        for (int k = 0; k < SESSION_LAYER_SPANS; k++) {
            if (!(SESSION_FAULT(RESTORE_CONV) && spans[k].is_convolution))
                ASSAY_TRY(assay_buffer_write(session->context, spans[k].data, at, spans[k].bytes));
            at += spans[k].bytes;
        }
    }
    return ASSAY_OK;
}

static assay_status take(assay_session *session, const uint8_t *payload, int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        session->history.tokens[i] = token_at(payload, i);
    memcpy(session->history.marks, payload + 4 * length, (size_t)length);
    session->length = length;
    session->checkpoint.length = -1;
    const assay_status status = take_buffers(session, payload + 5 * length);
    session->broken = status != ASSAY_OK;
    return status;
}

assay_status assay_session_restore(assay_session *session, const char *path,
                                   struct assay_error *error)
{
    struct assay_map map;
    int64_t length;
    if (session == NULL || path == NULL)
        return assay_fail(error, ASSAY_E_ARG, "session", session == NULL ? "session" : "path",
                          "must not be NULL");
    ASSAY_TRY(assay_map_open(path, &map, error));
    assay_status status = check_file(session, &map, path, &length, error);
    if (status == ASSAY_OK) {
        assay_context_clear_error(session->context);
        status = take(session, map.data + FILE_HEADER_BYTES, length);
        if (status != ASSAY_OK)
            session_op_error(session, status, error);
    }
    assay_map_close(&map);
    return status;
}

assay_status assay_session_file_length(const char *path, int64_t *length, struct assay_error *error)
{
    struct assay_map map;
    ASSAY_TRY(assay_map_open(path, &map, error));
    const assay_status status = check_frame(&map, path, length, error);
    assay_map_close(&map);
    return status;
}
