import CWebImageGLib
import Foundation
import Testing
import WebImageLinux
import WebImageTesting

@Suite("References to GObjects")
struct GObjectBoxTests {
    @Test("A box of plain data releases its object on the thread that drops it")
    func anyThread() {
        let object = WatchedObject()
        do {
            let box = GObjectBox(adopting: object.pointer, releaseOn: .any)
            #expect(object.isAlive && box.pointer == object.pointer)
        }
        #expect(!object.isAlive)
    }

    @Test(
        "A box that needs the main thread and is dropped on another one releases its object in the main loop",
        arguments: [true, false]
    )
    @MainActor
    func otherThread(needsMainThreadFromStart: Bool) {
        let object = WatchedObject()
        let isDropped = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            do {
                let box = GObjectBox(adopting: object.pointer, releaseOn: needsMainThreadFromStart ? .main : .any)
                if !needsMainThreadFromStart { box.requireMainThread() }
            }
            isDropped.signal()
        }
        isDropped.wait()
        #expect(object.isAlive)
        #expect(MainLoopPump.run { !object.isAlive })
    }

    @Test("A box takes a reference of its own, and sinks a floating one", arguments: [true, false])
    func retaining(isFloating: Bool) {
        let object = WatchedObject(isFloating: isFloating)
        do {
            let box = GObjectBox(retaining: object.pointer, releaseOn: .any)
            #expect(box.pointer == object.pointer)
        }
        #expect(object.isAlive != isFloating)
        if !isFloating { g_object_unref(object.pointer) }
        #expect(!object.isAlive)
    }
}

/// A GObject whose end can be seen: GLib clears weak pointers when the last reference is dropped.
///
/// @unchecked: the threads of a test take turns.
private final class WatchedObject: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
    private let weakPointer = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: 1)

    init(isFloating: Bool = false) {
        let type = isFloating ? g_initially_unowned_get_type() : g_cancellable_get_type()
        let object = g_object_new_with_properties(type, 0, nil, nil)!
        pointer = UnsafeMutableRawPointer(object)
        weakPointer.initialize(to: pointer)
        g_object_add_weak_pointer(object, weakPointer)
    }

    deinit {
        weakPointer.deallocate()
    }

    var isAlive: Bool { weakPointer.pointee != nil }
}
