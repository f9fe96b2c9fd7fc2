internal import CWebImageGtk4

// Types and properties of GObjects whose class is not known at compile time.
extension UnsafeMutableRawPointer {
    /// Whether the GObject is an instance of a type or of a subtype.
    func isInstance(of type: GType) -> Bool {
        g_type_check_instance_is_a(assumingMemoryBound(to: GTypeInstance.self), type) != 0
    }

    /// Whether the GObject has a writable property whose values are of a type.
    func hasProperty(_ name: String, of type: GType) -> Bool {
        guard let property = property(name) else { return false }
        return property.pointee.flags.rawValue & gwi_param_writable.rawValue != 0
            && g_type_is_a(property.pointee.value_type, type) != 0
    }

    private func property(_ name: String) -> UnsafeMutablePointer<GParamSpec>? {
        guard let objectClass = assumingMemoryBound(to: GTypeInstance.self).pointee.g_class else { return nil }
        let instance = UnsafeMutableRawPointer(objectClass).assumingMemoryBound(to: GObjectClass.self)
        return g_object_class_find_property(instance, name)
    }

    /// The value of a property that holds a boolean or an enum, which GLib converts; `nil` if this GTK has no such property.
    func number(_ name: String) -> Int32? {
        guard property(name) != nil else { return nil }
        var value = GValue()
        g_value_init(&value, g_type_from_name("gint"))
        defer { g_value_unset(&value) }
        g_object_get_property(assumingMemoryBound(to: GObject.self), name, &value)
        return g_value_get_int(&value)
    }

    /// The library's object that this one owns under a key, created on first use. Another thread may release it.
    func companion<T: AnyObject>(_ key: GQuark, make: () -> T) -> T {
        let object = assumingMemoryBound(to: GObject.self)
        if let known = g_object_get_qdata(object, key) { return Unmanaged<T>.fromOpaque(known).takeUnretainedValue() }
        let made = make()
        g_object_set_qdata_full(object, key, Unmanaged.passRetained(made).toOpaque()) {
            Unmanaged<AnyObject>.fromOpaque($0!).release()
        }
        return made
    }

    /// The text that a property holds; empty if there is none.
    func text(_ name: String) -> String {
        var value = GValue()
        g_value_init(&value, g_type_from_name("gchararray"))
        defer { g_value_unset(&value) }
        g_object_get_property(assumingMemoryBound(to: GObject.self), name, &value)
        return g_value_get_string(&value).map { String(cString: $0) } ?? ""
    }

    /// The object that a property holds. The caller does not own a reference.
    func objectProperty(_ name: String) -> UnsafeMutableRawPointer? {
        var value = GValue()
        g_value_init(&value, g_object_get_type())
        defer { g_value_unset(&value) }
        g_object_get_property(assumingMemoryBound(to: GObject.self), name, &value)
        return g_value_get_object(&value)
    }

    /// Sets a property that holds an object.
    func setObjectProperty(_ name: String, _ object: UnsafeMutableRawPointer?) {
        var value = GValue()
        g_value_init(&value, g_object_get_type())
        defer { g_value_unset(&value) }
        g_value_set_object(&value, object)
        g_object_set_property(assumingMemoryBound(to: GObject.self), name, &value)
    }
}
