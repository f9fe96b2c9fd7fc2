// What differs between the versions of GTK, from 4.8 on, in the calls that newer headers replace. What a newer GTK adds stands in
// CWebImageGtkShims/features.c, which looks for it at run time.
#pragma once

#include <gtk/gtk.h>

#include "../CWebImageGLib/versions.h"

// The text colour of a widget.
static inline void gwi_widget_get_color(GtkWidget *widget, GdkRGBA *color) {
#if GTK_CHECK_VERSION(4, 10, 0)
    gtk_widget_get_color(widget, color);
#else
    gtk_style_context_get_color(gtk_widget_get_style_context(widget), color);
#endif
}

// The padding that the theme gives a widget. GTK 4.10 deprecates the only functions that tell it, without a successor.
static inline void gwi_widget_get_padding(GtkWidget *widget, GtkBorder *padding) {
    G_GNUC_BEGIN_IGNORE_DEPRECATIONS
    gtk_style_context_get_padding(gtk_widget_get_style_context(widget), padding);
    G_GNUC_END_IGNORE_DEPRECATIONS
}

// Adds rules for a single widget. GTK 4.10 deprecates this in favour of rules for a whole display, which restyle every widget.
static inline void gwi_widget_add_style_provider(GtkWidget *widget, GtkStyleProvider *provider, guint priority) {
    G_GNUC_BEGIN_IGNORE_DEPRECATIONS
    gtk_style_context_add_provider(gtk_widget_get_style_context(widget), provider, priority);
    G_GNUC_END_IGNORE_DEPRECATIONS
}

// Replaces the rules of a provider.
static inline void gwi_css_provider_load(GtkCssProvider *provider, const char *rules) {
#if GTK_CHECK_VERSION(4, 12, 0)
    gtk_css_provider_load_from_string(provider, rules);
#else
    gtk_css_provider_load_from_data(provider, rules, -1);
#endif
}

// Makes a GtkShortcutsWindow the answer to win.show-help-overlay. GTK 4.18 deprecates both, and has no successor itself.
static inline void gwi_application_window_set_help_overlay(GtkApplicationWindow *window, GtkShortcutsWindow *shortcuts) {
    G_GNUC_BEGIN_IGNORE_DEPRECATIONS
    gtk_application_window_set_help_overlay(window, shortcuts);
    G_GNUC_END_IGNORE_DEPRECATIONS
}

// Makes a dialog for the place of a file, which is that of a portal in a sandbox. GTK 4.10 deprecates it in favour of GtkFileDialog,
// which 4.8 lacks.
static inline GtkNativeDialog *gwi_save_dialog_new(GtkWindow *parent, const char *title, const char *name) {
    G_GNUC_BEGIN_IGNORE_DEPRECATIONS
    GtkFileChooserNative *dialog = gtk_file_chooser_native_new(title, parent, GTK_FILE_CHOOSER_ACTION_SAVE, NULL, NULL);
    gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(dialog), name);
    G_GNUC_END_IGNORE_DEPRECATIONS
    gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
    return GTK_NATIVE_DIALOG(dialog);
}

// The chosen file, which the caller owns; NULL if there is none.
static inline GFile *gwi_save_dialog_get_file(GtkNativeDialog *dialog) {
    G_GNUC_BEGIN_IGNORE_DEPRECATIONS
    return gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    G_GNUC_END_IGNORE_DEPRECATIONS
}
