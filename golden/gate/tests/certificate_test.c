/* SPDX-License-Identifier: MIT
 *
 * gate.certificate: only an unchanged certificate of a trusted key, that says PASS, has not expired
 * and is for exactly this run allows it; every refusal says which of these it was.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <assay/certificate.h>

#include "certificate_sign.h"
#include "gate_sample.h"
#include "ledger_files.h"
#include "ledger_read.h"

static char key[160], public_key[192], file[160];

static void make(void)
{
    struct assay_error error = {0};
    ledger_files_make();
    snprintf(key, sizeof key, "%s.key", ledger_path);
    snprintf(public_key, sizeof public_key, "%s.pub", key);
    snprintf(file, sizeof file, "%s.json", ledger_path);
    cr_assert(certificate_new_key(key, &error) == ASSAY_OK, "%s", error.message);
    setenv("ASSAY_TRUSTED_KEYS", public_key, 1);
}

TestSuite(certificate, .init = make, .fini = ledger_files_remove);

/* The sample as a run of the ledger. */
static json_t *make_run(void)
{
    struct gate_result *sample = sample_result();
    struct assay_error error = {0};
    struct ledger_reader reader;
    json_t *run;
    cr_assert(ledger_record(sample, 1, &error) == ASSAY_OK, "%s", error.message);
    cr_assert(ledger_reader_open(ledger_path, &reader, &error) == ASSAY_OK);
    cr_assert(ledger_load(&reader, 1, &run, &error) == ASSAY_OK);
    ledger_reader_close(&reader);
    free(sample);
    return run;
}

static char *sign(const json_t *run, const char *with)
{
    struct assay_error error = {0};
    char *text;
    cr_assert(certificate_sign(run, with, &text, &error) == ASSAY_OK, "%s", error.message);
    return text;
}

/* In place: some file systems write a file that was truncated and rewritten to disk at once. */
static void put(const char *path, const char *bytes, size_t size)
{
    FILE *out = fopen(path, access(path, F_OK) == 0 ? "r+b" : "wb");
    cr_assert(out != NULL && fwrite(bytes, 1, size, out) == size && fclose(out) == 0);
    cr_assert(truncate(path, (off_t)size) == 0);
}

/* words NULL: allowed. */
static void expect(const char *what, assay_status expected, const char *words)
{
    struct assay_error error = {0};
    const struct assay_gate_machine machine = {ASSAY_CPU, assay_isa_detect(), 0};
    const assay_status status = assay_certificate_allows(
        file, SAMPLE_MODEL, 1u << ASSAY_TRADE_GDN_STATE_FP16, &machine, &error);
    cr_assert(status == expected && (words == NULL || strstr(error.message, words) != NULL),
              "%s: %s: %s", what, assay_status_name(status), error.message);
}

/* A certificate with one member of the run changed, signed with the trusted key. */
static void expect_changed(const json_t *run, const char *member, const char *value,
                           const char *words)
{
    json_t *other = json_copy((json_t *)run);
    json_object_set_new(other, member, json_string(value));
    char *text = sign(other, key);
    put(file, text, strlen(text));
    expect(member, ASSAY_E_GATE, words);
    free(text);
    json_decref(other);
}

Test(certificate, every_part)
{
    static const char other[] = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";
    json_t *run = make_run();
    char *text = sign(run, key);
    expect("no file", ASSAY_E_NOT_FOUND, "cannot be opened");
    put(file, text, strlen(text));
    expect("as signed", ASSAY_OK, NULL);
    expect_changed(run, "model_digest", other, "is for another model");
    expect_changed(run, "build_digest", other, "is for another build");
    expect_changed(run, "policy_digest", other, "is for another policy");
    expect_changed(run, "trades", "lm-head-q4", "is for another set of options");
    expect_changed(run, "backend", "cuda", "is for another backend");
    expect_changed(run, "isa", "none", "is for another machine");
    expect_changed(run, "expires", "2026-01-01", "expired after 2026-01-01");
    expect_changed(run, "expires", "9", "expired after 9");
    expect_changed(run, "verdict", "FAIL", "certifies FAIL, not PASS");
    expect_changed(run, "verdict", "INCONCLUSIVE", "certifies INCONCLUSIVE");
    free(text);
    json_decref(run);
}

