/* SPDX-License-Identifier: MIT
 *
 * Reads certificates of gate runs. Whatever a file says counts only after its signature and its
 * key: see certificate.h.
 */
#include <assay/certificate.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "core/core.h"
#include "core/json_input.h"

#define WHERE "certificate"

/* What stands around the payload. Fixed, so that no byte of the file is free to change. */
#define HEAD   "{\"certificate\":"
#define MIDDLE ",\"public_key\":\""
#define BEFORE "\",\"signature\":\""
#define TAIL   "\"}\n"

enum {
    KEY_DIGITS = 2 * crypto_sign_PUBLICKEYBYTES,
    SIGNATURE_DIGITS = 2 * crypto_sign_BYTES,
    AFTER_BYTES =
        sizeof MIDDLE - 1 + KEY_DIGITS + sizeof BEFORE - 1 + SIGNATURE_DIGITS + sizeof TAIL - 1,
    FILE_BYTES = 1 << 20
};

/* ---- the file's frame ----------------------------------------------------------------------- */

/* digits[0, 2 * size) in lower case: in another case the same bytes would have another spelling. */
static bool read_hex(const char *digits, unsigned char *bytes, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < 2 * size; i++)
        if (digits[i] == '\0' || strchr("0123456789abcdef", digits[i]) == NULL)
            return false;
    return sodium_hex2bin(bytes, size, digits, 2 * size, NULL, &length, NULL) == 0 &&
           length == size;
}

struct frame {
    const char *payload;
    size_t payload_bytes;
    unsigned char key[crypto_sign_PUBLICKEYBYTES], signature[crypto_sign_BYTES];
    char key_digits[KEY_DIGITS + 1];
};

static bool skip(const char **at, const char *text)
{
    const size_t length = strlen(text);
    const bool same = memcmp(*at, text, length) == 0;
    *at += length;
    return same;
}

static bool read_frame(const char *text, size_t bytes, struct frame *frame)
{
    const size_t head = sizeof HEAD - 1;
    if (bytes < head + AFTER_BYTES || memcmp(text, HEAD, head) != 0)
        return false;
    frame->payload = text + head;
    frame->payload_bytes = bytes - head - AFTER_BYTES;
    const char *at = frame->payload + frame->payload_bytes;
    if (!skip(&at, MIDDLE))
        return false;
    memcpy(frame->key_digits, at, KEY_DIGITS);
    bool good = read_hex(at, frame->key, sizeof frame->key);
    at += KEY_DIGITS;
    good = good && skip(&at, BEFORE) && read_hex(at, frame->signature, sizeof frame->signature);
    at += SIGNATURE_DIGITS;
    return good && skip(&at, TAIL);
}

/* ---- the payload ---------------------------------------------------------------------------- */

static bool copy_member(const json_t *payload, const char *name, char *text, size_t size)
{
    const json_t *value = json_object_get(payload, name);
    if (!json_is_string(value) || json_string_length(value) >= size)
        return false;
    snprintf(text, size, "%s", json_string_value(value));
    return true;
}

static assay_status read_payload(const char *path, const struct frame *frame,
                                 struct assay_certificate *c, struct assay_error *error)
{
    static const struct json_limits limits = {.bytes = FILE_BYTES, .values = 20000, .depth = 8};
    char format[32];
    json_t *payload;
    struct assay_gate_key *key = &c->key;
    const struct {
        const char *name;
        char *text;
        size_t size;
    } members[] = {
        {"format", format, sizeof format},
        {"model", key->model, sizeof key->model},
        {"trades", key->trades, sizeof key->trades},
        {"backend", key->backend, sizeof key->backend},
        {"machine", key->isa, sizeof key->isa},
        {"build", key->build, sizeof key->build},
        {"policy", key->policy, sizeof key->policy},
        {"verdict", c->verdict, sizeof c->verdict},
        {"recorded", c->recorded, sizeof c->recorded},
        {"expires", c->expires, sizeof c->expires},
    };
    ASSAY_TRY(assay_json_parse_object(path, "payload", frame->payload, frame->payload_bytes,
                                      &limits, ASSAY_E_CORRUPT, &payload, error));
    assay_status status = ASSAY_OK;
    for (size_t i = 0; i < sizeof members / sizeof *members && status == ASSAY_OK; i++)
        if (!copy_member(payload, members[i].name, members[i].text, members[i].size))
            status = assay_fail(error, ASSAY_E_CORRUPT, WHERE, path,
                                "\"%s\" is missing, no string or too long", members[i].name);
    json_decref(payload);
    if (status == ASSAY_OK && strcmp(format, ASSAY_CERTIFICATE_FORMAT) != 0)
        status =
            assay_fail(error, ASSAY_E_UNSUPPORTED, WHERE, path,
                       "has the format \"%s\", this build reads " ASSAY_CERTIFICATE_FORMAT, format);
    return status;
}

