/* SPDX-License-Identifier: MIT
 *
 * Fibers: a function with a stack of its own that can be left in the middle and resumed. The
 * switch is Boost.Context's; AddressSanitizer is told about each.
 */
#ifndef ASSAY_CUDA_EXECUTOR_FIBER_H
#define ASSAY_CUDA_EXECUTOR_FIBER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fiber {
    void *context; /* where it stopped */
    void *caller;  /* where the resuming side stopped */
    void *stack;   /* lowest address */
    size_t stack_bytes;
    const void *caller_stack; /* AddressSanitizer's view of the resuming side */
    size_t caller_stack_bytes;
    void (*entry)(void *argument);
    void *argument;
};

/* The fiber starts at its first resume. Its former contents are forgotten, nothing is unwound. */
void fiber_prepare(struct fiber *fiber, void *stack, size_t stack_bytes,
                   void (*entry)(void *argument), void *argument);
/* Runs the fiber until it yields or leaves; it must have done neither of the latter before. */
void fiber_resume(struct fiber *fiber);
/* From inside: back to the resuming side. */
void fiber_yield(struct fiber *fiber);
/* From inside: back for good. Returning from entry does the same. */
__attribute__((noreturn)) void fiber_leave(struct fiber *fiber);

#ifdef __cplusplus
}
#endif
#endif
