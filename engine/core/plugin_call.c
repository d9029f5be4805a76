/* SPDX-License-Identifier: MIT
 *
 * A call of an op as a plugin sees it: its tensors and scalars by name, from the op's tables.
 */
#include "core/plugin_slots.h"

#include <string.h>

#include <assay/device.h>

#include "core/context_state.h"
#include "cuda/cuda_device.h"

struct plugin_slot plugin_slots[ASSAY_PLUGIN_MAX_ROUTES];
struct assay_plugin_options plugin_options;

enum { MAX_TENSORS = 24, MAX_SCALARS = 32, GUARD_BYTES = 256, GUARD = 0xa5 };

struct call_parts {
    struct assay_plugin_call call;
    struct assay_plugin_tensor tensor[MAX_TENSORS];
    const struct assay_plugin_tensor *tensors[MAX_TENSORS];
    struct assay_plugin_scalar scalar[MAX_SCALARS];
    const struct assay_plugin_scalar *scalars[MAX_SCALARS];
    char message[256];
};

void plugin_enter(const char *function)
{
    if (plugin_options.enter != NULL)
        plugin_options.enter(plugin_options.user, function);
}

void plugin_leave(void)
{
    if (plugin_options.leave != NULL)
        plugin_options.leave(plugin_options.user);
}

static uint32_t format_of(enum assay_dtype dtype)
{
    static const unsigned char numbers[ASSAY_NUM_DTYPES] = {
        [ASSAY_F32] = ASSAY_PLUGIN_F32, [ASSAY_BF16] = ASSAY_PLUGIN_BF16,
        [ASSAY_F16] = ASSAY_PLUGIN_F16, [ASSAY_I32] = ASSAY_PLUGIN_I32,
        [ASSAY_U8] = ASSAY_PLUGIN_U8,   [ASSAY_F64] = ASSAY_PLUGIN_F64,
        [ASSAY_I64] = ASSAY_PLUGIN_I64};
    return numbers[dtype];
}

static uint32_t weight_format_of(enum assay_weight_format format)
{
    static const unsigned char numbers[ASSAY_NUM_WEIGHT_FORMATS] = {
        [ASSAY_WEIGHT_BF16] = ASSAY_PLUGIN_WEIGHT_BF16,
        [ASSAY_WEIGHT_Q4G64] = ASSAY_PLUGIN_WEIGHT_Q4G64,
        [ASSAY_WEIGHT_Q5G64] = ASSAY_PLUGIN_WEIGHT_Q5G64,
        [ASSAY_WEIGHT_Q6G64] = ASSAY_PLUGIN_WEIGHT_Q6G64,
        [ASSAY_WEIGHT_Q8G32] = ASSAY_PLUGIN_WEIGHT_Q8G32};
    return numbers[format];
}

/* A tensor without elements may have no memory and is there all the same. */
static bool is_absent(const struct assay_tensor *tensor)
{
    return tensor->data == NULL && (tensor->rank < 1 || assay_tensor_count(tensor) != 0);
}

static void add_tensor(struct call_parts *p, const struct assay_argument *a,
                       const struct assay_tensor *from)
{
    static const unsigned char roles[] = {[ASSAY_INPUT] = ASSAY_PLUGIN_INPUT,
                                          [ASSAY_OUTPUT] = ASSAY_PLUGIN_OUTPUT,
                                          [ASSAY_INOUT] = ASSAY_PLUGIN_INOUT};
    struct assay_plugin_tensor *to = &p->tensor[p->call.num_tensors];
    *to = (struct assay_plugin_tensor){.size = sizeof *to,
                                       .name = a->name,
                                       .data = from->data,
                                       .format = format_of(from->dtype),
                                       .role = roles[a->role],
                                       .rank = (uint32_t)from->rank};
    for (int i = 0; i < from->rank; i++) {
        to->extent[i] = from->extent[i];
        to->stride[i] = from->stride[i];
    }
    p->tensors[p->call.num_tensors++] = to;
}