/* ---- trusted keys --------------------------------------------------------------------------- */

static assay_status default_list(char *path, size_t size, struct assay_error *error)
{
    const char *given = getenv("ASSAY_TRUSTED_KEYS"), *config = getenv("XDG_CONFIG_HOME"),
               *home = getenv("HOME");
    int length = -1;
    if (given != NULL && given[0] != '\0')
        length = snprintf(path, size, "%s", given);
    else if (config != NULL && config[0] == '/')
        length = snprintf(path, size, "%s/assay/trusted-keys", config);
    else if (home != NULL && home[0] != '\0')
        length = snprintf(path, size, "%s/.config/assay/trusted-keys", home);
    if (length < 0 || (size_t)length >= size)
        return assay_fail(error, ASSAY_E_NOT_FOUND, WHERE, "trusted keys",
                          "there is no place for them: set ASSAY_TRUSTED_KEYS to their file");
    return ASSAY_OK;
}

/* `ed25519 DIGITS NAME`; false when the line is none. */
static bool read_line(const char *line, char digits[KEY_DIGITS + 1], char name[64])
{
    unsigned char key[crypto_sign_PUBLICKEYBYTES];
    int end = 0;
    name[0] = '\0';
    if (sscanf(line, "ed25519 %64s%n %63[^\n]", digits, &end, name) < 1 ||
        strlen(digits) != KEY_DIGITS || strchr(" \t\r", line[end]) == NULL)
        return false;
    return read_hex(digits, key, sizeof key);
}

/* Looks for the key among the lines of a file that is text[0, bytes). */
static assay_status search(const char *file, const char *text, size_t bytes, const char *digits,
                           bool *trusted, char name[64], struct assay_error *error)
{
    char line[512], found[KEY_DIGITS + 1], found_name[64];
    int number = 0;
    for (size_t at = 0; at < bytes; number++) {
        const char *end = memchr(text + at, '\n', bytes - at);
        const size_t length = end == NULL ? bytes - at : (size_t)(end - text) - at;
        snprintf(line, sizeof line, "%.*s", (int)(length < 500 ? length : 500), text + at);
        at += length + 1;
        if (line[strspn(line, " \t\r")] == '\0' || line[0] == '#')
            continue;
        if (!read_line(line, found, found_name))
            return assay_fail(error, ASSAY_E_PARSE, "trusted keys", file,
                              "line %d is no public key%s: a line is `ed25519 %d-HEX-DIGITS NAME`",
                              number + 1,
                              strncmp(line, "ed25519-secret", 14) == 0
                                  ? " but a secret one (its public key is in the file beside it, "
                                    "*.pub)"
                                  : "",
                              KEY_DIGITS);
        if (strcmp(found, digits) == 0 && !*trusted) {
            *trusted = true;
            snprintf(name, 64, "%s", found_name);
        }
    }
    return ASSAY_OK;
}

