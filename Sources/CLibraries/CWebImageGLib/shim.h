// GLib and GIO: the main loop, GObject, GResource, and the monitors of network, power and memory.
#pragma once

#include <gio/gio.h>
#include <glib-object.h>
#include <glib-unix.h>
#include <glib.h>

#include "versions.h"
