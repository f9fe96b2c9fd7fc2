#pragma once

#include <stddef.h>

// getaddrinfo(3) is replaced in this program: the host name "slow.example" takes this number of seconds to look up, and
// then does not exist.
void set_slow_lookup_seconds(int seconds);

// The number of lookups of that name so far.
int slow_lookup_count(void);

// Takes every descriptor that is left, of at most 64, and returns how many.
int take_descriptors(int *descriptors);

// The bytes that malloc has handed out.
size_t allocated_byte_count(void);
