/* SPDX-License-Identifier: MIT
 *
 * session_file: after an even first byte the file itself; after an odd one changes to a good file,
 * four bytes each (offset, byte, how), which then gets the checksum of what it has become. Whatever
 * is refused is refused with a reason and leaves the session as it was; whatever is taken can be
 * used, taken back and saved.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "fuzz_folder.h"
#include "sequence_plain.h"

enum { TOKENS = 23, CHECKSUM = 32, MOST_BYTES = 1 << 16 };

static struct sequence_world *world;
static assay_session *session;
static uint8_t good[MOST_BYTES], content[MOST_BYTES];
static size_t good_size, content_size;
static char path[512];

static void close_world(void)
{
    assay_session_destroy(session);
    remove(path);
    sequence_close(world);
}

static void feed(int text, int count)
{
    int32_t ids[SEQUENCE_CAPACITY];
    for (int i = 0; i < count; i++)
        ids[i] = plain_text(text, i);
    assay_session_reset(session);
    if (assay_session_forward(session, ids, count, ASSAY_LOGITS_NONE, NULL, NULL) != ASSAY_OK)
        fuzz_fail("the session cannot be fed");
}

static void open_world(void)
{
    static char reason[SEQUENCE_REASON_BYTES];
    const struct sequence_program program = {.chunked = true};
    const struct assay_session_options options = plain_options(&program);
    world = sequence_open(reason);
    if (world == NULL)
        fuzz_fail(reason);
    if (sodium_init() < 0 ||
        assay_session_create(sequence_context(world, ASSAY_CPU, false), world->model, &options,
                             &session, NULL) != ASSAY_OK)
        fuzz_fail("no session");
    sequence_file(world, 0, path);
    atexit(close_world);
    feed(1, TOKENS);
    FILE *file = NULL;
    if (assay_session_save(session, path, NULL) == ASSAY_OK)
        file = fopen(path, "rb");
    if (file == NULL)
        fuzz_fail("no file");
    good_size = fread(good, 1, sizeof good, file);
    fclose(file);
}

/* how: 0 puts the byte, 1 flips its bits, 2 cuts behind the offset, 3 repeats the byte 8 times. */
static void change(const uint8_t *data, size_t size)
{
    memcpy(content, good, good_size);
    content_size = good_size;
    for (; size >= 4; data += 4, size -= 4) {
        const size_t at = (size_t)(data[0] | data[1] << 8) % content_size;
        switch (data[3] % 4) {
        case 0:
            content[at] = data[2];
            break;
        case 1:
            content[at] ^= data[2];
            break;
        case 2:
            content_size = at + CHECKSUM + 1;
            if (content_size > good_size)
                content_size = good_size;
            break;
        default:
            memset(content + at, data[2], at + 8 <= content_size ? 8 : content_size - at);
        }
    }
    const size_t covered = content_size - CHECKSUM;
    crypto_generichash(content + covered, CHECKSUM, content, covered, NULL, 0);
}

static void write_content(void)
{
    remove(path);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(content, 1, content_size, file) != content_size || fclose(file) != 0)
        fuzz_fail("the input cannot be written");
}

/* NaN may come out of what went in; errors may not. */
static void use(void)
{
    float logits[SEQUENCE_VOCAB];
    const int64_t length = assay_session_length(session);
    const int32_t id = 1;
    if (length < SEQUENCE_CAPACITY &&
        assay_session_verify(session, &id, 1, logits, NULL) != ASSAY_OK)
        fuzz_fail("a restored session cannot go on");
    if (assay_session_rewind(session, length / 2, NULL) != ASSAY_OK ||
        assay_session_length(session) != length / 2)
        fuzz_fail("a restored session cannot be taken back");
    if (assay_session_save(session, path, NULL) != ASSAY_OK ||
        assay_session_restore(session, path, NULL) != ASSAY_OK)
        fuzz_fail("a restored session cannot be saved");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_error error = {.status = ASSAY_OK};
    int64_t length;
    if (world == NULL)
        open_world();
    if (size == 0)
        return 0;
    if (data[0] % 2 != 0) {
        change(data + 1, size - 1);
    } else {
        content_size = size - 1 < sizeof content ? size - 1 : sizeof content;
        memcpy(content, data + 1, content_size);
    }
    feed(2, 5);
    write_content();
    fuzz_check_record(assay_session_file_length(path, &length, &error), &error);
    assay_error_clear(&error);
    const assay_status status = assay_session_restore(session, path, &error);
    fuzz_check_record(status, &error);
    if (assay_session_broken(session))
        fuzz_fail("a file breaks a session");
    if (status != ASSAY_OK && assay_session_length(session) != 5)
        fuzz_fail("a refused file changes a session");
    if (status == ASSAY_OK)
        use();
    return 0;
}
