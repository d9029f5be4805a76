/* SPDX-License-Identifier: MIT
 *
 * What the laws of gdn_recurrent and gdn_chunked share.
 */
#ifndef PROPERTIES_GDN_LAWS_H
#define PROPERTIES_GDN_LAWS_H

#include <assay/route.h>
#include <assay/tensor.h>

/* Numbers in [-1/2, 1/2]; they repeat after `period` of them. */
static inline float wave(int i, int period)
{
    int centred = i * 37 % period - period / 2;
    return (float)centred / (float)period;
}

/* The format of the state that a route takes. */
static inline enum assay_dtype state_of(const struct assay_route *route)
{
    return route->profile == ASSAY_PROFILE_STATE16 ? ASSAY_F16 : ASSAY_F32;
}

/* The bad calls of both ops: BAD(status, argument, change of the args `a`). The good call has
 * T = 2, Hk = 2, Hv = 4, dk = 3, dv = 2; o, state and beta point to its memory, o and state 32
 * elements apart. */
#define GDN_BAD_CALLS(BAD)                                       \
    BAD(ASSAY_E_ARG, "q", a.q.data = NULL);                      \
    BAD(ASSAY_E_ARG, "k", a.k.data = NULL);                      \
    BAD(ASSAY_E_ARG, "v", a.v.data = NULL);                      \
    BAD(ASSAY_E_ARG, "g", a.g.data = NULL);                      \
    BAD(ASSAY_E_ARG, "beta", a.beta.data = NULL);                \
    BAD(ASSAY_E_ARG, "state", a.state.data = NULL);              \
    BAD(ASSAY_E_ARG, "o", a.o.data = NULL);                      \
    BAD(ASSAY_E_ARG, "scale", a.scale = NAN);                    \
    BAD(ASSAY_E_ARG, "scale", a.scale = INFINITY);               \
    BAD(ASSAY_E_SHAPE, "q", a.q.rank = 2);                       \
    BAD(ASSAY_E_SHAPE, "g", a.g.rank = 1);                       \
    BAD(ASSAY_E_SHAPE, "state", a.state.rank = 4);               \
    BAD(ASSAY_E_SHAPE, "q", a.q.extent[1] = 0);                  \
    BAD(ASSAY_E_SHAPE, "q", a.q.extent[2] = 0);                  \
    BAD(ASSAY_E_SHAPE, "k", a.k.extent[2] = 2);                  \
    BAD(ASSAY_E_SHAPE, "k", a.k.extent[1] = 1);                  \
    BAD(ASSAY_E_SHAPE, "v", a.v.extent[0] = 1);                  \
    BAD(ASSAY_E_SHAPE, "v", a.v.extent[1] = 3);                  \
    BAD(ASSAY_E_SHAPE, "v", a.v.extent[2] = 0);                  \
    BAD(ASSAY_E_SHAPE, "g", a.g.extent[0] = 1);                  \
    BAD(ASSAY_E_SHAPE, "g", a.g.extent[1] = 3);                  \
    BAD(ASSAY_E_SHAPE, "beta", a.beta.extent[1] = 3);            \
    BAD(ASSAY_E_SHAPE, "state", a.state.extent[0] = 2);          \
    BAD(ASSAY_E_SHAPE, "state", a.state.extent[1] = 2);          \
    BAD(ASSAY_E_SHAPE, "state", a.state.extent[2] = 1);          \
    BAD(ASSAY_E_SHAPE, "o", a.o.extent[2] = 1);                  \
    BAD(ASSAY_E_FORMAT, "q", a.q.dtype = ASSAY_F16);             \
    BAD(ASSAY_E_FORMAT, "k", a.k.dtype = ASSAY_I32);             \
    BAD(ASSAY_E_FORMAT, "v", a.v.dtype = ASSAY_F16);             \
    BAD(ASSAY_E_FORMAT, "g", a.g.dtype = ASSAY_BF16);            \
    BAD(ASSAY_E_FORMAT, "beta", a.beta.dtype = ASSAY_BF16);      \
    BAD(ASSAY_E_FORMAT, "state", a.state.dtype = ASSAY_BF16);    \
    BAD(ASSAY_E_FORMAT, "o", a.o.dtype = ASSAY_F16);             \
    BAD(ASSAY_E_LAYOUT, "q", a.q.stride[2] = 2);                 \
    BAD(ASSAY_E_LAYOUT, "state", a.state.stride[1] = 1);         \
    BAD(ASSAY_E_LAYOUT, "state", a.state.stride[0] = 5);         \
    BAD(ASSAY_E_LAYOUT, "o", a.o.stride[0] = 7);                 \
    BAD(ASSAY_E_LAYOUT, "beta", a.beta.data = (char *)beta + 1); \
    BAD(ASSAY_E_ALIAS, "o", a.v.data = o + 1);                   \
    BAD(ASSAY_E_ALIAS, "o", a.q.data = o);                       \
    BAD(ASSAY_E_ALIAS, "o", a.k.data = o + 2);                   \
    BAD(ASSAY_E_ALIAS, "o", a.g.data = o);                       \
    BAD(ASSAY_E_ALIAS, "o", a.beta.data = o);                    \
    BAD(ASSAY_E_ALIAS, "o", a.state.data = o + 4);               \
    BAD(ASSAY_E_ALIAS, "state", a.q.data = state);               \
    BAD(ASSAY_E_ALIAS, "state", a.k.data = state + 3);           \
    BAD(ASSAY_E_ALIAS, "state", a.v.data = state);               \
    BAD(ASSAY_E_ALIAS, "state", a.g.data = state + 20);          \
    BAD(ASSAY_E_ALIAS, "state", a.beta.data = state);

#endif
