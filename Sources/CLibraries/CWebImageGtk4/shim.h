// GTK 4 has the widgets. libintl and locale.h serve the translations of the gallery.
#pragma once

#include <gtk/gtk.h>
#include <libintl.h>
#include <locale.h>

#include "versions.h"
