/* SPDX-License-Identifier: MIT
 *
 * Hostile GGUF files: each must be refused with a record that names the file and a part of it,
 * without a crash, a leak or an allocation that the file's size does not justify. Files are derived
 * from a valid one, which is checked to open first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <assay/model.h>

#include "gguf_writer.h"
#include "hostile.h"
#include "memory_meter.h"
#include "sized_model.h"
#include "small_model.h"

#define FILE_NAME "model.gguf"

enum { BF16 = 30 };

struct bench {
    char *dir;
    char path[1024];
    struct gguf_image image;
    struct hostile_counts counts;
};

static void set_up(struct bench *bench, const struct model_sizes *sizes)
{
    const struct gguf_style style = {.matrix_type = BF16};
    char *made = small_folder();
    assay_model *source = NULL;

    *bench = (struct bench){.dir = small_folder()};
    snprintf(bench->path, sizeof bench->path, "%s/%s", bench->dir, FILE_NAME);
    sized_write(made, sizes);
    cr_assert(assay_model_open(made, &source, NULL) == ASSAY_OK);
    gguf_write(source, &style, &bench->image);
    assay_model_close(source);
    small_remove(made);
    memory_meter_start();
    small_write(bench->dir, FILE_NAME, bench->image.bytes, bench->image.size);
    cr_assert(hostile_open(bench->path, bench->image.size, HOSTILE_ALLOWANCE, "the valid file",
                           NULL, NULL, &bench->counts) == ASSAY_OK);
    bench->counts.opened = 0;
}

static void refuse(struct bench *bench, const uint8_t *bytes, size_t size, const char *label,
                   const char *field)
{
    small_write(bench->dir, FILE_NAME, bytes, size);
    hostile_refused(bench->path, size, label, FILE_NAME, field, &bench->counts);
}

static void store(uint8_t *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t load(const uint8_t *from, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = bytes; i > 0; i--)
        value = value << 8 | from[i - 1];
    return value;
}

/* Every byte of header, metadata and tensor list, so every boundary of a field; then of the data.
 */
static void truncations(struct bench *bench)
{
    char label[64];

    for (size_t size = 0; size < bench->image.size; size += size < bench->image.data ? 1 : 61) {
        snprintf(label, sizeof label, "cut to %zu bytes", size);
        refuse(bench, bench->image.bytes, size, label, NULL);
    }
}

/* Sizes beyond the file, beyond 63 bits, and those whose sums and products wrap around. */
static const uint64_t evil[] = {UINT64_MAX,
                                UINT64_MAX - 7,
                                UINT64_MAX - 15,
                                UINT64_MAX - 31,
                                UINT64_C(1) << 63,
                                (UINT64_C(1) << 63) - 1,
                                (UINT64_C(1) << 63) + 16,
                                UINT64_C(1) << 62,
                                UINT64_C(1) << 61,
                                (UINT64_C(1) << 61) + 1,
                                UINT64_C(1) << 60,
                                UINT64_C(1) << 48,
                                UINT64_C(1) << 32,
                                (UINT64_C(1) << 32) + 8,
                                UINT64_C(1) << 31,
                                1000000000,
                                100000};

/* Every count, length, extent and offset with every evil value, and one more and one less. */
static void evil_sizes(struct bench *bench)
{
    struct gguf_image *image = &bench->image;
    char label[96];

    for (size_t i = 0; i < image->num_fields; i++) {
        const struct gguf_field *field = &image->fields[i];
        const uint64_t valid = load(image->bytes + field->at, field->bytes);
        if (field->bytes != 8)
            continue;
        for (size_t j = 0; j < sizeof evil / sizeof *evil + 2; j++) {
            const size_t known = sizeof evil / sizeof *evil;
            const uint64_t value = j < known ? evil[j] : j == known ? valid + 1 : valid - 1;
            store(image->bytes + field->at, value, 8);
            snprintf(label, sizeof label, "field %zu (kind %d) at %zu: %llu instead of %llu", i,
                     (int)field->kind, field->at, (unsigned long long)value,
                     (unsigned long long)valid);
            refuse(bench, image->bytes, image->size, label, NULL);
        }
        store(image->bytes + field->at, valid, 8);
    }
}

