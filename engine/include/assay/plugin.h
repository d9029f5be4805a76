/* SPDX-License-Identifier: MIT
 *
 * The plugin ABI, version 1: what a shared object offers so that `assay verify --plugin FILE`,
 * `assay bench --plugin FILE` and `assay fuzz --plugin FILE` run its kernels as routes of Assay's
 * ops. This header is complete: it includes the C library's only, links to nothing, and may be
 * copied.
 *
 *   #include "plugin.h"
 *
 *   static int run(const struct assay_plugin_call *call) { ...; return 0; }
 *   static const struct assay_plugin_route mine = {
 *       .size = sizeof mine, .name = "rmsnorm.mine", .profile = "f32", .backend = "cpu", .run =
 * run}; static const struct assay_plugin_route *const routes[] = {&mine}; static const struct
 * assay_plugin plugin = { .size = sizeof plugin, .version = ASSAY_PLUGIN_VERSION, .num_routes = 1,
 * .routes = routes}; ASSAY_PLUGIN_EXPORT const struct assay_plugin *assay_plugin_v1(void) { return
 * &plugin; }
 *
 *   cc -O2 -fPIC -shared -o mine.so mine.c && assay verify --plugin ./mine.so
 *
 * What stays the same within version 1: names, numbers, order and meaning of all that is here.
 * Structs may grow at their end; `size`, the first member of each, is the sizeof that its writer
 * was compiled with, and a reader looks at a member only where size covers it. Members without a
 * value are zero. Numbers of enumerations travel as uint32_t.
 */
#ifndef ASSAY_PLUGIN_H
#define ASSAY_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_PLUGIN_VERSION  1
#define ASSAY_PLUGIN_MAX_RANK 8

#if defined(__cplusplus)
#define ASSAY_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define ASSAY_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* Formats of elements. */
enum assay_plugin_format {
    ASSAY_PLUGIN_F32 = 1,  /* IEEE binary32 */
    ASSAY_PLUGIN_BF16 = 2, /* high half of binary32, as uint16_t */
    ASSAY_PLUGIN_F16 = 3,  /* IEEE binary16, as uint16_t */
    ASSAY_PLUGIN_I32 = 4,
    ASSAY_PLUGIN_U8 = 5,
    ASSAY_PLUGIN_F64 = 6,
    ASSAY_PLUGIN_I64 = 7
};

/* Formats of weight matrices, scalar "w.format": codes and scales are the tensors "w.base",
 * "w.high" and "w.scales". docs/formats.md has them bit by bit. */
enum assay_plugin_weight_format {
    ASSAY_PLUGIN_WEIGHT_BF16 = 1,
    ASSAY_PLUGIN_WEIGHT_Q4G64 = 2,
    ASSAY_PLUGIN_WEIGHT_Q5G64 = 3,
    ASSAY_PLUGIN_WEIGHT_Q6G64 = 4,
    ASSAY_PLUGIN_WEIGHT_Q8G32 = 5
};

enum assay_plugin_role {
    ASSAY_PLUGIN_INPUT = 1,  /* may be read */
    ASSAY_PLUGIN_OUTPUT = 2, /* every element must be written, none be read before */
    ASSAY_PLUGIN_INOUT = 3   /* read and written as the op's contract says */
};

enum assay_plugin_scalar_kind {
    ASSAY_PLUGIN_INTEGER = 1,  /* in .integer; flags are 0 or 1 */
    ASSAY_PLUGIN_REAL = 2,     /* in .real */
    ASSAY_PLUGIN_UNSIGNED = 3, /* in .integer, to be read as uint64_t */
    ASSAY_PLUGIN_WEIGHTS = 4   /* in .integer: an enum assay_plugin_weight_format */
};

/* A tensor of a call. Dimension 0 is the outermost; the innermost one is contiguous. */
struct assay_plugin_tensor {
    uint64_t size;
    const char *name; /* as in the op's contract: "x" */
    void *data;       /* host memory of backend cpu, device memory of backend cuda */
    uint32_t format;  /* enum assay_plugin_format */
    uint32_t role;    /* enum assay_plugin_role */
    uint32_t rank;
    uint32_t reserved;
    int64_t extent[ASSAY_PLUGIN_MAX_RANK];
    int64_t stride[ASSAY_PLUGIN_MAX_RANK]; /* elements, >= 0 */
};

