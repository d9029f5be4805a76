/* SPDX-License-Identifier: MIT
 *
 * certificate: the first byte says what the others are: a certificate, a payload that the target
 * signs (no fuzzer finds a signature), the list of trusted keys, a payload that is signed by
 * another key than the list's, or the bit of a good certificate that is flipped.
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

enum { CERTIFICATE, PAYLOAD, KEYS, OTHER_KEY, FLIPPED, NUM_KINDS };

static const char payload[] =
    "{\"backend\":\"cpu\",\"build\":\"b\",\"expires\":\"2999-12-31\","
    "\"format\":\"assay-certificate-1\",\"machine\":\"avx2\",\"model\":\"m\",\"policy\":\"p\","
    "\"recorded\":\"2026-11-30T00:00:00Z\",\"trades\":\"gdn-state-fp16\",\"verdict\":\"PASS\"}";

struct key {
    char digits[2 * crypto_sign_PUBLICKEYBYTES + 1];
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
};

static struct key trusted, stranger;

/* Of a seed whose bytes are all the same. */
static void make_key(int byte, struct key *key)
{
    unsigned char seed[crypto_sign_SEEDBYTES], public_key[crypto_sign_PUBLICKEYBYTES];
    if (sodium_init() < 0)
        fuzz_fail("libsodium cannot be initialised");
    memset(seed, byte, sizeof seed);
    crypto_sign_seed_keypair(public_key, key->secret, seed);
    sodium_bin2hex(key->digits, sizeof key->digits, public_key, sizeof public_key);
}

/* flip: NULL, or at least three bytes: where a bit is another one, and which. */
static void write_signed(const struct key *key, const void *text, size_t size, const uint8_t *flip)
{
    unsigned char signature[crypto_sign_BYTES];
    char digits[2 * crypto_sign_BYTES + 1];
    char *file = malloc(size + 512);
    if (file == NULL)
        fuzz_fail("no memory for the certificate");
    crypto_sign_detached(signature, NULL, text, size, key->secret);
    sodium_bin2hex(digits, sizeof digits, signature, sizeof signature);
    size_t used = (size_t)sprintf(file, "{\"certificate\":");
    memcpy(file + used, text, size);
    used += size;
    used += (size_t)sprintf(file + used, ",\"public_key\":\"%s\",\"signature\":\"%s\"}\n",
                            key->digits, digits);
    if (flip != NULL)
        file[(flip[0] | (size_t)flip[1] << 8) % used] ^= (char)(1 << flip[2] % 8);
    fuzz_folder_write("certificate.json", file, used);
    free(file);
}

/* The signature is the trusted key's, over the bytes between the first colon and the key. */
static void check_signature(const uint8_t *data, size_t size)
{
    static const char before[] = "{\"certificate\":", after[] = ",\"public_key\":\"",
                      mark[] = "\",\"signature\":\"";
    unsigned char signature[crypto_sign_BYTES], public_key[crypto_sign_PUBLICKEYBYTES];
    const size_t digits = sizeof trusted.digits - 1;
    const size_t tail = sizeof after - 1 + digits + sizeof mark - 1 + 2 * sizeof signature + 2;
    const char *const text = (const char *)data;
    while (size > 0 && text[size - 1] == '\n')
        size--;
    if (size < sizeof before - 1 + tail || memcmp(text, before, sizeof before - 1) != 0)
        fuzz_fail("accepted without the certificate's form");
    const size_t end = size - tail;
    const char *const found = text + end + sizeof after - 1;
    if (memcmp(found, trusted.digits, digits) != 0)
        fuzz_fail("signed by a key that is not in the list");
    if (sodium_hex2bin(signature, sizeof signature, found + digits + sizeof mark - 1,
                       2 * sizeof signature, NULL, NULL, NULL) != 0 ||
        sodium_hex2bin(public_key, sizeof public_key, trusted.digits, digits, NULL, NULL, NULL) !=
            0 ||
        crypto_sign_verify_detached(signature, data + sizeof before - 1, end - (sizeof before - 1),
                                    public_key) != 0)
        fuzz_fail("accepted with a signature that is none");
}

static void check_accepted(const struct assay_certificate *c, unsigned kind, const uint8_t *data,
                           size_t size)
{
    if (strcmp(c->public_key, trusted.digits) != 0)
        fuzz_fail("another key is trusted than the one in the list");
    if (kind == OTHER_KEY)
        fuzz_fail("accepted from a key that is not in the list");
    if (kind == FLIPPED)
        fuzz_fail("a flipped bit is not noticed");
    if (kind == CERTIFICATE)
        check_signature(data, size);
    if (kind == KEYS && memmem(data, size, trusted.digits, sizeof trusted.digits - 1) == NULL)
        fuzz_fail("trusted by a list that does not have the key");
}

/* The certificate that the input asks for. */
static void write_certificate(unsigned kind, const uint8_t *data, size_t size)
{
    static const uint8_t first_bit[3];
    const size_t length = sizeof payload - 1;
    if (kind == CERTIFICATE)
        fuzz_folder_write("certificate.json", data, size);
    else if (kind == PAYLOAD || kind == OTHER_KEY)
        write_signed(kind == PAYLOAD ? &trusted : &stranger, data, size, NULL);
    else if (kind == KEYS)
        write_signed(&trusted, payload, length, NULL);
    else
        write_signed(&trusted, payload, length, size < 3 ? first_bit : data);
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
    if (trusted.digits[0] == '\0') {
        make_key(0, &trusted);
        make_key(1, &stranger);
    }
    const unsigned kind = data[0] % NUM_KINDS;
    data++;
    size--;
    snprintf(list, sizeof list, "ed25519 %s fuzz\n", trusted.digits);
    snprintf(path, sizeof path, "%s/certificate.json", fuzz_folder());
    snprintf(keys, sizeof keys, "%s/keys", fuzz_folder());
    write_certificate(kind, data, size);
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
