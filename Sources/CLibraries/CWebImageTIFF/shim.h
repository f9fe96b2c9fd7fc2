// libtiff decodes TIFF. gdk-pixbuf does, too, but its versions turn and premultiply pixels in different ways, and it reads neither
// grey images with alpha nor floating-point samples right.
#pragma once

#include <tiffio.h>
