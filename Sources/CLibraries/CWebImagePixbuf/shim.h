// gdk-pixbuf decodes the formats without a decoder in this package, such as SVG, AVIF and HEIC.
#pragma once

#include <gdk-pixbuf/gdk-pixbuf.h>
