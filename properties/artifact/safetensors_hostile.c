/* SPDX-License-Identifier: MIT
 *
 * Hostile safetensors files: each must be refused with a record that names file and tensor (or the
 * part of the file), without a crash, a leak or an allocation that the file's size does not
 * justify. Files are derived from a valid small model, which is checked to open first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "hostile.h"
#include "memory_meter.h"
#include "small_model.h"

#define SINGLE  "model.safetensors"
#define INDEX   "model.safetensors.index.json"
#define SHARD_1 "model-00001-of-00002.safetensors"
#define SHARD_2 "model-00002-of-00002.safetensors"
#define FIRST   "model.embed_tokens.weight"

struct bench {
    char *dir;
    struct small_model model;
    struct small_text header; /* of the valid file */
    struct small_text file;   /* the valid file */
    struct hostile_counts counts;
};

static void set_up(struct bench *bench)
{
    memory_meter_start();
    *bench = (struct bench){.dir = small_folder()};
    small_write_config(bench->dir, NULL, 0);
    small_tensors(&bench->model, "model.", "lm_head.weight", "mtp.");
    bench->header = small_header(&bench->model, 0, bench->model.num_tensors);
    bench->file = small_file(bench->header.bytes, bench->header.size, -1, &bench->model, 0,
                             bench->model.num_tensors);
    small_write(bench->dir, SINGLE, bench->file.bytes, bench->file.size);
    cr_assert(hostile_open(bench->dir, bench->file.size, HOSTILE_ALLOWANCE, "the valid model", NULL,
                           NULL, &bench->counts) == ASSAY_OK);
    bench->counts.opened = 0;
}

static void tear_down(struct bench *bench)
{
    small_remove(bench->dir);
    free(bench->header.bytes);
    free(bench->file.bytes);
}

static void refuse_bytes(struct bench *bench, const void *bytes, size_t size, const char *label,
                         const char *field)
{
    small_write(bench->dir, SINGLE, bytes, size);
    hostile_refused(bench->dir, size, label, SINGLE, field, &bench->counts);
}

/* The valid file with another header text before the same data. */
static void refuse_header(struct bench *bench, const char *header, size_t size, const char *label,
                          const char *field)
{
    struct small_text file =
        small_file(header, size, -1, &bench->model, 0, bench->model.num_tensors);

    refuse_bytes(bench, file.bytes, file.size, label, field);
    free(file.bytes);
}

/* The valid header with the first occurrence of `from` replaced. */
static void refuse_replaced(struct bench *bench, const char *from, const char *to,
                            const char *field)
{
    char *place = strstr(bench->header.bytes, from), *header = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&header, &size);
    char label[256];

    cr_assert(place != NULL && stream != NULL, "the header has no %s", from);
    fprintf(stream, "%.*s%s%s", (int)(place - bench->header.bytes), bench->header.bytes, to,
            place + strlen(from));
    cr_assert(fclose(stream) == 0);
    snprintf(label, sizeof label, "%.100s -> %.100s", from, to);
    refuse_header(bench, header, size, label, field);
    free(header);
}

/* ---- one tensor's entry --------------------------------------------------------------------- */

#define VALID_ENTRY "{\"dtype\":\"BF16\",\"shape\":[16,8],\"data_offsets\":[0,256]}"

/* Instead of the whole entry. */
static const char *const entries[] = {
    "7",
    "[]",
    "\"x\"",
    "null",
    "true",
    "{}",
    "{\"shape\":[16,8],\"data_offsets\":[0,256]}",
    "{\"dtype\":\"BF16\",\"data_offsets\":[0,256]}",
    "{\"dtype\":\"BF16\",\"shape\":[16,8]}",
    "{\"dtype\":\"BF16\",\"shape\":[16,8],\"data_offsets\":[0,256],\"x\":0}"};
/* Of another size than the data, unknown, or no text. */
static const char *const dtypes[] = {
    "5",       "null",        "[]",       "\"\"",    "\"bf16\"", "\"BF16 \"",
    "\"BF1\"", "\"F4\"",      "\"Q4_0\"", "\"F32\"", "\"F64\"",  "\"U8\"",
    "\"I64\"", "\"F8_E4M3\"", "\"F16\"",  "\"I8\"",  "\"BOOL\"", "\"\\u0042F17\""};
