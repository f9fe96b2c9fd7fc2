// Counts the allocations of the program that it is linked into.
#pragma once

// How often memory was asked for so far, by any thread.
long allocation_count(void);
