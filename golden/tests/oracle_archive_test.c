/* SPDX-License-Identifier: MIT
 *
 * model.oracle.archive: the oracle's safetensors reader widens every type exactly and refuses files
 * that contradict themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "oracle_fixture.h"

struct bad_file {
    const char *header;
    long long length; /* what the file claims; -1: the header's length */
    const char *says; /* in the message */
};

#define ENTRY(dtype, shape, offsets) \
    "{\"x\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static const struct bad_file bad_files[] = {
    {"", -1, "header"},
    {"[]", -1, "not an object"},
    {"{", -1, "header"},
    {"{}", 1000, "header of 1000 bytes"},
    {"{}", -2, "header of"}, /* 2^64 - 2 */
    {"{\"x\":1,\"x\":2}", -1, "header"},
    {"{\"y\":1}", -1, "no tensor x"},
    {ENTRY("F8", "[2]", "[0,2]"), -1, "dtype F8"},
    {ENTRY("F32", "[2]", "[0,4]"), -1, "expected 8 bytes"},
    {ENTRY("F32", "[2]", "[8,0]"), -1, "data_offsets"},
    {ENTRY("F32", "[2]", "[-8,0]"), -1, "data_offsets"},
    {ENTRY("F32", "[2]", "[16,24]"), -1, "data_offsets"}, /* past the 16 bytes of data */
    {ENTRY("F32", "[2]", "[0]"), -1, "data_offsets"},
    {ENTRY("F32", "[0]", "[0,0]"), -1, "shape"},
    {ENTRY("F32", "[-2]", "[0,8]"), -1, "shape"},
    {ENTRY("F32", "[4611686018427387904,8]", "[0,8]"), -1, "shape"},
    {ENTRY("F32", "[1,1,1,1,2]", "[0,8]"), -1, "shape"},
    {ENTRY("F32", "\"2\"", "[0,8]"), -1, "shape"},
};

/* Header and 16 bytes of data: 1.0 and -2.0 as binary32, then 8 bytes more. */
static void write_file(const char *path, const char *header, long long claimed)
{
    static const unsigned char data[16] = {0, 0, 0x80, 0x3f, 0,    0,    0,    0xc0,
                                           0, 0, 0,    0,    0xfe, 0xff, 0xff, 0xff};
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    size_t length = strlen(header);
    unsigned long long word = claimed == -1 ? length : (unsigned long long)claimed;
    for (int i = 0; i < 8; i++)
        (void)fputc((int)(word >> 8 * i & 255), file);
    cr_assert_eq(fwrite(header, 1, length, file), length);
    cr_assert_eq(fwrite(data, 1, sizeof data, file), sizeof data);
    cr_assert_eq(fclose(file), 0);
}

static assay_status read_x(const char *path, double **values, int64_t *count, char *message,
                           size_t size)
{
    struct oracle_archive *archive;
    *values = NULL;
    assay_status status = oracle_archive_open(path, &archive, message, size);
    if (status != ASSAY_OK) {
        cr_assert_null(archive);
        return status;
    }
    status = oracle_archive_read(archive, "x", values, count, message, size);
    oracle_archive_close(archive);
    return status;
}

Test(model_oracle, archive)
{
    char path[] = "/tmp/assay-archive-XXXXXX", message[512];
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(close(fd), 0);
    double *values;
    int64_t count;
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        message[0] = '\0';
        write_file(path, bad_files[i].header, bad_files[i].length);
        assay_status status = read_x(path, &values, &count, message, sizeof message);
        cr_assert_neq(status, ASSAY_OK, "accepted: %s", bad_files[i].header);
        cr_assert_null(values);
        cr_assert_not_null(strstr(message, bad_files[i].says), "%s: %s", bad_files[i].header,
                           message);
    }
    static const struct {
        const char *header;
        double first, last;
    } good[] = {
        {ENTRY("F32", "[2]", "[0,8]"), 1, -2},
        {ENTRY("BF16", "[1,4]", "[0,8]"), 0, -2}, /* 0, 1, 0, -2 */
        {ENTRY("F16", "[2,2]", "[0,8]"), 0, -2},  /* 0xc000 is -2 in binary16 too */
        {ENTRY("I32", "[2]", "[8,16]"), 0, -2},   /* the last four bytes: -2 */
        {ENTRY("I64", "[1]", "[8,16]"), -0x2p32, -0x2p32},
        {ENTRY("F64", "[]", "[0,8]"), -0x1.000003f8p1, -0x1.000003f8p1},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        write_file(path, good[i].header, -1);
        assay_status status = read_x(path, &values, &count, message, sizeof message);
        cr_assert_eq(status, ASSAY_OK, "%s: %s", good[i].header, message);
        cr_assert_eq(values[0], good[i].first, "%s: %a", good[i].header, values[0]);
        cr_assert_eq(values[count - 1], good[i].last, "%s: %a", good[i].header, values[count - 1]);
        free(values);
    }
    cr_assert_eq(truncate(path, 5), 0);
    cr_assert_eq(read_x(path, &values, &count, message, sizeof message), ASSAY_E_CORRUPT);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(read_x(path, &values, &count, message, sizeof message), ASSAY_E_NOT_FOUND);
}
