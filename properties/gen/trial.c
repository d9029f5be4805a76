/* SPDX-License-Identifier: MIT
 *
 * Trial memory. Each tensor lies between guard zones; with layout=strided also between lanes that
 * belong to nobody. Guards and lanes of inputs hold NaN, so that reading them shows; those of
 * outputs hold a pattern, so that writing them shows. What is read and then not used shows where a
 * packed tensor of a CPU route ends with its page, which some do.
 */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "philox.h"
#include "values.h"
#include "words.h"

enum { GUARD_ELEMENTS = 64, STRIDE_LANES = 5, STRIDE_OFFSET = 3, EDGE_EVERY = 4 };

static void fill_words(unsigned char *memory, size_t bytes, enum assay_dtype dtype, uint32_t word32,
                       uint16_t word16)
{
    if (assay_dtype_bytes(dtype) == 4)
        for (size_t i = 0; i + 4 <= bytes; i += 4)
            memcpy(memory + i, &word32, 4);
    else
        for (size_t i = 0; i + 2 <= bytes; i += 2)
            memcpy(memory + i, &word16, 2);
}

/* Quiet NaNs with a payload nobody computes; two patterns, so that a route that happens to produce
 * one of them is not taken for an unwritten element in both runs. */
static void poison_words(enum assay_dtype dtype, int pattern, uint32_t *word32, uint16_t *word16)
{
    *word32 = pattern == 0 ? 0x7fe5a5a5u : 0xffda5a5au;
    *word16 =
        dtype == ASSAY_F16 ? (pattern == 0 ? 0x7f25 : 0xff5a) : (pattern == 0 ? 0x7fe5 : 0xffda);
}

static void nan_words(enum assay_dtype dtype, uint32_t *word32, uint16_t *word16)
{
    *word32 = dtype == ASSAY_I32 ? 0x7fffffffu : 0x7fc00000u;
    *word16 = dtype == ASSAY_F16 ? 0x7e00 : 0x7fc0;
}

/* Offsets past 2^32 elements and, in bf16, past 2^33 bytes. */
static const int64_t far_elements = ((int64_t)1 << 32) + ((int64_t)1 << 20);

/* Sets the view's strides and returns the elements it spans, lanes included. */
static int64_t lay_out(struct assay_tensor *tensor, bool strided)
{
    int64_t stride = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        tensor->stride[i] = stride;
        stride *= tensor->extent[i] > 0 ? tensor->extent[i] : 1;
        if (strided && i > 0)
            stride += STRIDE_LANES;
    }
    return stride;
}

static unsigned char *element_address(const struct assay_tensor *tensor, int64_t index)
{
    int64_t offset = 0;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        offset += index % tensor->extent[i] * tensor->stride[i];
        index /= tensor->extent[i];
    }
    return (unsigned char *)tensor->data + offset * (int64_t)assay_dtype_bytes(tensor->dtype);
}

/* The rows of dimension 0 far apart. Returns the elements from one row to the next. */
static int64_t spread(struct assay_tensor *tensor)
{
    int64_t gap = far_elements / (tensor->extent[0] - 1) / 64 * 64;
    if (tensor->stride[0] < gap)
        tensor->stride[0] = gap;
    return tensor->stride[0];
}

/* Zeroed memory of which only what is touched exists. */
static void *sparse(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* Memory whose last byte is the last of a page; the next page is inaccessible. */
static unsigned char *new_edge(size_t bytes)
{
    size_t pages = whole_pages(bytes);
    unsigned char *memory = mmap(NULL, pages + whole_pages(1), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory + pages, whole_pages(1), PROT_NONE) == 0)
        return memory + pages - bytes;
    munmap(memory, pages + whole_pages(1));
    return NULL;
}

static void release_edge(unsigned char *memory, size_t bytes)
{
    if (memory != NULL)
        munmap(memory - (whole_pages(bytes) - bytes), whole_pages(bytes) + whole_pages(1));
}

/* A row of the op's own table: mutants and other added routes may read beside their inputs, and run
 * in the process that judges them. */
static bool is_own_route(const struct assay_case *c)
{
    const struct assay_op *op = c->spec->op;
    for (int r = 0; r < op->num_routes; r++)
        if (strcmp(op->routes[r].name, c->route) == 0)
            return op->routes[r].backend == ASSAY_CPU;
    return false;
}

