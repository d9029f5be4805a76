/* SPDX-License-Identifier: MIT
 *
 * A session's file: layout, header, writing.
 */
#include "runtime/session_file.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include <assay/device.h>

#include "core/core.h"
#include "runtime/session_faults.h"

/* ---- settings ------------------------------------------------------------------------------ */

typedef void name_function(uint64_t value, char *text, size_t size);

static void name_number(uint64_t value, char *text, size_t size)
{
    snprintf(text, size, "%llu", (unsigned long long)value);
}

/* A name of values below `count`; others are numbers. */
static void name_of(const char *name, uint64_t value, uint64_t count, char *text, size_t size)
{
    if (value < count)
        snprintf(text, size, "%s", name);
    else
        name_number(value, text, size);
}

static void name_backend(uint64_t value, char *text, size_t size)
{
    const uint64_t known = value < ASSAY_NUM_BACKENDS ? value : 0;
    name_of(assay_backend_name((enum assay_backend)known), value, ASSAY_NUM_BACKENDS, text, size);
}

static void name_isa(uint64_t value, char *text, size_t size)
{
    const uint64_t known = value < ASSAY_NUM_ISAS ? value : 0;
    name_of(assay_isa_name((enum assay_isa)known), value, ASSAY_NUM_ISAS, text, size);
}

static void name_dtype(uint64_t value, char *text, size_t size)
{
    const uint64_t known = value < ASSAY_NUM_DTYPES ? value : 0;
    name_of(assay_dtype_name((enum assay_dtype)known), value, ASSAY_NUM_DTYPES, text, size);
}

static void name_weights(uint64_t value, char *text, size_t size)
{
    const uint64_t known = value < ASSAY_NUM_WEIGHT_FORMATS ? value : 0;
    name_of(assay_weight_format_name((enum assay_weight_format)known), value,
            ASSAY_NUM_WEIGHT_FORMATS, text, size);
}

static void name_product(uint64_t value, char *text, size_t size)
{
    static const char *const names[] = {"a16", "a8", "w8row"};
    enum { NUM_NAMES = sizeof names / sizeof *names };
    name_of(names[value < NUM_NAMES ? value : 0], value, NUM_NAMES, text, size);
}

const char *session_setting_text(enum session_setting setting)
{
    static const char *const texts[] = {
#define SESSION_SETTING_TEXT(enumerator, what, value, name) what,
        SESSION_SETTING_TABLE(SESSION_SETTING_TEXT)
#undef SESSION_SETTING_TEXT
    };
    return texts[setting];
}

void session_setting_name(enum session_setting setting, uint64_t value, char *text, size_t size)
{
    static name_function *const names[] = {
#define SESSION_SETTING_NAME(enumerator, what, value, name) name,
        SESSION_SETTING_TABLE(SESSION_SETTING_NAME)
#undef SESSION_SETTING_NAME
    };
    names[setting](value, text, size);
}

int session_file_isa(const assay_session *session)
{
    return assay_context_backend(session->context) == ASSAY_CPU
               ? (int)assay_context_isa(session->context)
               : 0;
}

/* ---- layout -------------------------------------------------------------------------------- */

static struct session_span span_of(const struct assay_tensor *tensor, int64_t rows)
{
    struct session_span span = {.data = tensor->data, .bytes = assay_tensor_span(tensor)};
    if (rows >= 0) {
        span.row = span.bytes / (size_t)tensor->extent[0];
        span.bytes = (size_t)rows * span.row;
    }
    return span;
}

void session_file_spans(const assay_session *session, int64_t layer, int64_t length,
                        struct session_span spans[SESSION_LAYER_SPANS])
{
    const struct layer_state *const state = &session->schedule.layers[layer];
    if (session->config->layers[layer] == ASSAY_LAYER_FULL) {
        spans[0] = span_of(&state->k_cache, length);
        spans[1] = span_of(&state->v_cache, length);
        return;
    }
    spans[0] = span_of(&state->conv, -1);
    spans[0].is_convolution = true;
    spans[1] = span_of(&state->gdn, -1);
}

static size_t row_bytes(const assay_session *session)
{
    return (size_t)session->config->hidden_size * sizeof(float);
}

uint64_t session_file_bytes(const assay_session *session, int64_t length)
{
    uint64_t bytes = FILE_HEADER_BYTES + FILE_CHECKSUM_BYTES + row_bytes(session) +
                     (uint64_t)length * (sizeof(int32_t) + sizeof(uint8_t));
    for (int64_t i = 0; i < session->config->num_layers; i++) {
        struct session_span spans[SESSION_LAYER_SPANS];
        session_file_spans(session, i, length, spans);
        bytes += spans[0].bytes + spans[1].bytes;
    }
    return bytes;
}

/* ---- header -------------------------------------------------------------------------------- */

uint64_t session_file_number(const uint8_t *at, int bytes)
{
    uint64_t number = 0;
    for (int i = bytes - 1; i >= 0; i--)
        number = number << 8 | at[i];
    return number;
}

static void put(uint8_t *at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(number >> 8 * i);
}

