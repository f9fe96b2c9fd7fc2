// libadwaita gives the gallery its looks; the library does without. Debian 12 has 1.2, so the gallery keeps to what that has, and
// newer versions need not warn of it: AdwLeaflet, AdwFlap and AdwAboutWindow have successors from 1.4 on.
#pragma once

#define ADW_DISABLE_DEPRECATION_WARNINGS
#include <adwaita.h>