/* Every EDGE_EVERY-th buffer: by its name and size, so that a case is always laid out the same. */
static bool is_at_edge(const struct assay_case *c, const char *name, int64_t elements)
{
    bool packed = c->layout == CASE_PACKED || c->layout == CASE_INPLACE;
    return packed && is_own_route(c) &&
           philox_u64(c->seed, name, (uint64_t)elements) % EDGE_EVERY == 0;
}

static void release(void *memory, size_t bytes, bool is_mapped)
{
    if (memory == NULL)
        return;
    if (is_mapped)
        munmap(memory, bytes);
    else
        free(memory);
}

static void release_buffer(struct trial_buffer *b)
{
    bool is_mapped = b->num_segments > 1;
    if (b->at_edge)
        release_edge(b->live, b->bytes);
    else
        release(b->live, b->bytes, is_mapped || b->is_virtual);
    release(b->pristine, b->bytes, is_mapped);
    release(b->owned, b->bytes, is_mapped);
    *b = (struct trial_buffer){.bytes = 0};
}

/* Addresses only: a device's buffer takes their place. */
static struct trial_buffer *new_virtual(struct trial_state *s, struct trial_buffer *b,
                                        size_t before)
{
    void *addresses =
        mmap(NULL, b->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED) {
        *b = (struct trial_buffer){.bytes = 0};
        s->out_of_memory = true;
        return NULL;
    }
    b->live = addresses;
    b->is_virtual = true;
    b->at_edge = false;
    b->tensor.data = b->live + before;
    s->num_buffers++;
    return b;
}

static bool has_memory(const struct trial *trial, const struct assay_tensor *tensor)
{
    const unsigned char *data = tensor->data;
    for (int i = 0; i < trial->state->num_buffers; i++) {
        const struct trial_buffer *b = &trial->state->buffer[i];
        if (data >= b->live && data < b->live + b->bytes)
            return !b->is_virtual;
    }
    return data != NULL;
}

static struct trial_buffer *new_buffer(struct trial *trial, const char *name,
                                       enum assay_dtype dtype, int rank, const int64_t *extent,
                                       enum buffer_role role)
{
    struct trial_state *s = trial->state;
    if (s->num_buffers == TRIAL_MAX_BUFFERS) {
        s->out_of_memory = true;
        return NULL;
    }
    struct trial_buffer *b = &s->buffer[s->num_buffers];
    snprintf(b->name, sizeof b->name, "%s", name);
    b->role = role;
    b->tensor = (struct assay_tensor){.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++)
        b->tensor.extent[i] = extent[i];
    bool strided = trial->c->layout == CASE_STRIDED;
    int64_t elements = lay_out(&b->tensor, strided);
    size_t size = assay_dtype_bytes(dtype);
    size_t before = GUARD_ELEMENTS + (strided ? STRIDE_OFFSET : 0);
    b->at_edge = is_at_edge(trial->c, name, elements);
    b->bytes = ((size_t)elements + before + (b->at_edge ? 0 : GUARD_ELEMENTS)) * size;
    b->num_segments = 1;
    b->segment_bytes = b->bytes;
    if (trial->c->layout == CASE_FAR && rank > 1 && extent[0] > 1) {
        b->num_segments = extent[0];
        b->segment_bytes =
            ((size_t)b->tensor.stride[0] + before + GUARD_ELEMENTS) * size; /* packed: of a row */
        b->segment_pitch = (size_t)spread(&b->tensor) * size;
        b->bytes = (size_t)(extent[0] - 1) * b->segment_pitch + b->segment_bytes;
    }
    if (s->largest > 0 && b->bytes > s->largest && dtype != ASSAY_I32 && dtype != ASSAY_I64)
        return new_virtual(s, b, before * size);
    bool is_far = b->num_segments > 1;
    b->live = b->at_edge ? new_edge(b->bytes) : is_far ? sparse(b->bytes) : malloc(b->bytes);
    b->pristine = is_far ? sparse(b->bytes) : malloc(b->bytes);
    b->owned = is_far ? sparse(b->bytes) : calloc(b->bytes, 1);
    if (b->live == NULL || b->pristine == NULL || b->owned == NULL) {
        release_buffer(b);
        s->out_of_memory = true;
        return NULL;
    }
    s->num_buffers++;
    b->tensor.data = b->live + before * size;
    uint32_t word32;
    uint16_t word16;
    nan_words(dtype, &word32, &word16);
    for (int64_t i = 0; i < b->num_segments; i++) {
        unsigned char *segment = b->live + (size_t)i * b->segment_pitch;
        if (role == BUFFER_INPUT)
            fill_words(segment, b->segment_bytes, dtype, word32, word16);
        else
            memset(segment, 0xa5, b->segment_bytes);
    }
    return b;
}

