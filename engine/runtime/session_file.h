/* SPDX-License-Identifier: MIT
 *
 * The layout of a session's file, private to the files that write and read it. Numbers are little
 * endian; everything follows without gaps:
 *
 *     magic               8 bytes "ASSAYSEQ"
 *     version             u32, 1
 *     settings            u32, how many there are
 *     file                u64, bytes of the whole file
 *     tokens              u64
 *     settings            u64 each, in the order of the table below
 *     digests             32 bytes each: config, layers, embedding, head
 *     tokens              i32 each
 *     passes              u8 a token: 0 inside a pass, 1 begins one, 2 begins a decode step
 *     residual stream     f32 [H] of the newest token; zero when there is none
 *     layers in order     full: K rows, V rows of the tokens; linear: convolution, recurrent state
 *     checksum            32 bytes, BLAKE2b-256 of all before
 */
#ifndef ASSAY_RUNTIME_SESSION_FILE_H
#define ASSAY_RUNTIME_SESSION_FILE_H

#include "runtime/session_private.h"

#define SESSION_FILE_MAGIC "ASSAYSEQ"

/* What the bits of a sequence's continuation depend on beside model and tokens.
 * X(enumerator, what the message says, value, how to name a value) */
#define SESSION_SETTING_TABLE(X)                                                                \
    X(BACKEND, "backend", assay_context_backend(s->context), name_backend)                      \
    X(ISA, "instruction set", session_file_isa(s), name_isa)                                    \
    X(STATE, "format of recurrent states", s->precision.gdn_state, name_dtype)                  \
    X(KV, "format of KV rows", s->precision.kv_cache, name_dtype)                               \
    X(EMBEDDING, "format of the embedding", s->schedule.weights->embed.format, name_weights)    \
    X(HEAD, "format of the output head", s->schedule.weights->lm_head.format, name_weights)     \
    X(PROJECTIONS, "product of projections in prefill", s->precision.prefill.projections,       \
      name_product)                                                                             \
    X(GATE_UP, "product of gate and up in prefill", s->precision.prefill.gate_up, name_product) \
    X(DOWN, "product of down in prefill", s->precision.prefill.down, name_product)              \
    X(DECODE, "product of gate and up in decode steps", s->precision.gate_up_of_decode,         \
      name_product)                                                                             \
    X(PREFILL_CHUNK, "prefill_chunk", s->chunk_asked, name_number)                              \
    X(GDN_CHUNK, "gdn_chunk", s->schedule.gdn_chunk, name_number)                               \
    X(RECURRENT_LIMIT, "recurrent_limit", s->schedule.recurrent_limit, name_number)

enum session_setting {
#define SESSION_SETTING_ENUM(enumerator, what, value, name) SETTING_##enumerator,
    SESSION_SETTING_TABLE(SESSION_SETTING_ENUM)
#undef SESSION_SETTING_ENUM
        NUM_SETTINGS
};

enum {
    FILE_VERSION = 1,
    FILE_VERSION_AT = 8,
    FILE_SETTINGS_AT = 12,
    FILE_BYTES_AT = 16,
    FILE_TOKENS_AT = 24,
    FILE_SETTING_AT = 32,
    FILE_DIGESTS_AT = FILE_SETTING_AT + 8 * NUM_SETTINGS,
    FILE_HEADER_BYTES = FILE_DIGESTS_AT + NUM_SESSION_PARTS * PART_DIGEST_BYTES,
    FILE_CHECKSUM_BYTES = 32
};

/* Part of a session's memory that a file holds, in file order. */
struct session_span {
    void *data;
    size_t bytes;
    size_t row; /* of a cache: bytes of a token */
    bool is_convolution;
};

enum { SESSION_LAYER_SPANS = 2 };
/* Of a layer, `length` tokens. */
void session_file_spans(const assay_session *session, int64_t layer, int64_t length,
                        struct session_span spans[SESSION_LAYER_SPANS]);
/* Bytes of the file of `length` tokens, which fit into the session. */
uint64_t session_file_bytes(const assay_session *session, int64_t length);
/* The header, complete. */
ASSAY_MUST_USE assay_status session_file_header(const assay_session *session, int64_t length,
                                                uint8_t header[FILE_HEADER_BYTES],
                                                struct assay_error *error);
uint64_t session_file_number(const uint8_t *at, int bytes);
/* Of the cpu backend; the others have none. */
int session_file_isa(const assay_session *session);
/* "format of KV rows" and the name of a value of it, as messages have them. */
const char *session_setting_text(enum session_setting setting);
void session_setting_name(enum session_setting setting, uint64_t value, char *text, size_t size);

#endif
