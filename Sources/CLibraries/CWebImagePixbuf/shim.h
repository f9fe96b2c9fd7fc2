// gdk-pixbuf decodes the formats without a decoder in this package, such as TIFF, BMP and ICO.
#pragma once

#include <gdk-pixbuf/gdk-pixbuf.h>
