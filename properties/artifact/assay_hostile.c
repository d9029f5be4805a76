/* SPDX-License-Identifier: MIT
 *
 * Hostile .assay folders: each must be refused with a record that names the file and, where the
 * JSON is valid, the object, without a crash, a leak or an allocation that the files' sizes do not
 * justify. Folders are derived from a valid one, which is checked to open first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include <assay/convert.h>
#include <assay/model.h>

#include "hostile.h"
#include "memory_meter.h"
#include "sized_model.h"
#include "small_model.h"

#define DIRECTORY "artifact.json"
#define PAYLOAD   "payload.bin"
#define FIRST     "lm_head.weight"

struct bench {
    char *dir;
    char path[1024]; /* the .assay folder in it */
    char *text;
    size_t text_size;
    uint8_t *payload;
    size_t payload_size;
    struct hostile_counts counts;
};

static void *slurp(const char *dir, const char *name, size_t *size)
{
    char path[2048], *bytes;
    struct stat info;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL && stat(path, &info) == 0, "%s", path);
    *size = (size_t)info.st_size;
    bytes = calloc(1, *size + 1);
    cr_assert(fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

static void set_up(struct bench *bench)
{
    struct assay_convert_options options = assay_convert_defaults();
    char *made = small_folder();

    *bench = (struct bench){.dir = small_folder()};
    snprintf(bench->path, sizeof bench->path, "%s/x.assay", bench->dir);
    sized_write(made, &sized_small);
    options.model = made;
    options.output = bench->path;
    options.recipe = "q4-mixed";
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_OK);
    small_remove(made);
    bench->text = slurp(bench->path, DIRECTORY, &bench->text_size);
    bench->payload = slurp(bench->path, PAYLOAD, &bench->payload_size);
    memory_meter_start();
    cr_assert(hostile_open(bench->path, bench->text_size, HOSTILE_ALLOWANCE, "the valid folder",
                           NULL, NULL, &bench->counts) == ASSAY_OK);
    bench->counts.opened = 0;
}

static void refuse_text(struct bench *bench, const char *text, size_t size, const char *label,
                        const char *file, const char *field)
{
    small_write(bench->path, DIRECTORY, text, size);
    hostile_refused(bench->path, size, label, file, field, &bench->counts);
}

/* The directory with the first `from` after the first `after` replaced. */
static void refuse_replaced(struct bench *bench, const char *after, const char *from,
                            const char *to, const char *file, const char *field)
{
    char *start = strstr(bench->text, after), *text = NULL, label[256];
    char *place = start != NULL ? strstr(start, from) : NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    cr_assert(place != NULL && stream != NULL, "no %s after %s", from, after);
    fprintf(stream, "%.*s%s%s", (int)(place - bench->text), bench->text, to, place + strlen(from));
    cr_assert(fclose(stream) == 0);
    snprintf(label, sizeof label, "%.100s -> %.100s", from, to);
    refuse_text(bench, text, size, label, file, field);
    free(text);
}

static void truncations(struct bench *bench)
{
    char label[64];

    for (size_t size = 0; size + 1 < bench->text_size; size += 13) {
        snprintf(label, sizeof label, "cut to %zu bytes", size);
        refuse_text(bench, bench->text, size, label, DIRECTORY, NULL);
    }
    small_write(bench->path, DIRECTORY, bench->text, bench->text_size);
    for (size_t size = 0; size < bench->payload_size; size += 997) {
        snprintf(label, sizeof label, "payload cut to %zu bytes", size);
        small_write(bench->path, PAYLOAD, bench->payload, size);
        hostile_refused(bench->path, bench->text_size, label, PAYLOAD, NULL, &bench->counts);
    }
    small_write(bench->path, PAYLOAD, bench->payload, bench->payload_size + 1);
    hostile_refused(bench->path, bench->text_size, "a longer payload", PAYLOAD, "size",
                    &bench->counts);
    small_write(bench->path, PAYLOAD, bench->payload, bench->payload_size);
}

/* Values instead of one of the first object's. */
static const struct {
    const char *from, *to;
} replacements[] = {
    {"\"format\": \"q6g64\"", "\"format\": \"q7g64\""},
    {"\"format\": \"q6g64\"", "\"format\": \"q4g64\""},
    {"\"format\": \"q6g64\"", "\"format\": \"bf16\""},
    {"\"format\": \"q6g64\"", "\"format\": \"f32\""},
    {"\"format\": \"q6g64\"", "\"format\": \"f16\""},
    {"\"format\": \"q6g64\"", "\"format\": 6"},
    {"\"format\": \"q6g64\"", "\"forma\": \"q6g64\""},
    {"\"encoder\": \"maxabs\"", "\"encoder\": \"best\""},
    {"\"encoder\": \"maxabs\"", "\"encoder\": 1"},
    {"\"offset\": 0", "\"offset\": -1"},
    {"\"offset\": 0", "\"offset\": 1"},
    {"\"offset\": 0", "\"offset\": 256"},
    {"\"offset\": 0", "\"offset\": 0.0"},
    {"\"offset\": 0", "\"offset\": \"0\""},
    {"\"offset\": 0", "\"offset\": 9223372036854775807"},
    {"\"bytes\": 1024", "\"bytes\": 1023"},
    {"\"bytes\": 1024", "\"bytes\": 1025"},
    {"\"bytes\": 1024", "\"bytes\": -1024"},
    {"\"bytes\": 1024", "\"bytes\": 9223372036854775807"},
    {"\"bytes\": 1024", "\"bytes\": null"},
    {"\"blake2b\": \"", "\"blake2b\": \"0"},
    {"\"blake2b\": \"", "\"blake2c\": \""},
    {"\"high\"", "\"hihg\""},
    {"\"scales\"", "\"extra\": {}, \"scales\""},
    {"\"planes\"", "\"plane\""},
    {"\"shape\"", "\"shap\""},
};

