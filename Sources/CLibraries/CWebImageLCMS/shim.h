// Little CMS converts images with a colour profile to sRGB. No other library here does that.
#pragma once

#include <lcms2.h>
