// GLib and GIO: the main loop, GObject, GResource, and the monitors of network, power and memory.
#pragma once

#define G_SETTINGS_ENABLE_BACKEND  // g_settings_backend_get_default
#include <gio/gio.h>
#include <gio/gsettingsbackend.h>
#include <glib-object.h>
#include <glib-unix.h>
#include <glib.h>

#include "versions.h"
