/* SPDX-License-Identifier: MIT
 *
 * OpenBLAS through dlopen.
 */
#include "tools/peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cblas.h: row-major 101, no transpose 111, transpose 112. */
typedef void sgemm_function(int order, int transpose_a, int transpose_b, int m, int n, int k,
                            float alpha, const float *a, int lda, const float *b, int ldb,
                            float beta, float *c, int ldc);
typedef void threads_function(int num_threads);

struct peer {
    void *library;
    sgemm_function *sgemm;
    int t, n, k;
    float *x, *w, *y;
};

/* dlsym gives an object pointer; POSIX lets it be copied into a function pointer. */
static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

struct peer *peer_open(int t, int n, int k, int num_threads, char *message, size_t message_bytes)
{
    struct peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        snprintf(message, message_bytes, "out of memory");
        return NULL;
    }
    threads_function *set_threads = NULL;
    *peer = (struct peer){.t = t, .n = n, .k = k};
    peer->library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (peer->library != NULL) {
        find(peer->library, "cblas_sgemm", &peer->sgemm);
        find(peer->library, "openblas_set_num_threads", &set_threads);
    }
    if (peer->sgemm == NULL || set_threads == NULL) {
        const char *why = dlerror();
        snprintf(message, message_bytes, "%s", why != NULL ? why : "symbols are missing");
        peer_close(peer);
        return NULL;
    }
    set_threads(num_threads);
    size_t x = (size_t)t * (size_t)k, w = (size_t)n * (size_t)k, y = (size_t)t * (size_t)n;
    peer->x = malloc(x * sizeof *peer->x);
    peer->w = malloc(w * sizeof *peer->w);
    peer->y = malloc(y * sizeof *peer->y);
    if (peer->x == NULL || peer->w == NULL || peer->y == NULL) {
        snprintf(message, message_bytes, "out of memory");
        peer_close(peer);
        return NULL;
    }
    for (size_t i = 0; i < x; i++)
        peer->x[i] = (float)(i % 17) * 0.125f - 1;
    for (size_t i = 0; i < w; i++)
        peer->w[i] = (float)(i % 23) * 0.0625f - 0.5f;
    return peer;
}

void peer_sgemm(struct peer *p)
{
    p->sgemm(101, 111, 112, p->t, p->n, p->k, 1, p->x, p->k, p->w, p->k, 0, p->y, p->n);
}

void peer_close(struct peer *peer)
{
    if (peer == NULL)
        return;
    free(peer->x);
    free(peer->w);
    free(peer->y);
    /* OpenBLAS keeps threads: it stays loaded. */
    free(peer);
}