/* Of another size, negative, not integers, or with a product that wraps around 2^64. */
static const char *const shapes[] = {"\"16\"",
                                     "{}",
                                     "null",
                                     "[]",
                                     "[16]",
                                     "[16,-8]",
                                     "[-16,-8]",
                                     "[16,8.0]",
                                     "[16,\"8\"]",
                                     "[16,null]",
                                     "[16,true]",
                                     "[16,[8]]",
                                     "[16,9]",
                                     "[8,16]",
                                     "[128]",
                                     "[16,8,1]",
                                     "[1,1,1,1,1,1,1,16,8]",
                                     "[16,0]",
                                     "[0,0]",
                                     "[4294967296,4294967296]",
                                     "[16,576460752303423496]",
                                     "[4611686018427387904,4]",
                                     "[9223372036854775807]",
                                     "[9223372036854775807,9223372036854775807]",
                                     "[9223372036854775807,0]",
                                     "[4611686018427387904,4611686018427387904,0]",
                                     "[-9223372036854775808]",
                                     "[2147483648,4294967296,2]",
                                     "[65536,65536,65536,65536]"};
/* Reversed, out of range, of another length, on other tensors, or no integers. */
static const char *const offsets[] = {"\"0,256\"",
                                      "{}",
                                      "null",
                                      "[]",
                                      "[0]",
                                      "[0,256,256]",
                                      "[256,0]",
                                      "[0,255]",
                                      "[0,257]",
                                      "[0,0]",
                                      "[-1,255]",
                                      "[0,-256]",
                                      "[-256,0]",
                                      "[2,258]",
                                      "[1,257]",
                                      "[0.0,256.0]",
                                      "[\"0\",\"256\"]",
                                      "[null,256]",
                                      "[0,256.5]",
                                      "[true,256]",
                                      "[0,1000000000]",
                                      "[1000000000,1000000256]",
                                      "[0,9223372036854775807]",
                                      "[9223372036854775551,9223372036854775807]",
                                      "[-9223372036854775808,-9223372036854775552]",
                                      "[4294967296,4294967552]"};

static void hostile_entries(struct bench *bench)
{
    char text[512];

    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        refuse_replaced(bench, VALID_ENTRY, entries[i], FIRST);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        snprintf(text, sizeof text, "{\"dtype\":%s,\"shape\":[16,8],\"data_offsets\":[0,256]}",
                 dtypes[i]);
        refuse_replaced(bench, VALID_ENTRY, text, FIRST);
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        snprintf(text, sizeof text, "{\"dtype\":\"BF16\",\"shape\":%s,\"data_offsets\":[0,256]}",
                 shapes[i]);
        refuse_replaced(bench, VALID_ENTRY, text, FIRST);
    }
    /* Overlaps and holes may be reported for the neighbour, so only the file is fixed. */
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        snprintf(text, sizeof text, "{\"dtype\":\"BF16\",\"shape\":[16,8],\"data_offsets\":%s}",
                 offsets[i]);
        refuse_replaced(bench, VALID_ENTRY, text, "model.");
    }
}

/* Extents whose product wraps around 2^64 to the very size of the tensor: not a matter of shapes,
 * which are compared later, and not for tensors that are skipped. */
static void wrapped_shape(struct bench *bench)
{
    static const char from[] = "\"shape\":[16,8]", to[] = "\"shape\":[16,576460752303423496]";
    char *place = strstr(bench->header.bytes, from), *header = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&header, &size);

    cr_assert(place != NULL && stream != NULL);
    fprintf(stream, "%.*s%s%s", (int)(place - bench->header.bytes), bench->header.bytes, to,
            place + strlen(from));
    cr_assert(fclose(stream) == 0);
    struct small_text file =
        small_file(header, size, -1, &bench->model, 0, bench->model.num_tensors);
    small_write(bench->dir, SINGLE, file.bytes, file.size);
    cr_assert(hostile_open(bench->dir, file.size, HOSTILE_ALLOWANCE, "a wrapped product", SINGLE,
                           FIRST, &bench->counts) == ASSAY_E_CORRUPT);
    free(file.bytes);
    free(header);
}