Test(certificate, trust)
{
    struct assay_error error = {0};
    char second[192];
    json_t *run = make_run();
    snprintf(second, sizeof second, "%s.second", key);
    cr_assert(certificate_new_key(second, &error) == ASSAY_OK, "%s", error.message);
    char *text = sign(run, second);
    put(file, text, strlen(text));
    expect("another key", ASSAY_E_GATE, "is not trusted: it is not in");
    free(text);

    text = sign(run, key);
    put(file, text, strlen(text));
    expect("the trusted key", ASSAY_OK, NULL);
    setenv("ASSAY_TRUSTED_KEYS", "/nonexistent/keys", 1);
    expect("no list", ASSAY_E_GATE, "no key is trusted: there is no file /nonexistent/keys");
    setenv("ASSAY_TRUSTED_KEYS", key, 1);
    expect("a secret key as list", ASSAY_E_PARSE, "a secret one");
    put(second, "# nobody\n\n", 10);
    setenv("ASSAY_TRUSTED_KEYS", second, 1);
    expect("an empty list", ASSAY_E_GATE, "is not trusted");
    put(second, "ed25519 0123 short\n", 19);
    expect("a short key", ASSAY_E_PARSE, "line 1 is no public key");
    unsetenv("ASSAY_TRUSTED_KEYS");
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    expect("no configuration", ASSAY_E_GATE, "/nonexistent/assay/trusted-keys");
    free(text);
    json_decref(run);
}

/* Every bit of the file matters, and so does its length. */
Test(certificate, changed_bytes, .timeout = 100)
{
    json_t *run = make_run();
    char *text = sign(run, key);
    const size_t size = strlen(text);
    struct assay_certificate c;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        struct assay_error error = {0};
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
        put(file, text, size);
        const assay_status status = assay_certificate_read(file, NULL, &c, &error);
        cr_assert(status == ASSAY_E_CORRUPT, "bit %zu of byte %zu: %s: %s", bit % 8, bit / 8,
                  assay_status_name(status), error.message);
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
    }
    for (size_t cut = 0; cut < size; cut += 1 + cut / 16) {
        put(file, text, cut);
        expect("cut", ASSAY_E_CORRUPT, "");
    }
    char *longer = malloc(size + 2);
    snprintf(longer, size + 2, "%s\n", text);
    put(file, longer, size + 1);
    expect("longer", ASSAY_E_CORRUPT, "");
    put(file, text, size);
    expect("as signed", ASSAY_OK, NULL);
    free(longer);
    free(text);
    json_decref(run);
}

/* The bytes that are signed are the canonical ones: sorted keys, no spaces. */
Test(certificate, canonical)
{
    json_t *run = make_run();
    char *text = sign(run, key);
    json_t *read = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    char *again = json_dumps(read, JSON_SORT_KEYS | JSON_COMPACT);
    cr_assert(strncmp(again, text, strlen(again)) == 0 && strcmp(text + strlen(again), "\n") == 0);
    const json_t *payload = json_object_get(read, "certificate");
    cr_assert(json_array_size(json_object_get(payload, "measurements")) == GATE_NUM_LIMITS);
    free(again);
    free(text);
    json_decref(read);
    json_decref(run);
}

static void expect_no_signature(const json_t *run, const char *with, assay_status expected,
                                const char *words)
{
    struct assay_error error = {0};
    char *text;
    const assay_status status = certificate_sign(run, with, &text, &error);
    cr_assert(status == expected && text == NULL && strstr(error.message, words) != NULL, "%s: %s",
              assay_status_name(status), error.message);
}

/* Keys are made once and kept from others; what must not be certified is not. */
Test(certificate, keys)
{
    struct assay_error error = {0};
    struct stat info;
    json_t *run = make_run();
    cr_assert(stat(key, &info) == 0 && (info.st_mode & 0777) == 0600);
    cr_assert(certificate_new_key(key, &error) == ASSAY_E_IO);
    cr_assert(strstr(error.message, "never overwritten") != NULL);
    assay_error_clear(&error);
    char moved[224];
    snprintf(moved, sizeof moved, "%s.moved", public_key);
    cr_assert(rename(public_key, moved) == 0);
    cr_assert(certificate_new_key(key, &error) == ASSAY_E_IO);
    cr_assert(strstr(error.message, "never overwritten") != NULL);
    cr_assert(access(public_key, F_OK) != 0 && rename(moved, public_key) == 0);
    expect_no_signature(run, public_key, ASSAY_E_IO, "may be read by others");
    cr_assert(chmod(public_key, 0600) == 0);
    expect_no_signature(run, public_key, ASSAY_E_PARSE, "is no secret key");
    expect_no_signature(run, "/nonexistent", ASSAY_E_NOT_FOUND, "");
    cr_assert(chmod(key, 0640) == 0);
    expect_no_signature(run, key, ASSAY_E_IO, "chmod 600");
    cr_assert(chmod(key, 0600) == 0);
    json_object_set_new(run, "planted", json_string("a.mutant.cpu"));
    expect_no_signature(run, key, ASSAY_E_ARG, "planted fault");
    json_object_set_new(run, "planted", json_string(""));
    json_object_set_new(run, "record", json_string("damaged"));
    expect_no_signature(run, key, ASSAY_E_CORRUPT, "not what was recorded");
    json_decref(run);
}
