// Counts what the calling thread allocates, by standing in for glibc's malloc in the program that links this.
#ifndef RECBOT_CALLOCATIONCOUNT_H
#define RECBOT_CALLOCATIONCOUNT_H

#include <stdint.h>

// Calls of malloc, calloc, realloc and their relatives on this thread so far.
uint64_t recbot_allocation_count(void);

#endif