/* Extents whose product wraps around 2^64 to the very size of the tensor: not a matter of shapes,
 * which are compared later, and not for tensors that are skipped. */
static void wrapped_product(struct bench *bench)
{
    struct gguf_image *image = &bench->image;
    const struct gguf_written *t = &image->tensors[0];
    size_t i = 0;

    cr_assert(t->type == BF16 && t->rank == 2 && t->ne[0] == 8);
    while (image->fields[i].kind != GGUF_FIELD_EXTENT)
        i++;
    cr_assert(load(image->bytes + image->fields[i + 1].at, 8) == t->ne[1]);
    store(image->bytes + image->fields[i + 1].at, t->ne[1] + (UINT64_C(1) << 60), 8);
    small_write(bench->dir, FILE_NAME, image->bytes, image->size);
    cr_assert(hostile_open(bench->path, image->size, HOSTILE_ALLOWANCE, "a wrapped product",
                           FILE_NAME, t->name, &bench->counts) == ASSAY_E_CORRUPT);
    store(image->bytes + image->fields[i + 1].at, t->ne[1], 8);
}

/* The i-th field of a kind. */
static uint8_t *field_at(struct bench *bench, enum gguf_field_kind kind, int i)
{
    const struct gguf_image *image = &bench->image;

    for (size_t f = 0; f < image->num_fields; f++)
        if (image->fields[f].kind == kind && i-- == 0)
            return image->bytes + image->fields[f].at;
    cr_assert(false, "no such field");
    return NULL;
}

/* A last tensor whose 2^64 - 16 bytes wrap around to nothing when they are padded, in a file that
 * ends where it begins. */