/* ---- two tensors against each other --------------------------------------------------------- */

static void hostile_layouts(struct bench *bench)
{
    struct small_model *model = &bench->model;
    char from[160], to[160];

    /* Every tensor in turn on the bytes of the one before, or one element further. */
    for (int i = 1; i < model->num_tensors; i++) {
        size_t begin = 0, bytes = small_tensor_bytes(&model->tensors[i]);
        for (int j = 0; j < i; j++)
            begin += small_tensor_bytes(&model->tensors[j]);
        snprintf(from, sizeof from, "\"data_offsets\":[%zu,%zu]}", begin, begin + bytes);
        snprintf(to, sizeof to, "\"data_offsets\":[%zu,%zu]}", begin - 2, begin - 2 + bytes);
        refuse_replaced(bench, from, to, NULL);
        snprintf(to, sizeof to, "\"data_offsets\":[%zu,%zu]}", begin + 2, begin + 2 + bytes);
        refuse_replaced(bench, from, to, NULL);
    }
    refuse_replaced(bench, "\"" FIRST "\"", "\"\"", "\"\"");
    refuse_replaced(bench, "\"" FIRST "\"", "\"model.norm.weight\"", "header");
    refuse_replaced(bench, "\"" FIRST "\"", "\"model.\\u0000x\"", "header");
    refuse_replaced(bench, "\"" FIRST "\"", "\"model.\xff\"", "header");
    refuse_replaced(bench, "\"dtype\":\"BF16\"", "\"dtype\":\"BF16\",\"dtype\":\"BF16\"", "header");
}

/* ---- the header as a text ------------------------------------------------------------------- */

static void hostile_headers(struct bench *bench)
{
    static const char *const headers[] = {"",
                                          "{",
                                          "}",
                                          "[]",
                                          "5",
                                          "null",
                                          "true",
                                          "\"x\"",
                                          "x",
                                          "{]",
                                          "{\"a\"}",
                                          "{\"a\":}",
                                          "{\"a\":{}",
                                          "{\"a\":{}}x",
                                          "{\"a\":{}} {}",
                                          "{'a':{}}",
                                          "{a:1}",
                                          "{\"a\":01}",
                                          "{\"a\":+1}",
                                          "{\"a\":.5}",
                                          "{\"a\":1e999}",
                                          "{\"a\":NaN}",
                                          "{\"a\":Infinity}",
                                          "{\"a\":-Infinity}",
                                          "{\"a\":99999999999999999999}",
                                          "{\"a\":\"\\x\"}",
                                          "{\"a\":\"\\ud800\"}",
                                          "{\"a\":\"\n\"}",
                                          "{\"a\":\"",
                                          "{\"a\":\"\\",
                                          "/**/{}",
                                          "{,}",
                                          "{\"a\":1,}",
                                          "\xef\xbb\xbf{}"};
    static const char *const metadata[] = {"5",
                                           "[]",
                                           "null",
                                           "\"pt\"",
                                           "{\"format\":1}",
                                           "{\"format\":null}",
                                           "{\"format\":{}}",
                                           "{\"format\":[\"pt\"]}"};

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        refuse_header(bench, headers[i], strlen(headers[i]), headers[i], NULL);
    refuse_header(bench, "{}", 2, "no tensors before data", "data");
    refuse_header(bench, "{\"a\0\":1}", 8, "a zero in the header", "header");
    for (size_t i = 0; i < sizeof metadata / sizeof *metadata; i++)
        refuse_replaced(bench, "{\"format\":\"pt\"}", metadata[i], "__metadata__");
}

