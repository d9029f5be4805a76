/* SPDX-License-Identifier: MIT
 *
 * certificate: the first byte says what the others are: a certificate, a payload that the target
 * signs (no fuzzer finds a signature), or the list of trusted keys.
 */
#include "fuzz_folder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include <assay/certificate.h>
#include <assay/testing.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CERTIFICATE, PAYLOAD, KEYS, NUM_KINDS };

static const char payload[] =
    "{\"backend\":\"cpu\",\"build\":\"b\",\"expires\":\"2999-12-31\","
    "\"format\":\"assay-certificate-1\",\"machine\":\"avx2\",\"model\":\"m\",\"policy\":\"p\","
    "\"recorded\":\"2026-11-30T00:00:00Z\",\"trades\":\"gdn-state-fp16\",\"verdict\":\"PASS\"}";

/* Of a key whose seed is all zeros. */
static char public_digits[2 * crypto_sign_PUBLICKEYBYTES + 1];
static unsigned char secret[crypto_sign_SECRETKEYBYTES];

static void make_key(void)
{
    static const unsigned char seed[crypto_sign_SEEDBYTES];
    unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
    if (sodium_init() < 0)
        fuzz_fail("libsodium cannot be initialised");
    crypto_sign_seed_keypair(public_key, secret, seed);
    sodium_bin2hex(public_digits, sizeof public_digits, public_key, sizeof public_key);
}

static void write_signed(const void *text, size_t size)
{
    unsigned char signature[crypto_sign_BYTES];
    char digits[2 * crypto_sign_BYTES + 1];
    char *file = malloc(size + 512);
    if (file == NULL)
        fuzz_fail("no memory for the certificate");
    crypto_sign_detached(signature, NULL, text, size, secret);
    sodium_bin2hex(digits, sizeof digits, signature, sizeof signature);
    size_t used = (size_t)sprintf(file, "{\"certificate\":");
    memcpy(file + used, text, size);
    used += size;
    used += (size_t)sprintf(file + used, ",\"public_key\":\"%s\",\"signature\":\"%s\"}\n",
                            public_digits, digits);
    fuzz_folder_write("certificate.json", file, used);
    free(file);
}

static void check_accepted(const struct assay_certificate *c, unsigned kind, const uint8_t *data,
                           size_t size)
{
    if (strcmp(c->public_key, public_digits) != 0)
        fuzz_fail("another key is trusted than the one in the list");
    if (kind == CERTIFICATE)
        for (size_t i = 0; i + sizeof public_digits <= size + 1; i++)
            if (memcmp(data + i, public_digits, sizeof public_digits - 1) == 0)
                return;
    if (kind == CERTIFICATE)
        fuzz_fail("signed by a key that is not in the file");
    if (kind == KEYS && memmem(data, size, public_digits, sizeof public_digits - 1) == NULL)
        fuzz_fail("trusted by a list that does not have the key");
}

/* No certificate of the input can be for this process's build. Asked once: the question takes the
 * digest of the program file. */
static void ask(const char *path, const char *keys)
{
    static const char model[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static bool asked;
    const struct assay_gate_machine machine = {ASSAY_CPU, assay_isa_detect(), 0};
    struct assay_error error = {.status = ASSAY_OK};
    if (asked)
        return;
    asked = true;
    setenv("ASSAY_TRUSTED_KEYS", keys, 1);
    const assay_status status =
        assay_certificate_allows(path, model, 1u << ASSAY_TRADE_GDN_STATE_FP16, &machine, &error);
    fuzz_check_record(status, &error);
    if (status == ASSAY_OK)
        fuzz_fail("allowed by a certificate of another build");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[4200], keys[4200], list[128];
    struct assay_error error = {.status = ASSAY_OK};
    struct assay_certificate c;
    if (size == 0)
        return 0;
    if (public_digits[0] == '\0')
        make_key();
    const unsigned kind = data[0] % NUM_KINDS;
    data++;
    size--;
    snprintf(list, sizeof list, "ed25519 %s fuzz\n", public_digits);
    snprintf(path, sizeof path, "%s/certificate.json", fuzz_folder());
    snprintf(keys, sizeof keys, "%s/keys", fuzz_folder());
    if (kind == CERTIFICATE)
        fuzz_folder_write("certificate.json", data, size);
    else
        write_signed(kind == PAYLOAD ? (const void *)data : payload,
                     kind == PAYLOAD ? size : sizeof payload - 1);
    if (kind == KEYS && size == 0)
        fuzz_folder_remove("keys");
    else
        fuzz_folder_write("keys", kind == KEYS ? (const void *)data : list,
                          kind == KEYS ? size : strlen(list));
    const assay_status status = assay_certificate_read(path, keys, &c, &error);
    fuzz_check_record(status, &error);
    if (status == ASSAY_OK) {
        check_accepted(&c, kind, data, size);
        fuzz_check_record(assay_certificate_valid(&c, path, &error), &error);
        ask(path, keys);
    }
    if (assay_live_allocations() != 0)
        fuzz_fail("a leak");
    return 0;
}