static assay_status check_trust(const char *path, const char *list, struct assay_certificate *c,
                                struct assay_error *error)
{
    char place[4096];
    struct assay_map map;
    bool trusted = false;
    if (list == NULL) {
        ASSAY_TRY(default_list(place, sizeof place, error));
        list = place;
    }
    struct assay_error missing = {0};
    const assay_status opened = assay_map_open(list, &map, &missing);
    if (opened == ASSAY_E_NOT_FOUND)
        return assay_fail(error, ASSAY_E_GATE, WHERE, path,
                          "no key is trusted: there is no file %.200s; append the signer's public "
                          "key (*.pub) to it",
                          list);
    if (opened != ASSAY_OK) {
        if (error != NULL)
            *error = missing;
        return opened;
    }
    const assay_status status =
        search(list, (const char *)map.data, map.bytes, c->public_key, &trusted, c->signer, error);
    assay_map_close(&map);
    if (status == ASSAY_OK && !trusted)
        return assay_fail(error, ASSAY_E_GATE, WHERE, path,
                          "the key %.16s... that signed it is not trusted: it is not in %.200s",
                          c->public_key, list);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static assay_status read_signed(const char *path, const char *text, size_t bytes,
                                struct assay_certificate *c, struct assay_error *error)
{
    struct frame frame = {.payload = NULL};
    if (bytes > FILE_BYTES || !read_frame(text, bytes, &frame))
        return assay_fail(error, ASSAY_E_CORRUPT, WHERE, path,
                          "is not a certificate: `assay ledger certify` makes them");
    if (sodium_init() < 0)
        return assay_fail(error, ASSAY_E_INTERNAL, WHERE, "libsodium", "cannot be initialised");
    if (crypto_sign_verify_detached(frame.signature, (const unsigned char *)frame.payload,
                                    frame.payload_bytes, frame.key) != 0)
        return assay_fail(error, ASSAY_E_CORRUPT, WHERE, path,
                          "the signature does not fit: it was changed after it was signed");
    snprintf(c->public_key, sizeof c->public_key, "%s", frame.key_digits);
    return read_payload(path, &frame, c, error);
}

assay_status assay_certificate_read(const char *path, const char *trusted_keys,
                                    struct assay_certificate *certificate,
                                    struct assay_error *error)
{
    struct assay_map map;
    *certificate = (struct assay_certificate){.verdict = ""};
    ASSAY_TRY(assay_map_open(path, &map, error));
    assay_status status = read_signed(path, (const char *)map.data, map.bytes, certificate, error);
    assay_map_close(&map);
    if (status == ASSAY_OK)
        status = check_trust(path, trusted_keys, certificate, error);
    return status;
}

assay_status assay_certificate_valid(const struct assay_certificate *c, const char *path,
                                     struct assay_error *error)
{
    char today[16];
    const time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(today, sizeof today, "%Y-%m-%d", &utc);
    if (strcmp(c->verdict, "PASS") != 0)
        return assay_fail(error, ASSAY_E_GATE, WHERE, path, "certifies %.16s, not PASS",
                          c->verdict);
    /* ISO dates compare as text. */
    if (strlen(c->expires) != 10 || strcmp(today, c->expires) > 0)
        return assay_fail(error, ASSAY_E_GATE, WHERE, path, "expired after %.16s", c->expires);
    return ASSAY_OK;
}

assay_status assay_certificate_allows(const char *path, const char *model_digest,
                                      assay_trade_set set, const struct assay_gate_machine *machine,
                                      struct assay_error *error)
{
    struct assay_certificate c;
    struct assay_gate_key key;
    ASSAY_TRY(assay_gate_key_fill(model_digest, set, machine, &key, error));
    ASSAY_TRY(assay_certificate_read(path, NULL, &c, error));
    const struct {
        const char *name, *found, *wanted;
    } parts[] = {
        {"model", c.key.model, key.model},       {"set of options", c.key.trades, key.trades},
        {"backend", c.key.backend, key.backend}, {"machine", c.key.isa, key.isa},
        {"build", c.key.build, key.build},       {"policy", c.key.policy, key.policy},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].found, parts[i].wanted) != 0)
            return assay_fail(error, ASSAY_E_GATE, WHERE, path,
                              "is for another %s: %.80s, this run has %.80s", parts[i].name,
                              parts[i].found, parts[i].wanted);
    return assay_certificate_valid(&c, path, error);
}
