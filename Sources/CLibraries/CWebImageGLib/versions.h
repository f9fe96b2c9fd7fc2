// What differs between the versions of GLib. Since 2.88 its flags are marked as such (G_GNUC_FLAG_ENUM), so that Swift imports them
// as option sets and drops their C names. These constants have one name with every version.
#pragma once

#include <gio/gio.h>

static const GConnectFlags gwi_connect_after = G_CONNECT_AFTER;
static const GConnectFlags gwi_connect_swapped = G_CONNECT_SWAPPED;
static const GBindingFlags gwi_binding_bidirectional = G_BINDING_BIDIRECTIONAL;
static const GParamFlags gwi_param_writable = G_PARAM_WRITABLE;
static const GResourceLookupFlags gwi_resource_lookup_none = G_RESOURCE_LOOKUP_FLAGS_NONE;
static const GApplicationFlags gwi_application_non_unique = G_APPLICATION_NON_UNIQUE;
static const GDBusCallFlags gwi_dbus_call_none = G_DBUS_CALL_FLAGS_NONE;
static const GConverterFlags gwi_converter_none = G_CONVERTER_NO_FLAGS;