static void own(struct trial_buffer *b, int64_t first, int64_t count)
{
    if (b->is_virtual)
        return;
    size_t size = assay_dtype_bytes(b->tensor.dtype);
    for (int64_t i = first; i < first + count; i++)
        memset(b->owned + (element_address(&b->tensor, i) - b->live), 1, size);
}

static void draw(struct trial *trial, struct trial_buffer *b, struct values values)
{
    if (b->is_virtual)
        return;
    int64_t count = assay_tensor_count(&b->tensor);
    int64_t inner = b->tensor.extent[b->tensor.rank - 1];
    for (int64_t i = 0; i < count; i++) {
        double value = values_draw(values, b->tensor.dtype, trial->c->seed, b->name, i, count,
                                   inner > 0 ? inner : 1);
        oracle_put(&b->tensor, i, value);
    }
}

static struct assay_tensor no_tensor(enum assay_dtype dtype)
{
    return (struct assay_tensor){.dtype = dtype, .rank = 1};
}

struct values values_of(const struct assay_case *c)
{
    return (struct values){.dist = c->dist, .scale = 1, .shift = 0};
}

struct assay_tensor trial_input(struct trial *trial, const char *name, enum assay_dtype dtype,
                                int rank, const int64_t *extent, struct values values)
{
    struct trial_buffer *b = new_buffer(trial, name, dtype, rank, extent, BUFFER_INPUT);
    if (b == NULL)
        return no_tensor(dtype);
    if (dtype != ASSAY_I32 && dtype != ASSAY_I64)
        draw(trial, b, values);
    else
        for (int64_t i = 0; i < assay_tensor_count(&b->tensor); i++)
            oracle_put_int(&b->tensor, i, 0);
    return b->tensor;
}

struct assay_tensor trial_output(struct trial *trial, const char *name, enum assay_dtype dtype,
                                 int rank, const int64_t *extent)
{
    struct trial_state *s = trial->state;
    if (trial->c->layout == CASE_INPLACE && s->num_buffers > 0) {
        struct trial_buffer *first = &s->buffer[0];
        bool same = first->role == BUFFER_INPUT && first->tensor.dtype == dtype &&
                    first->tensor.rank == rank;
        for (int i = 0; same && i < rank; i++)
            same = first->tensor.extent[i] == extent[i];
        if (same) {
            first->role = BUFFER_INOUT;
            snprintf(first->name, sizeof first->name, "%s", name);
            own(first, 0, assay_tensor_count(&first->tensor));
            return first->tensor;
        }
    }
    struct trial_buffer *b = new_buffer(trial, name, dtype, rank, extent, BUFFER_OUTPUT);
    if (b == NULL)
        return no_tensor(dtype);
    own(b, 0, assay_tensor_count(&b->tensor));
    return b->tensor;
}

struct assay_tensor trial_inout(struct trial *trial, const char *name, enum assay_dtype dtype,
                                int rank, const int64_t *extent, struct values values)
{
    return trial_inout_slots(trial, name, dtype, rank, extent, values, 0, extent[0]);
}

struct assay_tensor trial_inout_slots(struct trial *trial, const char *name, enum assay_dtype dtype,
                                      int rank, const int64_t *extent, struct values values,
                                      int64_t first, int64_t count)
{
    struct trial_buffer *b = new_buffer(trial, name, dtype, rank, extent, BUFFER_INOUT);
    if (b == NULL)
        return no_tensor(dtype);
    draw(trial, b, values);
    int64_t slot = extent[0] > 0 ? assay_tensor_count(&b->tensor) / extent[0] : 0;
    own(b, first * slot, count * slot);
    return b->tensor;
}

void trial_put(struct trial *trial, const struct assay_tensor *tensor, int64_t index, double value)
{
    if (has_memory(trial, tensor))
        oracle_put(tensor, index, value);
}

void trial_put_int(struct trial *trial, const struct assay_tensor *tensor, int64_t index,
                   int64_t value)
{
    if (has_memory(trial, tensor))
        oracle_put_int(tensor, index, value);
}