static const char *const shapes[] = {"[]",
                                     "[16]",
                                     "7",
                                     "[16, 8, 1]",
                                     "[8, 16]",
                                     "[16, 0]",
                                     "[0, 8]",
                                     "[16, -8]",
                                     "[-16, -8]",
                                     "[16, 8.0]",
                                     "[16, \"8\"]",
                                     "[17, 8]",
                                     "[1,1,1,1,1,1,1,16,8]",
                                     "[4294967296, 4294967296]",
                                     "[9223372036854775807, 1]",
                                     "[1, 9223372036854775807]",
                                     "[4611686018427387904, 2]",
                                     "[2147483648, 2147483647]",
                                     "[1152921504606846976, 4]"};

static void evil_objects(struct bench *bench)
{
    const char *name = "\"name\": \"" FIRST "\"";
    char shape[64], *start = strstr(bench->text, name);

    for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++)
        refuse_replaced(bench, name, replacements[i].from, replacements[i].to, DIRECTORY, FIRST);
    cr_assert(start != NULL);
    char *const open = strchr(strstr(start, "\"shape\""), '['), *const close = strchr(open, ']');
    snprintf(shape, sizeof shape, "%.*s", (int)(close + 1 - open), open);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        refuse_replaced(bench, name, shape, shapes[i], NULL, NULL);
    refuse_replaced(bench, name, name, "\"name\": \"\"", DIRECTORY, "objects");
    refuse_replaced(bench, name, name, "\"name\": 7", DIRECTORY, "objects");
    refuse_replaced(bench, name, name, "\"name\": \"zzz\"", DIRECTORY, "model.embed_tokens.weight");
    refuse_replaced(bench, name, name, "\"name\": \"lm_head.weigh\"", NULL, NULL);
    refuse_replaced(bench, name, name, "\"name\": \"model.embed_tokens.weight\"", DIRECTORY,
                    "model.embed_tokens.weight");
}

static void evil_header(struct bench *bench)
{
    static const struct {
        const char *from, *to, *field;
    } changes[] = {
        {"\"format\": \"assay\"", "\"format\": \"asay\"", "format"},
        {"\"format\": \"assay\"", "\"formats\": \"assay\"", "format"},
        {"\"version\": 1", "\"version\": 2", "version"},
        {"\"version\": 1", "\"version\": \"1\"", "version"},
        {"\"norms\": \"offset\"", "\"norms\": \"raw\"", "norms"},
        {"\"norms\": \"offset\"", "\"norm\": \"offset\"", "norms"},
        {"\"config\": {", "\"config\": [], \"c\": {", "config"},
        {"\"objects\": [", "\"objects\": 7, \"o\": [", "objects"},
        {"\"objects\": [", "\"objects\": [7,", "objects"},
        {"\"objects\": [", "\"objects\": [{},", "objects"},
        {"\"hidden_size\": 8", "\"hidden_size\": -8", "hidden_size"},
        {"\"hidden_size\": 8", "\"hidden_size\": 16", NULL},
        {"\"vocab_size\": 16", "\"vocab_size\": 17", "model.embed_tokens.weight"},
    };

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        refuse_replaced(bench, "{", changes[i].from, changes[i].to, NULL, changes[i].field);
    refuse_text(bench, "{}", 2, "an empty object", DIRECTORY, "format");
    refuse_text(bench, "[]", 2, "an array", DIRECTORY, "JSON");
}

static void flips(struct bench *bench)
{
    struct hostile_counts counts = {0, 0};
    char label[64];

    for (size_t bit = 0; bit < 8 * bench->text_size; bit += 41) {
        bench->text[bit / 8] ^= (char)(1 << bit % 8);
        small_write(bench->path, DIRECTORY, bench->text, bench->text_size);
        bench->text[bit / 8] ^= (char)(1 << bit % 8);
        snprintf(label, sizeof label, "bit %zu flipped", bit);
        hostile_open(bench->path, bench->text_size, HOSTILE_ALLOWANCE, label, NULL, NULL, &counts);
    }
    cr_log_info("bit flips: %d refused, %d left a valid folder", counts.refused, counts.opened);
    cr_assert(counts.refused > 1000);
    bench->counts.refused += counts.refused;
}

static void other_folders(struct bench *bench)
{
    small_write(bench->path, DIRECTORY, bench->text, bench->text_size);
    small_delete(bench->path, PAYLOAD);
    hostile_refused(bench->path, bench->text_size, "no payload", PAYLOAD, NULL, &bench->counts);
    small_delete(bench->path, DIRECTORY);
    hostile_refused(bench->path, 0, "no directory", DIRECTORY, NULL, &bench->counts);
}

Test(artifact, hostile, .timeout = 240)
{
    struct bench bench;

    set_up(&bench);
    truncations(&bench);
    evil_objects(&bench);
    evil_header(&bench);
    flips(&bench);
    other_folders(&bench);
    cr_log_info("%d hostile folders refused, %d opened", bench.counts.refused, bench.counts.opened);
    cr_assert(bench.counts.refused > 1500 && bench.counts.opened == 0);
    free(bench.text);
    free(bench.payload);
    small_remove(strdup(bench.path));
    small_remove(bench.dir);
}