/* Texts that cost a parser much more than they cost to write. */
static void hostile_appetite(struct bench *bench)
{
    static const char *const units[] = {"[", "{\"a\":", "1,", "[],", "{},", "\"\","};
    enum { SIZE = 8 << 20 };
    char *header = malloc(SIZE);

    cr_assert(header != NULL);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t used = (size_t)snprintf(header, SIZE, "{\"t\":[");
        while (used + strlen(units[i]) < SIZE) {
            memcpy(header + used, units[i], strlen(units[i]));
            used += strlen(units[i]);
        }
        refuse_header(bench, header, used, units[i], "header");
        /* Right below the limit on values the text is parsed; the tree is the constant. */
        size_t bytes = used < (1 << 19) * strlen(units[i]) ? used : (1 << 19) * strlen(units[i]);
        struct small_text file =
            small_file(header, bytes, -1, &bench->model, 0, bench->model.num_tensors);
        small_write(bench->dir, SINGLE, file.bytes, file.size);
        cr_assert(hostile_open(bench->dir, file.size, (size_t)128 << 20, units[i], SINGLE, "header",
                               &bench->counts) != ASSAY_OK);
        free(file.bytes);
    }
    free(header);
    size_t long_size = ((size_t)16 << 20) + 8; /* all of it padding, but beyond the limit */
    header = malloc(long_size);
    cr_assert(header != NULL);
    memset(header, ' ', long_size);
    memcpy(header, "{}", 2);
    refuse_header(bench, header, long_size, "a long header", "header");
    for (int depth = 2; depth < 5000; depth = depth * 3 / 2 + 1) {
        memset(header, '[', (size_t)depth);
        memset(header + depth, ']', (size_t)depth);
        refuse_header(bench, header, 2 * (size_t)depth, "nested arrays", "header");
    }
    free(header);
}

/* ---- the file as bytes ---------------------------------------------------------------------- */

static void hostile_lengths(struct bench *bench)
{
    uint64_t size = bench->file.size, header = 0;
    char *copy = malloc(size);

    cr_assert(copy != NULL);
    memcpy(&header, bench->file.bytes, sizeof header);
    const uint64_t lengths[] = {0,
                                1,
                                2,
                                7,
                                header - 8,
                                header - 1,
                                header + 1,
                                header + 2,
                                header + 8,
                                size - 9,
                                size - 8,
                                size - 7,
                                size,
                                size + 1,
                                1 << 24,
                                (1 << 24) + 1,
                                INT32_MAX,
                                UINT64_C(1) << 31,
                                UINT32_MAX,
                                UINT64_C(1) << 32,
                                (UINT64_C(1) << 32) + header,
                                INT64_MAX,
                                UINT64_C(1) << 63,
                                (UINT64_C(1) << 63) + header,
                                UINT64_MAX - 8,
                                UINT64_MAX - 7,
                                UINT64_MAX,
                                __builtin_bswap64(header)};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char label[64];
        memcpy(copy, bench->file.bytes, size);
        memcpy(copy, &lengths[i], sizeof lengths[i]);
        snprintf(label, sizeof label, "header length %llu", (unsigned long long)lengths[i]);
        refuse_bytes(bench, copy, size, label, NULL);
    }
    free(copy);
}

/* A header that is one space longer moves all data to odd addresses. */
static void hostile_alignment(struct bench *bench)
{
    size_t data = 8 + (bench->header.size + 7) / 8 * 8;
    char *copy = malloc(bench->file.size + 1);
    uint64_t length = data - 8 + 1;

    cr_assert(copy != NULL);
    memcpy(copy, bench->file.bytes, data);
    memcpy(copy, &length, sizeof length);
    copy[data] = ' ';
    memcpy(copy + data + 1, bench->file.bytes + data, bench->file.size - data);
    refuse_bytes(bench, copy, bench->file.size + 1, "data at odd addresses", FIRST);
    free(copy);
}

static void hostile_truncations(struct bench *bench)
{
    char label[64];

    for (size_t size = 0; size < bench->file.size; size += size < 64 ? 1 : 23) {
        snprintf(label, sizeof label, "cut to %zu bytes", size);
        refuse_bytes(bench, bench->file.bytes, size, label, NULL);
    }
    refuse_bytes(bench, bench->file.bytes, bench->file.size - 1, "cut by one byte", NULL);
    for (size_t extra = 1; extra <= 4096; extra *= 4) {
        char *longer = calloc(1, bench->file.size + extra);
        cr_assert(longer != NULL);
        memcpy(longer, bench->file.bytes, bench->file.size);
        snprintf(label, sizeof label, "%zu bytes appended", extra);
        refuse_bytes(bench, longer, bench->file.size + extra, label, "data");
        free(longer);
    }
}

/* Every bit of the length and a spread of bits of the header. A flip inside a metadata string or in
 * padding leaves a valid file; those must be few. */