/* A number of a call. */
struct assay_plugin_scalar {
    uint64_t size;
    const char *name; /* as in the op's contract: "eps", "sections[0]" */
    uint32_t kind;    /* enum assay_plugin_scalar_kind */
    uint32_t reserved;
    int64_t integer;
    double real;
};

/* One call of the op. The host has checked it: shapes, formats and aliasing are as the op's
 * contract says. Optional tensors that are absent are not in the list. All of it is valid during
 * the call only. */
struct assay_plugin_call {
    uint64_t size;
    const char *op;
    uint32_t num_tensors, num_scalars;
    const struct assay_plugin_tensor *const *tensors;
    const struct assay_plugin_scalar *const *scalars;
    void *workspace; /* what workspace_bytes() asked for, 64-byte aligned, of undefined content */
    uint64_t workspace_bytes;
    void *stream;     /* backend cuda: the cudaStream_t to launch on; NULL on backend cpu */
    uint32_t threads; /* that the route may use */
    uint32_t reserved;
    char *message; /* where run() may say why it failed: see assay_plugin_fail */
    uint64_t message_bytes;
};

/* A size at which the route's code path changes: verification tries at-1, at and at+1. */
struct assay_plugin_boundary {
    const char *parameter; /* of the op's cases, as in descriptors: "H", "T", "K" */
    int64_t at;
};

struct assay_plugin_route {
    uint64_t size;
    const char *name;    /* OP.ANYTHING: "rmsnorm.mine"; at most 63 letters, digits and . _ - */
    const char *profile; /* what it does to precision: exact, f64, f32, a16, a16x2, a8, w8row,
                          * state16; `assay ops --markdown` says what each means */
    const char *backend; /* "cpu" or "cuda" */
    const char *when;    /* in words, which calls it takes; NULL: all */
    /* Nonzero where the route takes the call. Looks at shapes, formats and scalars only: neither
     * elements nor workspace. NULL: all calls. */
    int (*accepts)(const struct assay_plugin_call *call);
    /* Bytes of memory that run() needs beside its tensors; looks at what accepts() may look at.
     * NULL: none. */
    uint64_t (*workspace_bytes)(const struct assay_plugin_call *call);
    /* The op. 0 on success, another number where it failed. On backend cuda it launches on
     * call->stream and does not wait: no allocation, no synchronisation, no read of device memory
     * by the host, so that the call can be recorded in a CUDA Graph. It keeps no pointer of the
     * call, and when it returns (cuda: when its kernels end) nothing of it runs on. */
    int (*run)(const struct assay_plugin_call *call);
    const struct assay_plugin_boundary *boundaries; /* ends with {NULL, 0}; NULL: none */
    /* The longest chain of binary32 additions that any one product passes through for an inner
     * length K: K for a loop, K/8 + 3 for eight partial sums that are then added in a tree. The
     * shorter, the sharper the bound that it is held to. NULL: K. */
    int64_t (*depth)(int64_t inner_length);
};

struct assay_plugin {
    uint64_t size;
    uint32_t version;    /* ASSAY_PLUGIN_VERSION */
    uint32_t num_routes; /* 1 .. 32 */
    const struct assay_plugin_route *const *routes;
};

/* What the shared object exports. */
ASSAY_PLUGIN_EXPORT const struct assay_plugin *assay_plugin_v1(void);

/* ---- conveniences, compiled into the plugin -------------------------------------------------- */

/* The tensor of this name; NULL where it is absent. */
static inline const struct assay_plugin_tensor *assay_plugin_tensor(
    const struct assay_plugin_call *call, const char *name)
{
    uint32_t i;
    for (i = 0; i < call->num_tensors; i++)
        if (strcmp(call->tensors[i]->name, name) == 0)
            return call->tensors[i];
    return NULL;
}