static void add_scalar(struct call_parts *p, const struct assay_scalar *s, const void *from)
{
    struct assay_plugin_scalar *to = &p->scalar[p->call.num_scalars];
    *to = (struct assay_plugin_scalar){.size = sizeof *to, .name = s->name};
    to->kind = ASSAY_PLUGIN_INTEGER;
    switch (s->kind) {
    case ASSAY_SCALAR_FLAG:
        to->integer = *(const bool *)from;
        break;
    case ASSAY_SCALAR_INTEGER:
        to->integer = *(const int64_t *)from;
        break;
    case ASSAY_SCALAR_UNSIGNED:
        to->kind = ASSAY_PLUGIN_UNSIGNED;
        to->integer = (int64_t) * (const uint64_t *)from;
        break;
    case ASSAY_SCALAR_REAL:
        to->kind = ASSAY_PLUGIN_REAL;
        to->real = *(const double *)from;
        break;
    default:
        to->kind = ASSAY_PLUGIN_WEIGHTS;
        to->integer = weight_format_of(*(const enum assay_weight_format *)from);
    }
    if (s->kind != ASSAY_SCALAR_REAL)
        to->real = (double)to->integer;
    p->scalars[p->call.num_scalars++] = to;
}

/* Of valid args. structure.arguments holds that no op has more than there is room for. */
static void make_call(struct call_parts *p, const struct assay_op *op, const void *args)
{
    p->call = (struct assay_plugin_call){.size = sizeof p->call,
                                         .op = op->name,
                                         .tensors = p->tensors,
                                         .scalars = p->scalars,
                                         .threads = 1,
                                         .message = p->message,
                                         .message_bytes = sizeof p->message};
    p->message[0] = '\0';
    const char *base = args;
    for (const struct assay_argument *a = op->arguments; a->name != NULL; a++) {
        const struct assay_tensor *tensor = (const void *)(base + a->offset);
        if (!is_absent(tensor) && p->call.num_tensors < MAX_TENSORS)
            add_tensor(p, a, tensor);
    }
    for (const struct assay_scalar *s = op->scalars; s != NULL && s->name != NULL; s++)
        if (p->call.num_scalars < MAX_SCALARS)
            add_scalar(p, s, base + s->offset);
}

static bool slot_accepts(int slot, const void *args)
{
    const struct plugin_slot *s = &plugin_slots[slot];
    struct call_parts parts;
    make_call(&parts, s->op, args);
    plugin_enter("accepts");
    bool accepted = s->plugin->accepts(&parts.call) != 0;
    plugin_leave();
    return accepted;
}

/* What the plugin wants; more than any machine has stays a failure to allocate. */
static size_t wanted_bytes(const struct plugin_slot *s, const struct assay_plugin_call *call)
{
    static const uint64_t most = (uint64_t)1 << 46;
    plugin_enter("workspace_bytes");
    uint64_t bytes = s->plugin->workspace_bytes(call);
    plugin_leave();
    return (size_t)(bytes < most ? bytes : most);
}

static bool is_guarded(const assay_context *context)
{
    return plugin_options.careful && context->backend == ASSAY_CPU;
}

static size_t slot_workspace(int slot, const assay_context *context, const void *args)
{
    struct call_parts parts;
    make_call(&parts, plugin_slots[slot].op, args);
    size_t bytes = wanted_bytes(&plugin_slots[slot], &parts.call);
    return bytes > 0 && is_guarded(context) ? bytes + GUARD_BYTES : bytes;
}

/* Every float of it is a NaN; behind it a guard. */
static assay_status poison(assay_context *context, void *workspace, size_t bytes)
{
    if (bytes == 0 || !plugin_options.careful)
        return ASSAY_OK;
    if (context->backend == ASSAY_CUDA)
        return assay_buffer_fill(context, workspace, 0xff, bytes);
    memset(workspace, 0xff, bytes);
    memset((char *)workspace + bytes, GUARD, GUARD_BYTES);
    return ASSAY_OK;
}