static void wrapped_padding(struct bench *bench)
{
    enum { ALIGNMENT = 32 };
    struct gguf_image *image = &bench->image;
    const struct gguf_written *t = &image->tensors[0];
    uint8_t *count = field_at(bench, GGUF_FIELD_COUNT, 0),
            *extent = field_at(bench, GGUF_FIELD_EXTENT, 1),
            *offset = field_at(bench, GGUF_FIELD_OFFSET, 0);
    const uint64_t valid = load(count, 8);
    const size_t begin =
        (size_t)(offset + 8 - image->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    cr_assert(t->type == BF16 && t->rank == 2 && t->ne[0] == 8 && load(extent, 8) == t->ne[1]);
    store(count, 1, 8);
    store(extent, (UINT64_C(1) << 60) - 1, 8);
    small_write(bench->dir, FILE_NAME, image->bytes, begin);
    cr_assert(hostile_open(bench->path, begin, HOSTILE_ALLOWANCE, "a wrapped padding", FILE_NAME,
                           t->name, &bench->counts) == ASSAY_E_CORRUPT);
    store(count, valid, 8);
    store(extent, t->ne[1], 8);
}

/* Two tensors on the same bytes, and bytes that no tensor has. */
static void overlaps(struct bench *bench)
{
    const struct gguf_image *image = &bench->image;
    int k = 0, v = 0;

    while (strcmp(image->tensors[k].name, "blk.1.attn_k.weight") != 0)
        k++;
    while (strcmp(image->tensors[v].name, "blk.1.attn_v.weight") != 0)
        v++;
    cr_assert(image->tensors[k].bytes == image->tensors[v].bytes);
    uint8_t *from = field_at(bench, GGUF_FIELD_OFFSET, k),
            *to = field_at(bench, GGUF_FIELD_OFFSET, v);
    const uint64_t valid = load(to, 8);
    store(to, load(from, 8), 8);
    refuse(bench, image->bytes, image->size, "two tensors in one place", "blk.1.attn_");
    store(to, valid, 8);
    /* The first tensor where the second is: nobody has the first bytes. */
    from = field_at(bench, GGUF_FIELD_OFFSET, 0);
    store(from, load(field_at(bench, GGUF_FIELD_OFFSET, 1), 8), 8);
    refuse(bench, image->bytes, image->size, "a hole", NULL);
    store(from, 0, 8);
}

/* An array that nobody reads, of so many elements that its size wraps around to the true one. */
static void wrapped_array(struct bench *bench)
{
    static const char key[] = "qwen35.rope.dimension_sections";
    uint8_t *place = memmem(bench->image.bytes, bench->image.data, key, strlen(key));
    uint8_t *count = field_at(bench, GGUF_FIELD_COUNT, 2);

    cr_assert(place != NULL && count > place && load(count, 8) == 4);
    place[strlen(key) - 1] = 'z';
    store(count, (UINT64_C(1) << 62) + 4, 8);
    refuse(bench, bench->image.bytes, bench->image.size, "a wrapped array", "value");
    store(count, 4, 8);
    place[strlen(key) - 1] = 's';
}

/* Types, ranks and the alignment, which have 32 bits. Another type of a value may be valid: then
 * what follows must not be. */
static void evil_words(struct bench *bench)
{
    static const uint64_t types[] = {9,   13,    14,         31,         100,
                                     255, 65536, 0x7fffffff, 0x80000000, UINT32_MAX};
    static const uint64_t ranks[] = {0, 5, 6, 8, 255, 0x80000000, UINT32_MAX};
    static const uint64_t alignments[] = {0,  1,  2,  4,     7,          9,          31,
                                          33, 63, 64, 65544, 0x80000000, UINT32_MAX, 1000000};
    struct gguf_image *image = &bench->image;
    char label[96];

    for (size_t i = 0; i < image->num_fields; i++) {
        const struct gguf_field *field = &image->fields[i];
        const uint64_t *values = types;
        size_t count = sizeof types / sizeof *types;
        if (field->bytes != 4)
            continue;
        if (field->kind == GGUF_FIELD_RANK) {
            values = ranks;
            count = sizeof ranks / sizeof *ranks;
        } else if (field->kind == GGUF_FIELD_ALIGNMENT) {
            values = alignments;
            count = sizeof alignments / sizeof *alignments;
        }
        const uint64_t valid = load(image->bytes + field->at, 4);
        for (size_t j = 0; j < count; j++) {
            if (values[j] == valid)
                continue;
            store(image->bytes + field->at, values[j], 4);
            snprintf(label, sizeof label, "field %zu (kind %d) at %zu: %llu instead of %llu", i,
                     (int)field->kind, field->at, (unsigned long long)values[j],
                     (unsigned long long)valid);
            refuse(bench, image->bytes, image->size, label, NULL);
        }
        store(image->bytes + field->at, valid, 4);
    }
}

static void overwrite(struct bench *bench, const char *from, const char *to, const char *field)
{
    uint8_t *place = memmem(bench->image.bytes, bench->image.data, from, strlen(from));
    uint8_t kept[96];
    const size_t length = strlen(from);

    cr_assert(place != NULL && length < sizeof kept, "the file has no %s", from);
    memcpy(kept, place, length);
    memcpy(place, to, length);
    refuse(bench, bench->image.bytes, bench->image.size, to, field);
    memcpy(place, kept, length);
}

/* The same number of bytes: names twice, unknown, with a zero in them; other keys. */
static void evil_texts(struct bench *bench)
{
    overwrite(bench, "GGUF", "GGML", "header");
    overwrite(bench, "qwen35", "llama3", "general.architecture");
    overwrite(bench, "general.architecture", "general.arch1tecture", "general.architecture");
    overwrite(bench, "qwen35.block_count", "qwen35.block_c0unt", "qwen35.block_count");
    overwrite(bench, "qwen35.ssm.inner_size", "qwen35.ssm.inner_siz3", "ssm.inner_size");
    overwrite(bench, "qwen35.attention.key_length", "qwen35.attention.key_l3ngth", "key_length");
    overwrite(bench, "qwen35.embedding_length", "qwen35.attention.key_le", NULL);
    overwrite(bench, "qwen35.ssm.state_size", "qwen35.ssm.inner_size", "key");
    overwrite(bench, "token_embd.weight", "token_embe.weight", "token_embd.weight");
    overwrite(bench, "blk.0.ssm_alpha.weight", "blk.0.ssm_alpha.we\xff\xff\xff\xff", NULL);
    overwrite(bench, "blk.0.ffn_gate.weight", "blk.1.ffn_gate.weight", "blk.1.ffn_gate.weight");
    overwrite(bench, "blk.0.ssm_norm.weight", "blk.9.ssm_norm.weight", "blk.0.ssm_norm.weight");
    overwrite(bench, "blk.2.nextn.enorm", "blk.2.nextn.anorm", "blk.2.nextn.enorm");
    uint8_t *place = memmem(bench->image.bytes, bench->image.data, "blk.0.ssm_a", 11);
    cr_assert(place != NULL);
    place[4] = 0;
    refuse(bench, bench->image.bytes, bench->image.size, "a zero in a name", "tensor name");
    place[4] = '0';
}

/* Any bit of what is not data. A flip that leaves a valid file changes a number that nothing
 * contradicts, or text that is not read. */
static void flips(struct bench *bench)
{
    struct gguf_image *image = &bench->image;
    struct hostile_counts counts = {0, 0};
    char label[64];

    for (size_t bit = 0; bit < 8 * image->data; bit += 5) {
        image->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        small_write(bench->dir, FILE_NAME, image->bytes, image->size);
        image->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        snprintf(label, sizeof label, "bit %zu flipped", bit);
        hostile_open(bench->path, image->size, HOSTILE_ALLOWANCE, label, NULL, NULL, &counts);
    }
    cr_log_info("bit flips: %d refused, %d left a valid model", counts.refused, counts.opened);
    cr_assert(counts.refused > 10 * counts.opened);
    bench->counts.refused += counts.refused;
}

static void other_files(struct bench *bench)
{
    uint8_t *longer = calloc(1, bench->image.size + 64);

    cr_assert(longer != NULL);
    memcpy(longer, bench->image.bytes, bench->image.size);
    refuse(bench, longer, bench->image.size + 64, "bytes that nobody names", "data");
    memset(longer, 0, bench->image.size);
    refuse(bench, longer, bench->image.size, "zeros", "header");
    free(longer);
    small_delete(bench->dir, FILE_NAME);
    hostile_refused(bench->path, 0, "no file", NULL, NULL, &bench->counts);
    hostile_refused("/dev/null", 0, "a device", NULL, NULL, &bench->counts);
}

Test(gguf, hostile, .timeout = 240)
{
    struct bench bench;

    set_up(&bench, &sized_small);
    wrapped_product(&bench);
    wrapped_padding(&bench);
    overlaps(&bench);
    wrapped_array(&bench);
    truncations(&bench);
    evil_sizes(&bench);
    evil_words(&bench);
    evil_texts(&bench);
    flips(&bench);
    other_files(&bench);
    cr_log_info("%d hostile files refused, %d opened", bench.counts.refused, bench.counts.opened);
    cr_assert(bench.counts.refused > 5000 && bench.counts.opened == 0);
    gguf_free(&bench.image);
    small_remove(bench.dir);
}

/* ---- mixtures of experts --------------------------------------------------------------------- */

/* The value of a key of 32 bits. */
static uint8_t *value_of(struct bench *bench, const char *key)
{
    uint8_t *place = memmem(bench->image.bytes, bench->image.data, key, strlen(key));

    cr_assert(place != NULL, "%s", key);
    return place + strlen(key) + 4;
}

/* What the metadata says about experts, against the tensors and itself; as config.json names it. */
static void evil_counts(struct bench *bench)
{
    static const struct {
        const char *key;
        uint32_t value;
        const char *field;
    } cases[] = {
        {"qwen35moe.expert_count", 0, "num_experts"},
        {"qwen35moe.expert_count", 1, "num_experts_per_tok"},
        {"qwen35moe.expert_count", 2, "blk.0.ffn_gate_exps.weight"},
        {"qwen35moe.expert_count", 4, "blk.0.ffn_gate_exps.weight"},
        {"qwen35moe.expert_count", 65536, "blk.0.ffn_gate_exps.weight"},
        {"qwen35moe.expert_count", 65537, "num_experts"},
        {"qwen35moe.expert_count", UINT32_MAX, "num_experts"},
        {"qwen35moe.expert_used_count", 0, "num_experts_per_tok"},
        {"qwen35moe.expert_used_count", 4, "num_experts_per_tok"},
        {"qwen35moe.expert_feed_forward_length", 0, "moe_intermediate_size"},
        {"qwen35moe.expert_feed_forward_length", 8, "blk.0.ffn_gate_exps.weight"},
        {"qwen35moe.expert_feed_forward_length", INT32_MAX, "blk.0.ffn_gate_exps.weight"},
        {"qwen35moe.expert_shared_feed_forward_length", 4, "blk.0.ffn_gate_shexp.weight"},
        {"qwen35moe.expert_shared_feed_forward_length", UINT32_MAX,
         "shared_expert_intermediate_size"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t *place = value_of(bench, cases[i].key);
        const uint64_t valid = load(place, 4);
        store(place, cases[i].value, 4);
        refuse(bench, bench->image.bytes, bench->image.size, cases[i].key, cases[i].field);
        store(place, valid, 4);
    }
}

/* Every extent of every bank with every evil value; and extents whose product wraps around 2^64 to
 * the size of the tensor, or is that size in another shape. */
static void evil_banks(struct bench *bench)
{
    struct gguf_image *image = &bench->image;
    size_t first = 0;
    int num_banks = 0;

    for (int i = 0; i < image->num_tensors; i++) {
        const struct gguf_written *t = &image->tensors[i];
        while (image->fields[first].kind != GGUF_FIELD_RANK)
            first++;
        const struct gguf_field *rank = &image->fields[first++];
        if (t->rank != 3)
            continue;
        num_banks++;
        for (int d = 0; d < 3; d++) {
            uint8_t *place = image->bytes + rank->at + 4 + 8 * d;
            for (size_t j = 0; j < sizeof evil / sizeof *evil; j++) {
                store(place, evil[j], 8);
                refuse(bench, image->bytes, image->size, "an extent", t->name);
            }
            store(place, t->ne[d], 8);
        }
        uint8_t *place = image->bytes + rank->at + 4;
        store(place + 16, t->ne[2] + (UINT64_C(1) << 61), 8);
        refuse(bench, image->bytes, image->size, "a product that wraps around", t->name);
        store(place + 8, t->ne[1] * t->ne[2], 8);
        store(place + 16, 1, 8);
        refuse(bench, image->bytes, image->size, "experts as rows", t->name);
        store(place + 8, t->ne[2], 8);
        store(place + 16, t->ne[1], 8);
        refuse(bench, image->bytes, image->size, "extents exchanged", t->name);
        store(place + 8, t->ne[1], 8);
        store(place + 16, t->ne[2], 8);
    }
    cr_assert(num_banks == 9, "%d banks", num_banks);
}

static void evil_names(struct bench *bench)
{
    overwrite(bench, "qwen35moe.expert_count", "qwen35moe.expert_c0unt", "expert_count");
    overwrite(bench, "qwen35moe.expert_used_count", "qwen35moe.expert_us3d_count",
              "expert_used_count");
    overwrite(bench, "blk.0.ffn_gate_exps", "blk.0.ffn_gate_3xps", "blk.0.ffn_gate_exps.weight");
    overwrite(bench, "blk.0.ffn_up_exps", "blk.0.ffn_up_3xps", "blk.0.ffn_up_exps.weight");
    overwrite(bench, "blk.2.ffn_down_exps", "blk.2.ffn_down_3xps", "blk.2.ffn_down_exps.weight");
    overwrite(bench, "blk.1.ffn_gate_inp.w", "blk.1.ffn_gate_imp.w", "blk.1.ffn_gate_inp.weight");
}

Test(gguf, hostile_mixture)
{
    struct bench bench;

    set_up(&bench, &sized_small_mixture);
    evil_counts(&bench);
    evil_banks(&bench);
    evil_names(&bench);
    cr_assert(bench.counts.refused > 500 && bench.counts.opened == 0);
    gguf_free(&bench.image);
    small_remove(bench.dir);
}