static void hostile_flips(struct bench *bench)
{
    struct hostile_counts flips = {0, 0};
    size_t bits = 8 * (8 + bench->header.size);
    char label[64];

    for (size_t bit = 0; bit < bits; bit += bit < 64 ? 1 : 29) {
        bench->file.bytes[bit / 8] ^= (char)(1 << bit % 8);
        small_write(bench->dir, SINGLE, bench->file.bytes, bench->file.size);
        bench->file.bytes[bit / 8] ^= (char)(1 << bit % 8);
        snprintf(label, sizeof label, "bit %zu flipped", bit);
        hostile_open(bench->dir, bench->file.size, HOSTILE_ALLOWANCE, label, SINGLE, NULL, &flips);
    }
    cr_log_info("bit flips: %d refused, %d left a valid file", flips.refused, flips.opened);
    cr_assert(flips.refused > 500 && flips.opened * 50 < flips.refused, "%d refused, %d opened",
              flips.refused, flips.opened);
    bench->counts.refused += flips.refused;
}

static void hostile_files(struct bench *bench)
{
    char path[1024];

    small_delete(bench->dir, SINGLE);
    hostile_refused(bench->dir, 0, "no weights", SINGLE, NULL, &bench->counts);
    snprintf(path, sizeof path, "%s/%s", bench->dir, SINGLE);
    cr_assert(mkdir(path, 0777) == 0);
    hostile_refused(bench->dir, 0, "a folder", SINGLE, NULL, &bench->counts);
    small_delete(bench->dir, SINGLE);
    cr_assert(symlink("/dev/zero", path) == 0);
    hostile_refused(bench->dir, 0, "a device", SINGLE, NULL, &bench->counts);
    small_delete(bench->dir, SINGLE);
    cr_assert(symlink(SINGLE, path) == 0);
    hostile_refused(bench->dir, 0, "a link to itself", SINGLE, NULL, &bench->counts);
    small_delete(bench->dir, SINGLE);
}

Test(safetensors, hostile)
{
    struct bench bench;

    set_up(&bench);
    hostile_entries(&bench);
    wrapped_shape(&bench);
    hostile_layouts(&bench);
    hostile_headers(&bench);
    hostile_lengths(&bench);
    hostile_alignment(&bench);
    hostile_truncations(&bench);
    hostile_flips(&bench);
    hostile_files(&bench);
    hostile_appetite(&bench);
    cr_log_info("%d hostile files refused", bench.counts.refused);
    cr_assert(bench.counts.refused >= 200 && bench.counts.opened == 0);
    tear_down(&bench);
}

/* ---- shards --------------------------------------------------------------------------------- */

static struct small_text index_text(const struct small_model *model, int split)
{
    struct small_text text = {NULL, 0};
    FILE *stream = open_memstream(&text.bytes, &text.size);

    cr_assert(stream != NULL);
    fprintf(stream, "{\"metadata\":{\"total_size\":1},\"weight_map\":{");
    for (int i = 0; i < model->num_tensors; i++)
        fprintf(stream, "%s\"%s\":\"%s\"", i > 0 ? "," : "", model->tensors[i].name,
                i < split ? SHARD_1 : SHARD_2);
    fprintf(stream, "}}");
    cr_assert(fclose(stream) == 0);
    return text;
}

static void refuse_index(struct bench *bench, const char *text, const char *file, const char *field)
{
    small_write(bench->dir, INDEX, text, strlen(text));
    hostile_refused(bench->dir, strlen(text) + 2 * bench->file.size, text, file, field,
                    &bench->counts);
}

static void refuse_index_replaced(struct bench *bench, const struct small_text *index,
                                  const char *from, const char *to, const char *file,
                                  const char *field)
{
    const char *place = strstr(index->bytes, from);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    cr_assert(place != NULL && stream != NULL);
    fprintf(stream, "%.*s%s%s", (int)(place - index->bytes), index->bytes, to,
            place + strlen(from));
    cr_assert(fclose(stream) == 0);
    refuse_index(bench, text, file, field);
    free(text);
}

