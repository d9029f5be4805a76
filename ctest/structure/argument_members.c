/* SPDX-License-Identifier: MIT
 *
 * The members of each op's args struct against its tables of arguments and scalars: those that the
 * tables name, with the padding that their alignment asks for, fill the struct.
 */
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include <assay/route.h>

enum { MOST_TENSORS = 24, MOST_SCALARS = 32 }; /* room in a call of a plugin */

struct member {
    const char *name;
    size_t offset, size, alignment;
};

static struct member scalar_member(const struct assay_scalar *s)
{
    static const struct {
        size_t size, alignment;
    } kinds[ASSAY_NUM_SCALAR_KINDS] = {
#define KIND_ROW(enumerator, type, meaning) {sizeof(type), alignof(type)},
        ASSAY_SCALAR_TABLE(KIND_ROW)
#undef KIND_ROW
    };
    return (struct member){s->name, s->offset, kinds[s->kind].size, kinds[s->kind].alignment};
}

static int by_offset(const void *a, const void *b)
{
    size_t x = ((const struct member *)a)->offset, y = ((const struct member *)b)->offset;
    return (x > y) - (x < y);
}

static size_t padded(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

static int check(const struct assay_op *op)
{
    struct member members[MOST_TENSORS + MOST_SCALARS];
    int tensors = 0, scalars = 0, count = 0;
    for (const struct assay_argument *a = op->arguments; a->name != NULL; a++)
        if (++tensors <= MOST_TENSORS)
            members[count++] = (struct member){a->name, a->offset, sizeof(struct assay_tensor),
                                               alignof(struct assay_tensor)};
    for (const struct assay_scalar *s = op->scalars; s != NULL && s->name != NULL; s++)
        if (++scalars <= MOST_SCALARS)
            members[count++] = scalar_member(s);
    if (tensors > MOST_TENSORS || scalars > MOST_SCALARS) {
        printf("%s: %d tensors and %d scalars, a plugin's call has room for %d and %d "
               "(engine/core/plugin_call.c)\n",
               op->name, tensors, scalars, MOST_TENSORS, MOST_SCALARS);
        return 1;
    }
    qsort(members, (size_t)count, sizeof members[0], by_offset);
    size_t end = 0;
    for (int i = 0; i < count; i++) {
        size_t expected = padded(end, members[i].alignment);
        if (members[i].offset != expected) {
            printf("%s: '%s' is at byte %zu, the tables explain %zu: a member before it is in no "
                   "table, or in two\n",
                   op->name, members[i].name, members[i].offset, expected);
            return 1;
        }
        end = members[i].offset + members[i].size;
    }
    if (padded(end, alignof(struct assay_tensor)) != op->args_bytes) {
        printf("%s: the args have %zu bytes, the tables explain %zu: the last members are in no "
               "table\n",
               op->name, op->args_bytes, end);
        return 1;
    }
    return 0;
}

int main(void)
{
    int num_ops, bad = 0;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    for (int i = 0; i < num_ops; i++)
        bad += check(ops[i]);
    printf("%d ops\n", num_ops);
    return bad > 0 || num_ops == 0;
}
