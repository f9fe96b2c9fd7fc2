// Counts the allocations of the program that it is linked into.
#pragma once

// How often memory was asked for so far, by any thread.
long allocation_count(void);

// Bytes that are allocated at present, and the most there ever were since the last reset.
long allocated_bytes(void);
long allocated_peak(void);
void allocated_peak_reset(void);