double trial_uniform(const struct trial *trial, const char *stream, uint64_t index)
{
    return (double)(philox_u64(trial->c->seed, stream, index) >> 11) * 0x1p-53;
}

int64_t trial_below(const struct trial *trial, const char *stream, uint64_t index, int64_t n)
{
    return (int64_t)(philox_u64(trial->c->seed, stream, index) % (uint64_t)n);
}

void trial_claim(struct trial *trial, const char *what, bool happened)
{
    trial->state->num_claims++;
    if (!happened && trial->state->unmet_claim == NULL)
        trial->state->unmet_claim = what;
}

bool trial_create(struct trial *trial, const struct assay_case *c)
{
    return trial_create_sized(trial, c, 0);
}

bool trial_create_sized(struct trial *trial, const struct assay_case *c, size_t largest)
{
    *trial = (struct trial){.c = c};
    trial->args = calloc(1, c->spec->op->args_bytes);
    trial->state = calloc(1, sizeof *trial->state);
    if (trial->args == NULL || trial->state == NULL)
        return false;
    trial->state->largest = largest;
    if (!c->spec->build(trial) || trial->state->out_of_memory)
        return false;
    for (int i = 0; i < trial->state->num_buffers; i++) {
        struct trial_buffer *b = &trial->state->buffer[i];
        for (int64_t k = 0; k < b->num_segments && !b->is_virtual; k++)
            memcpy(b->pristine + (size_t)k * b->segment_pitch,
                   b->live + (size_t)k * b->segment_pitch, b->segment_bytes);
    }
    return true;
}

void trial_destroy(struct trial *trial)
{
    if (trial->state != NULL) {
        for (int i = 0; i < trial->state->num_buffers; i++)
            release_buffer(&trial->state->buffer[i]);
    }
    free(trial->state);
    free(trial->args);
    *trial = (struct trial){.c = NULL};
}

void trial_restore(struct trial *trial, int pattern)
{
    for (int i = 0; i < trial->state->num_buffers; i++) {
        struct trial_buffer *b = &trial->state->buffer[i];
        for (int64_t k = 0; k < b->num_segments; k++)
            memcpy(b->live + (size_t)k * b->segment_pitch,
                   b->pristine + (size_t)k * b->segment_pitch, b->segment_bytes);
        if (b->role != BUFFER_OUTPUT)
            continue;
        uint32_t word32;
        uint16_t word16;
        poison_words(b->tensor.dtype, pattern, &word32, &word16);
        size_t size = assay_dtype_bytes(b->tensor.dtype);
        for (int64_t e = 0; e < assay_tensor_count(&b->tensor); e++)
            fill_words(element_address(&b->tensor, e), size, b->tensor.dtype, word32, word16);
    }
}

struct trial_buffer *trial_find(struct trial *trial, const char *name)
{
    for (int i = 0; i < trial->state->num_buffers; i++)
        if (strcmp(trial->state->buffer[i].name, name) == 0)
            return &trial->state->buffer[i];
    return NULL;
}

const char *trial_damage(const struct trial *trial, bool *is_input)
{
    for (int i = 0; i < trial->state->num_buffers; i++) {
        const struct trial_buffer *b = &trial->state->buffer[i];
        *is_input = b->role == BUFFER_INPUT;
        for (int64_t segment = 0; segment < b->num_segments; segment++) {
            size_t first = (size_t)segment * b->segment_pitch;
            for (size_t k = first; k < first + b->segment_bytes; k++)
                if (b->live[k] != b->pristine[k] && !b->owned[k])
                    return b->name;
        }
    }
    return NULL;
}

int64_t trial_unwritten(const struct trial_buffer *buffer, int pattern)
{
    if (buffer->role != BUFFER_OUTPUT)
        return -1;
    uint32_t word32;
    uint16_t word16;
    poison_words(buffer->tensor.dtype, pattern, &word32, &word16);
    size_t size = assay_dtype_bytes(buffer->tensor.dtype);
    const void *poison = size == 4 ? (const void *)&word32 : (const void *)&word16;
    for (int64_t i = 0; i < assay_tensor_count(&buffer->tensor); i++)
        if (memcmp(element_address(&buffer->tensor, i), poison, size) == 0)
            return i;
    return -1;
}
