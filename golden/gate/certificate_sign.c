/* SPDX-License-Identifier: MIT
 *
 * Signs gate runs with Ed25519. A secret key is a file of one line, `ed25519-secret SEED`.
 */
#include "certificate_sign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include <assay/certificate.h>

#include "gate_try.h"

#define WHERE "key"

enum { SEED_DIGITS = 2 * crypto_sign_SEEDBYTES };

static const char secret_word[] = "ed25519-secret ";

/* ---- keys ----------------------------------------------------------------------------------- */

/* A file that was not there before, with this one line. */
static assay_status write_new(const char *path, mode_t mode, const char *line,
                              struct assay_error *error)
{
    const size_t length = strlen(line);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0)
        return assay_fail(error, ASSAY_E_IO, WHERE, path, "%s",
                          errno == EEXIST ? "is there already: a key is never overwritten"
                                          : strerror(errno));
    const bool written =
        fchmod(file, mode) == 0 && write(file, line, length) == (ssize_t)length && fsync(file) == 0;
    const int cause = errno;
    if (close(file) == 0 && written)
        return ASSAY_OK;
    (void)unlink(path);
    return assay_fail(error, ASSAY_E_IO, WHERE, path, "cannot be written: %s", strerror(cause));
}

assay_status certificate_new_key(const char *path, struct assay_error *error)
{
    unsigned char public_key[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
    unsigned char seed[crypto_sign_SEEDBYTES];
    char beside[4096], line[256], digits[SEED_DIGITS + 1];
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    if (strlen(path) + 5 > sizeof beside)
        return assay_fail(error, ASSAY_E_ARG, WHERE, path, "is too long a name");
    snprintf(beside, sizeof beside, "%s.pub", path);
    if (access(beside, F_OK) == 0)
        return assay_fail(error, ASSAY_E_IO, WHERE, beside,
                          "is there already: a key is never overwritten");
    if (sodium_init() < 0)
        return assay_fail(error, ASSAY_E_INTERNAL, WHERE, "libsodium", "cannot be initialised");
    randombytes_buf(seed, sizeof seed);
    crypto_sign_seed_keypair(public_key, secret, seed);
    sodium_bin2hex(digits, sizeof digits, seed, sizeof seed);
    snprintf(line, sizeof line, "%s%s\n", secret_word, digits);
    assay_status status = write_new(path, 0600, line, error);
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(line, sizeof line);
    sodium_bin2hex(digits, sizeof digits, public_key, sizeof public_key);
    snprintf(line, sizeof line, "ed25519 %s %.60s\n", digits, name);
    if (status == ASSAY_OK) {
        status = write_new(beside, 0644, line, error);
        if (status != ASSAY_OK)
            (void)unlink(path);
    }
    return status;
}

/* One line of the file, which nobody else may read. */
static assay_status read_secret_line(const char *path, char *line, int size,
                                     struct assay_error *error)
{
    struct stat info;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return assay_fail(error, ASSAY_E_NOT_FOUND, WHERE, path, "cannot be opened: %s",
                          strerror(errno));
    const bool open_to_others =
        fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 077) != 0;
    const bool read = fgets(line, size, file) != NULL;
    fclose(file);
    if (open_to_others)
        return assay_fail(error, ASSAY_E_IO, WHERE, path,
                          "may be read by others (mode %03o): chmod 600, or make a new one",
                          (unsigned)info.st_mode & 0777);
    if (!read)
        return assay_fail(error, ASSAY_E_PARSE, WHERE, path, "is empty or cannot be read");
    return ASSAY_OK;
}

static assay_status read_key(const char *path, unsigned char *public_key, unsigned char *secret,
                             struct assay_error *error)
{
    char line[128] = "";
    unsigned char seed[crypto_sign_SEEDBYTES];
    const size_t word = sizeof secret_word - 1;
    size_t length = 0;
    if (sodium_init() < 0)
        return assay_fail(error, ASSAY_E_INTERNAL, WHERE, "libsodium", "cannot be initialised");
    TRY(read_secret_line(path, line, sizeof line, error));
    line[strcspn(line, "\n")] = '\0';
    const bool good =
        strncmp(line, secret_word, word) == 0 && strlen(line + word) == SEED_DIGITS &&
        sodium_hex2bin(seed, sizeof seed, line + word, SEED_DIGITS, NULL, &length, NULL) == 0 &&
        length == sizeof seed;
    if (good)
        crypto_sign_seed_keypair(public_key, secret, seed);
    sodium_memzero(line, sizeof line);
    sodium_memzero(seed, sizeof seed);
    if (!good)
        return assay_fail(error, ASSAY_E_PARSE, WHERE, path,
                          "is no secret key: assay gate --new-key makes one");
    return ASSAY_OK;
}

/* ---- certificates --------------------------------------------------------------------------- */

/* What is signed. Keys of the payload against those of a run. */
static json_t *make_payload(const json_t *run)
{
    static const char *const members[][2] = {
        {"model", "model_digest"},   {"trades", "trades"},      {"backend", "backend"},
        {"machine", "isa"},          {"build", "build_digest"}, {"policy", "policy_digest"},
        {"corpus", "corpus_digest"}, {"device", "device"},      {"driver", "driver"},
        {"verdict", "verdict"},      {"reason", "reason"},      {"recorded", "recorded"},
        {"expires", "expires"},      {"quick", "quick"},        {"seed", "seed"},
        {"measurements", "checks"},
    };
    json_t *payload = json_pack("{s:s}", "format", ASSAY_CERTIFICATE_FORMAT);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *value = json_object_get(run, members[i][1]);
        if (value != NULL)
            json_object_set(payload, members[i][0], value);
    }
    return payload;
}

static assay_status check_run(const json_t *run, struct assay_error *error)
{
    const char *planted = json_string_value(json_object_get(run, "planted"));
    const char *record = json_string_value(json_object_get(run, "record"));
    if (planted == NULL || planted[0] != '\0')
        return assay_fail(error, ASSAY_E_ARG, "certificate", "run",
                          "has a planted fault: it says nothing of the model");
    if (record == NULL || strcmp(record, "damaged") == 0)
        return assay_fail(error, ASSAY_E_CORRUPT, "certificate", "run",
                          "is not what was recorded: nothing to certify");
    return ASSAY_OK;
}

assay_status certificate_sign(const json_t *run, const char *key_path, char **text,
                              struct assay_error *error)
{
    unsigned char public_key[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
    unsigned char signature[crypto_sign_BYTES];
    char key_digits[2 * sizeof public_key + 1], digits[2 * sizeof signature + 1];
    *text = NULL;
    TRY(check_run(run, error));
    TRY(read_key(key_path, public_key, secret, error));
    json_t *payload = make_payload(run);
    char *bytes = json_dumps(payload, JSON_SORT_KEYS | JSON_COMPACT);
    json_decref(payload);
    const size_t size = bytes == NULL ? 0 : strlen(bytes) + 512;
    if (bytes != NULL)
        *text = malloc(size);
    if (*text != NULL) {
        crypto_sign_detached(signature, NULL, (const unsigned char *)bytes, strlen(bytes), secret);
        sodium_bin2hex(key_digits, sizeof key_digits, public_key, sizeof public_key);
        sodium_bin2hex(digits, sizeof digits, signature, sizeof signature);
        snprintf(*text, size, "{\"certificate\":%s,\"public_key\":\"%s\",\"signature\":\"%s\"}\n",
                 bytes, key_digits, digits);
    }
    sodium_memzero(secret, sizeof secret);
    free(bytes);
    if (*text == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "certificate", "text", "no memory");
    return ASSAY_OK;
}