/* The scalar of this name; NULL where the op has none. */
static inline const struct assay_plugin_scalar *assay_plugin_scalar(
    const struct assay_plugin_call *call, const char *name)
{
    uint32_t i;
    for (i = 0; i < call->num_scalars; i++)
        if (strcmp(call->scalars[i]->name, name) == 0)
            return call->scalars[i];
    return NULL;
}

/* Its value; 0 where the op has none of this name. */
static inline int64_t assay_plugin_integer(const struct assay_plugin_call *call, const char *name)
{
    const struct assay_plugin_scalar *s = assay_plugin_scalar(call, name);
    return s != NULL ? s->integer : 0;
}

static inline double assay_plugin_real(const struct assay_plugin_call *call, const char *name)
{
    const struct assay_plugin_scalar *s = assay_plugin_scalar(call, name);
    return s != NULL ? s->real : 0;
}

/* Bytes of one element; 0 for an unknown format. */
static inline uint64_t assay_plugin_format_bytes(uint32_t format)
{
    static const unsigned char bytes[] = {0, 4, 2, 2, 4, 1, 8, 8};
    return format < sizeof bytes ? bytes[format] : 0;
}

/* Rows: the product of all extents but the innermost; 1 for rank 1. */
static inline int64_t assay_plugin_rows(const struct assay_plugin_tensor *tensor)
{
    int64_t rows = 1;
    uint32_t i;
    for (i = 0; i + 1 < tensor->rank; i++)
        rows *= tensor->extent[i];
    return rows;
}

/* The innermost extent. */
static inline int64_t assay_plugin_width(const struct assay_plugin_tensor *tensor)
{
    return tensor->rank > 0 ? tensor->extent[tensor->rank - 1] : 0;
}

/* Address of the first element of a row; rows count as in assay_plugin_rows. For host memory, and
 * for address arithmetic on device memory. */
static inline void *assay_plugin_row(const struct assay_plugin_tensor *tensor, int64_t row)
{
    int64_t offset = 0;
    uint32_t i = tensor->rank > 0 ? tensor->rank - 1 : 0;
    while (i-- > 0) {
        offset += row % tensor->extent[i] * tensor->stride[i];
        row /= tensor->extent[i];
    }
    return (char *)tensor->data + offset * (int64_t)assay_plugin_format_bytes(tensor->format);
}

/* Element `index` of a row in f32 or bf16, in host memory. */
static inline float assay_plugin_load(const void *row, uint32_t format, int64_t index)
{
    float value = 0;
    if (format == ASSAY_PLUGIN_F32) {
        memcpy(&value, (const char *)row + 4 * index, 4);
    } else if (format == ASSAY_PLUGIN_BF16) {
        uint16_t half;
        uint32_t word;
        memcpy(&half, (const char *)row + 2 * index, 2);
        word = (uint32_t)half << 16;
        memcpy(&value, &word, 4);
    }
    return value;
}

/* Stores an element of a row in f32 or bf16, in host memory; rounds to nearest, ties to even. */
static inline void assay_plugin_store(void *row, uint32_t format, int64_t index, float value)
{
    if (format == ASSAY_PLUGIN_F32) {
        memcpy((char *)row + 4 * index, &value, 4);
    } else if (format == ASSAY_PLUGIN_BF16) {
        uint32_t word;
        uint16_t half;
        memcpy(&word, &value, 4);
        if ((word & 0x7fffffffu) > 0x7f800000u) /* a NaN stays one */
            half = (uint16_t)(word >> 16 | 0x40u);
        else
            half = (uint16_t)((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
        memcpy((char *)row + 2 * index, &half, 2);
    }
}

/* `return assay_plugin_fail(call, "why");` from run(): the text becomes part of the verdict. */
static inline int assay_plugin_fail(const struct assay_plugin_call *call, const char *text)
{
    uint64_t i;
    for (i = 0; i + 1 < call->message_bytes && text[i] != '\0'; i++)
        call->message[i] = text[i];
    if (call->message_bytes > 0)
        call->message[i] = '\0';
    return 1;
}

#ifdef __cplusplus
}
#endif
#endif
