/* SPDX-License-Identifier: MIT
 *
 * Fibers on Boost.Context's machine-level switch. The class boost::context::fiber would unwind an
 * unfinished fiber with an exception; a launch that is stopped at a fault forgets its fibers.
 */
#include "cuda/executor/fiber.h"

#include <boost/context/detail/fcontext.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#if defined(FIBER_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace machine = boost::context::detail;

/* Before a switch: the stack that runs next. fake == nullptr: this stack runs no more. */
static void announce(void **fake, const void *stack, size_t bytes)
{
#if defined(FIBER_ASAN)
    __sanitizer_start_switch_fiber(fake, stack, bytes);
#else
    (void)fake;
    (void)stack;
    (void)bytes;
#endif
}

/* After a switch: the stack that we came from. */
static void arrived(void *fake, const void **stack, size_t *bytes)
{
#if defined(FIBER_ASAN)
    __sanitizer_finish_switch_fiber(fake, stack, bytes);
#else
    (void)fake;
    (void)stack;
    (void)bytes;
#endif
}

void fiber_leave(struct fiber *fiber)
{
    announce(nullptr, fiber->caller_stack, fiber->caller_stack_bytes);
    machine::jump_fcontext(fiber->caller, nullptr);
    __builtin_unreachable();
}

static void enter(machine::transfer_t from)
{
    struct fiber *fiber = static_cast<struct fiber *>(from.data);
    arrived(nullptr, &fiber->caller_stack, &fiber->caller_stack_bytes);
    fiber->caller = from.fctx;
    fiber->entry(fiber->argument);
    fiber_leave(fiber);
}

void fiber_prepare(struct fiber *fiber, void *stack, size_t stack_bytes,
                   void (*entry)(void *argument), void *argument)
{
#if defined(FIBER_ASAN)
    __asan_unpoison_memory_region(stack, stack_bytes); /* frames that were never left */
#endif
    fiber->stack = stack;
    fiber->stack_bytes = stack_bytes;
    fiber->entry = entry;
    fiber->argument = argument;
    void *top = static_cast<char *>(stack) + stack_bytes;
    fiber->context = machine::make_fcontext(top, stack_bytes, enter);
}

void fiber_resume(struct fiber *fiber)
{
    void *fake = nullptr;
    announce(&fake, fiber->stack, fiber->stack_bytes);
    machine::transfer_t back = machine::jump_fcontext(fiber->context, fiber);
    arrived(fake, nullptr, nullptr);
    fiber->context = back.fctx;
}

void fiber_yield(struct fiber *fiber)
{
    void *fake = nullptr;
    announce(&fake, fiber->caller_stack, fiber->caller_stack_bytes);
    machine::transfer_t back = machine::jump_fcontext(fiber->caller, nullptr);
    arrived(fake, &fiber->caller_stack, &fiber->caller_stack_bytes);
    fiber->caller = back.fctx;
}