static void hostile_index_texts(struct bench *bench, const struct small_text *index)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "5",
                                        "null",
                                        "{}",
                                        "{\"weight_map\":5}",
                                        "{\"weight_map\":[]}",
                                        "{\"weight_map\":{}}",
                                        "{\"weight_map\":null}",
                                        "{\"weight_map\":{\"a\":1}}",
                                        "{\"weight_map\":{\"a\":NaN}}",
                                        "{\"weight_map\":{},\"weight_map\":{}}"};
    static const char *const files[] = {"7",
                                        "null",
                                        "[]",
                                        "{}",
                                        "\"\"",
                                        "\".\"",
                                        "\"..\"",
                                        "\"../" SHARD_1 "\"",
                                        "\"./" SHARD_1 "\"",
                                        "\"/etc/passwd\"",
                                        "\"/tmp/x.safetensors\"",
                                        "\"a/b.safetensors\"",
                                        "\"..\\\\x.safetensors\"",
                                        "\".hidden.safetensors\"",
                                        "\".safetensors\"",
                                        "\"config.json\"",
                                        "\"model.bin\"",
                                        "\"x..safetensors\""};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refuse_index(bench, texts[i], INDEX, NULL);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char to[128];
        snprintf(to, sizeof to, "\"" FIRST "\":%s", files[i]);
        refuse_index_replaced(bench, index, "\"" FIRST "\":\"" SHARD_1 "\"", to, INDEX, FIRST);
    }
    refuse_index_replaced(bench, index, "\"" FIRST "\":\"" SHARD_1 "\"",
                          "\"" FIRST "\":\"absent.safetensors\"", "absent.safetensors", NULL);
    refuse_index_replaced(bench, index, "\"" FIRST "\":\"" SHARD_1 "\"",
                          "\"" FIRST "\":\"" SHARD_2 "\"", SHARD_1, FIRST);
    refuse_index_replaced(bench, index, "\"" FIRST "\":\"" SHARD_1 "\",", "", SHARD_1, FIRST);
    refuse_index_replaced(bench, index, "\"" FIRST "\"",
                          "\"model.extra\":\"" SHARD_2 "\",\"" FIRST "\"", SHARD_2, "model.extra");
    refuse_index_replaced(bench, index, "\"" FIRST "\"",
                          "\"" FIRST "\":\"" SHARD_1 "\",\"" FIRST "\"", INDEX, "JSON");
    for (size_t size = 0; size < index->size; size += 97) {
        small_write(bench->dir, INDEX, index->bytes, size);
        hostile_refused(bench->dir, size, "index cut", INDEX, NULL, &bench->counts);
    }
}

Test(safetensors, hostile_index)
{
    struct bench bench;
    enum { SPLIT = 10 };

    set_up(&bench);
    small_delete(bench.dir, SINGLE);
    struct small_text index = index_text(&bench.model, SPLIT);
    small_write_file(bench.dir, SHARD_1, &bench.model, 0, SPLIT);
    small_write_file(bench.dir, SHARD_2, &bench.model, SPLIT, bench.model.num_tensors);
    small_write(bench.dir, INDEX, index.bytes, index.size);
    cr_assert(hostile_open(bench.dir, bench.file.size + index.size, HOSTILE_ALLOWANCE,
                           "the valid shards", NULL, NULL, &bench.counts) == ASSAY_OK);
    bench.counts.opened = 0;
    hostile_index_texts(&bench, &index);

    /* The same tensor in both shards. */
    small_write(bench.dir, INDEX, index.bytes, index.size);
    small_write_file(bench.dir, SHARD_2, &bench.model, SPLIT - 1, bench.model.num_tensors);
    hostile_refused(bench.dir, bench.file.size + index.size, "a tensor twice", SHARD_2,
                    bench.model.tensors[SPLIT - 1].name, &bench.counts);
    small_delete(bench.dir, SHARD_2);
    hostile_refused(bench.dir, bench.file.size + index.size, "missing shard", SHARD_2, NULL,
                    &bench.counts);
    small_delete(bench.dir, INDEX);
    hostile_refused(bench.dir, 0, "neither file nor index", SINGLE, NULL, &bench.counts);
    cr_log_info("%d hostile indices refused", bench.counts.refused);
    cr_assert(bench.counts.refused >= 50 && bench.counts.opened == 0);
    free(index.bytes);
    tear_down(&bench);
}
