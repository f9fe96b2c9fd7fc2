// libpng decodes PNG, whole or while it arrives, and each frame of APNG, of which gdk-pixbuf decodes the default image only.
#pragma once

#include <png.h>