assay_status session_file_header(const assay_session *session, int64_t length,
                                 uint8_t header[FILE_HEADER_BYTES], struct assay_error *error)
{
    const assay_session *const s = session;
    const uint64_t settings[] = {
#define SESSION_SETTING_VALUE(enumerator, what, value, name) (uint64_t)(value),
        SESSION_SETTING_TABLE(SESSION_SETTING_VALUE)
#undef SESSION_SETTING_VALUE
    };
    unsigned char digests[NUM_SESSION_PARTS][PART_DIGEST_BYTES];
    ASSAY_TRY(session_digests(session, digests, error));
    memcpy(header, SESSION_FILE_MAGIC, 8);
    put(header + FILE_VERSION_AT, FILE_VERSION, 4);
    put(header + FILE_SETTINGS_AT, NUM_SETTINGS, 4);
    put(header + FILE_BYTES_AT, session_file_bytes(session, length), 8);
    put(header + FILE_TOKENS_AT, (uint64_t)length, 8);
    for (int i = 0; i < NUM_SETTINGS; i++)
        put(header + FILE_SETTING_AT + 8 * i, settings[i], 8);
    memcpy(header + FILE_DIGESTS_AT, digests, sizeof digests);
    return ASSAY_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

struct writer {
    const assay_session *session;
    struct assay_new_file file;
    crypto_generichash_state hash;
    uint8_t *staging;
};

enum { STAGING_BYTES = 1 << 20 };

/* Failed writes show when the file is committed. */
static void write_bytes(struct writer *writer, const void *bytes, size_t size)
{
    crypto_generichash_update(&writer->hash, bytes, size);
    (void)fwrite(bytes, 1, size, writer->file.stream);
}

/* From memory of the context. */
static assay_status write_buffer(struct writer *writer, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const size_t left = bytes - done, piece = left < STAGING_BYTES ? left : STAGING_BYTES;
        ASSAY_TRY(assay_buffer_read(writer->session->context, writer->staging,
                                    (const uint8_t *)data + done, piece));
        write_bytes(writer, writer->staging, piece);
        done += piece;
    }
    return ASSAY_OK;
}

static assay_status write_span(struct writer *writer, const struct session_span *span)
{
    if (!(SESSION_FAULT(SAVE_ROW_SHORT) && span->bytes >= 2 * span->row && span->row > 0))
        return write_buffer(writer, span->data, span->bytes);
    const size_t most = span->bytes - span->row;
    ASSAY_TRY(write_buffer(writer, span->data, most));
    return write_buffer(writer, (const uint8_t *)span->data + most - span->row, span->row);
}

static assay_status write_payload(struct writer *writer)
{
    const assay_session *const session = writer->session;
    const size_t length = (size_t)session->length;
    uint8_t number[4];
    for (size_t i = 0; i < length; i++) {
        put(number, (uint32_t)session->history.tokens[i], 4);
        write_bytes(writer, number, sizeof number);
    }
    write_bytes(writer, session->history.marks, length);
    if (length > 0) {
        ASSAY_TRY(write_buffer(writer, session->last_row, row_bytes(session)));
    } else {
        static const float zero;
        for (int64_t i = 0; i < session->config->hidden_size; i++)
            write_bytes(writer, &zero, sizeof zero);
    }
    for (int64_t i = 0; i < session->config->num_layers; i++) {
        struct session_span spans[SESSION_LAYER_SPANS];
        session_file_spans(session, i, session->length, spans);
        for (int k = 0; k < SESSION_LAYER_SPANS; k++)
            ASSAY_TRY(write_span(writer, &spans[k]));
    }
    return ASSAY_OK;
}

static assay_status write_file(struct writer *writer, const uint8_t header[FILE_HEADER_BYTES],
                               const char *path, struct assay_error *error)
{
    unsigned char checksum[FILE_CHECKSUM_BYTES];
    ASSAY_TRY(assay_new_file_open(path, &writer->file, error));
    crypto_generichash_init(&writer->hash, NULL, 0, sizeof checksum);
    write_bytes(writer, header, FILE_HEADER_BYTES);
    const assay_status status = write_payload(writer);
    if (status != ASSAY_OK) {
        assay_new_file_abort(&writer->file);
        return session_op_error(writer->session, status, error);
    }
    crypto_generichash_final(&writer->hash, checksum, sizeof checksum);
    (void)fwrite(checksum, 1, sizeof checksum, writer->file.stream);
    return assay_new_file_commit(&writer->file, error);
}

assay_status assay_session_save(const assay_session *session, const char *path,
                                struct assay_error *error)
{
    uint8_t header[FILE_HEADER_BYTES];
    if (session == NULL || path == NULL)
        return assay_fail(error, ASSAY_E_ARG, "session", session == NULL ? "session" : "path",
                          "must not be NULL");
    ASSAY_TRY(session_whole(session, error));
    ASSAY_TRY(session_file_header(session, session->length, header, error));
    struct writer writer = {.session = session, .staging = assay_alloc(STAGING_BYTES)};
    if (writer.staging == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, path, "", "no memory for %d bytes",
                          (int)STAGING_BYTES);
    const assay_status status = write_file(&writer, header, path, error);
    assay_free(writer.staging);
    return status;
}
