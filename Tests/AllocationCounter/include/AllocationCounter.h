// Counts the allocations of the program that it is linked into.
#pragma once

// The number of allocations so far, on all threads.
long allocation_count(void);

// The number of allocations of the calling thread so far.
long own_allocation_count(void);

// The bytes that are allocated now, and their maximum since the last reset.
long allocated_bytes(void);
long allocated_peak(void);
void allocated_peak_reset(void);
