// zstd compresses renditions in the disk cache without loss, at the speed at which they are read.
#pragma once

#include <zstd.h>