static assay_status check_guard(assay_context *context, const struct plugin_slot *s,
                                const void *workspace, size_t bytes)
{
    const unsigned char *guard = (const unsigned char *)workspace + bytes;
    for (size_t i = 0; bytes > 0 && i < GUARD_BYTES; i++)
        if (guard[i] != GUARD)
            return assay_refuse(context, ASSAY_E_WORKSPACE, s->op->name, s->name,
                                "byte %zu behind the %zu bytes of its workspace was written", i,
                                bytes);
    return ASSAY_OK;
}

static assay_status slot_run(int slot, assay_context *context, const void *args, void *workspace)
{
    const struct plugin_slot *s = &plugin_slots[slot];
    struct call_parts parts;
    make_call(&parts, s->op, args);
    struct assay_plugin_call *call = &parts.call;
    size_t bytes = assay_workspace_bytes(context);
    if (bytes > 0 && is_guarded(context))
        bytes -= GUARD_BYTES;
    ASSAY_TRY(poison(context, workspace, bytes));
    call->workspace = workspace;
    call->workspace_bytes = bytes;
    call->threads = (uint32_t)assay_context_num_threads(context);
#if defined(ASSAY_HAVE_CUDA)
    if (context->backend == ASSAY_CUDA)
        call->stream = cuda_device_stream(context->device);
#endif
    plugin_enter("run");
    int result = s->plugin->run(call);
    assay_status status = ASSAY_OK;
    if (plugin_options.careful && result == 0)
        status = assay_context_synchronize(context);
    plugin_leave();
    parts.message[sizeof parts.message - 1] = '\0';
    if (result != 0 && parts.message[0] != '\0')
        return assay_refuse(context, ASSAY_E_ARG, s->op->name, s->name, "%s", parts.message);
    if (result != 0)
        return assay_refuse(context, ASSAY_E_ARG, s->op->name, s->name, "run() returned %d",
                            result);
    if (status == ASSAY_OK && is_guarded(context))
        status = check_guard(context, s, workspace, bytes);
    return status;
}

/* ---- a place's own functions ---------------------------------------------------------------- */

#define SLOTS_4(X, n) X(n##0) X(n##1) X(n##2) X(n##3)
#define SLOTS_8(X, n) SLOTS_4(X, n) X(n##4) X(n##5) X(n##6) X(n##7)
/* The numbers are octal: 000 .. 037 are the 32 places. */
#define SLOTS(X) SLOTS_8(X, 00) SLOTS_8(X, 01) SLOTS_8(X, 02) SLOTS_8(X, 03)

#define SLOT_FUNCTIONS(n)                                                                  \
    static bool accepts_##n(const void *args)                                              \
    {                                                                                      \
        return slot_accepts(n, args);                                                      \
    }                                                                                      \
    static size_t workspace_##n(const assay_context *context, const void *args)            \
    {                                                                                      \
        return slot_workspace(n, context, args);                                           \
    }                                                                                      \
    static assay_status run_##n(assay_context *context, const void *args, void *workspace) \
    {                                                                                      \
        return slot_run(n, context, args, workspace);                                      \
    }
SLOTS(SLOT_FUNCTIONS)

void plugin_slot_bind(int slot)
{
    static const struct {
        bool (*accepts)(const void *args);
        size_t (*workspace)(const assay_context *context, const void *args);
        assay_status (*run)(assay_context *context, const void *args, void *workspace);
    } functions[] = {
#define SLOT_ROW(n) {accepts_##n, workspace_##n, run_##n},
        SLOTS(SLOT_ROW)};
    _Static_assert(sizeof functions / sizeof functions[0] == ASSAY_PLUGIN_MAX_ROUTES,
                   "a place for each route");
    struct assay_route *row = &plugin_slots[slot].row;
    const struct assay_plugin_route *plugin = plugin_slots[slot].plugin;
    row->accepts = plugin->accepts != NULL ? functions[slot].accepts : NULL;
    row->workspace = plugin->workspace_bytes != NULL ? functions[slot].workspace : NULL;
    row->run = functions[slot].run;
}
