import Glibc

/// Whether the toolkit of this process shows wide colours: GTK 4.16 and later, whose textures name their colours.
enum WideColorDisplay {
    /// This target does not link GTK, and the headers of the build can be older than the GTK that is there.
    static let isAvailable = dlsym(nil, "gdk_memory_texture_builder_set_color_state") != nil
}
