#include "CAllocationCount.h"

#include <errno.h>
#include <stddef.h>

// glibc's own names of what is replaced here (its manual, "Replacing malloc").
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *old);

#ifdef RECBOT_PRELOADED
// As a library that is loaded first (LD_PRELOAD) it counts on all threads, and tells at the end.
#include <stdio.h>

static _Atomic uint64_t count;

__attribute__((destructor)) static void tell(void) { fprintf(stderr, "allocations %llu\n", (unsigned long long)count); }
#else
static __thread uint64_t count;
#endif

uint64_t recbot_allocation_count(void) { return count; }

void *malloc(size_t size) {
  count++;
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count++;
  return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
  count++;
  return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  count++;
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count++;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  count++;
  void *memory = __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *result = memory;
  return 0;
}

void free(void *old) { __libc_free(old); }
