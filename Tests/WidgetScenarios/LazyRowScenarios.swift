internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import WebImageLinux
import WebImageTesting

extension Scenario {
    static let lazyRows: [Scenario] = [
        Scenario("Only the rows of a list box that are near the screen are bound") {
            let stage = try Stage()
            let list = gtk_list_box_new()!
            for _ in 0..<200 {
                let row = gtk_list_box_row_new()!
                gtk_widget_set_size_request(row, 100, 60)
                gtk_list_box_append(list.opaque, row)
            }
            let scrolled = gtk_scrolled_window_new()!
            gtk_widget_set_vexpand(scrolled, 1)
            gtk_scrolled_window_set_child(scrolled.opaque, list)
            stage.append(scrolled)
            let urls = (0..<201).map { stage.url(ListStage.color($0)) }
            let rows = LazyRowBinder(container: WidgetPointer(list)) { row, index in
                row.setImage(with: urls[index])
            } unbind: { row, _ in
                row.clearImage()
            }
            stage.present()
            // The loads begin after the layout in which the rows were bound.
            expect(
                MainLoopPump.run(until: {
                    rows.boundRange.count > 3 && stage.server.requests.count >= rows.boundRange.count && stage.isIdle
                })
            )
            expect(rows.boundRange.lowerBound == 0 && rows.boundRange.count < 40, "\(rows.boundRange)")
            expectEqual(stage.server.requests.count, rows.boundRange.count)
            let adjustment = gtk_scrolled_window_get_vadjustment(scrolled.opaque)!
            gtk_adjustment_set_value(adjustment, gtk_adjustment_get_upper(adjustment))
            expect(MainLoopPump.run(until: { rows.boundRange.upperBound == 200 && stage.isIdle }))
            expect(rows.boundRange.lowerBound > 150, "\(rows.boundRange)")
            let first = try require(gtk_list_box_get_row_at_index(list.opaque, 0))
            expect(
                WidgetPointer(OpaquePointer(first)).imageBinding.request?.url == nil,
                "the first row was not let go of"
            )
            // A row that is added is bound like the others.
            gtk_list_box_insert(list.opaque, gtk_list_box_row_new(), -1)
            expect(
                MainLoopPump.run(until: {
                    rows.update()
                    return rows.boundRange.upperBound == 201
                })
            )
        },

        Scenario("A second binder of a list binds the rows that the first one has bound, and keeps them") {
            // Given a list whose rows on screen are bound
            let stage = try Stage()
            let (scrolled, list) = (gtk_scrolled_window_new()!, gtk_list_box_new()!)
            gtk_widget_set_vexpand(scrolled, 1)
            gtk_scrolled_window_set_child(scrolled.opaque, list)
            stage.append(scrolled)
            for _ in 0..<100 {
                let row = gtk_list_box_row_new()!
                gtk_widget_set_size_request(row, 100, 60)
                gtk_list_box_append(list.opaque, row)
            }
            var (first, second): ([Int], Set<Int>) = ([], [])
            var older: LazyRowBinder? = LazyRowBinder(container: WidgetPointer(list)) { _, index in
                first.append(index)
            } unbind: { _, _ in
            }
            stage.present()
            expect(MainLoopPump.run(until: { older?.boundRange.isEmpty == false }))
            let count = first.count
            // When the app makes another binder
            let newer = LazyRowBinder(container: WidgetPointer(list)) { _, index in
                second.insert(index)
            } unbind: { _, index in
                second.remove(index)
            }
            newer.update()
            // Then that one binds them, and the older one leaves them alone
            expectEqual(second, Set(newer.boundRange))
            expect(second.count > 3, "\(second)")
            older?.update()
            expectEqual(first.count, count)
            older = nil
            // And it unbinds them when they are scrolled away
            let adjustment = gtk_scrolled_window_get_vadjustment(scrolled.opaque)!
            gtk_adjustment_set_value(adjustment, gtk_adjustment_get_upper(adjustment))
            expect(MainLoopPump.run(until: { newer.boundRange.upperBound == 100 && !second.contains(0) }))
            expectEqual(second, Set(newer.boundRange))
            // A row that another binder has bound in another list is bound and unbound as well
            let (otherScrolled, otherList) = (gtk_scrolled_window_new()!, gtk_list_box_new()!)
            gtk_widget_set_size_request(otherScrolled, 100, 100)
            gtk_scrolled_window_set_child(otherScrolled.opaque, otherList)
            let moved = gtk_list_box_row_new()!
            gtk_widget_set_size_request(moved, 100, 60)
            gtk_list_box_append(otherList.opaque, moved)
            stage.append(otherScrolled)
            let other = LazyRowBinder(container: WidgetPointer(otherList)) { _, _ in
            } unbind: { _, _ in
            }
            expect(MainLoopPump.run(until: { other.boundRange == 0..<1 }))
            g_object_ref(UnsafeMutableRawPointer(moved))
            gtk_list_box_remove(otherList.opaque, moved)
            gtk_list_box_append(list.opaque, moved)
            g_object_unref(UnsafeMutableRawPointer(moved))
            gtk_adjustment_set_value(adjustment, gtk_adjustment_get_upper(adjustment))
            expect(MainLoopPump.run(until: { newer.boundRange.upperBound == 101 && second.contains(100) }))
            gtk_adjustment_set_value(adjustment, 0)
            expect(MainLoopPump.run(until: { newer.boundRange.lowerBound == 0 && !second.contains(100) }))
        },

        Scenario("Headers and the placeholder of a list box are no rows, and rows that are filtered out are not bound")
        {
            let stage = try Stage()
            let (scrolled, list) = (gtk_scrolled_window_new()!, gtk_list_box_new()!)
            gtk_list_box_set_placeholder(list.opaque, gtk_label_new("Nothing here"))
            // A header before every tenth row.
            gtk_list_box_set_header_func(
                list.opaque,
                { row, _, _ in
                    guard let row, gtk_list_box_row_get_index(row) % 10 == 0 else { return }
                    if gtk_list_box_row_get_header(row) == nil {
                        gtk_list_box_row_set_header(row, gtk_label_new("Header"))
                    }
                },
                nil,
                nil
            )
            gtk_widget_set_vexpand(scrolled, 1)
            gtk_scrolled_window_set_child(scrolled.opaque, list)
            stage.append(scrolled)
            var bound: Set<Int> = []
            let rows = LazyRowBinder(container: WidgetPointer(list)) { row, index in
                expectEqual(
                    String(
                        cString: g_type_name_from_instance(
                            row.nativeWidgetPointer.assumingMemoryBound(to: GTypeInstance.self)
                        )
                    ),
                    "GtkListBoxRow"
                )
                bound.insert(index)
            } unbind: { _, index in
                bound.remove(index)
            }
            stage.present()
            // Given an empty list, then nothing is bound
            rows.update()
            expect(bound.isEmpty, "\(bound)")
            // When there are rows, then those on screen are bound, by their own numbers
            for _ in 0..<200 {
                let row = gtk_list_box_row_new()!
                gtk_widget_set_size_request(row, -1, 60)
                gtk_list_box_insert(list.opaque, row, -1)
            }
            @MainActor func isBound(_ wanted: (Set<Int>) -> Bool) -> Bool {
                MainLoopPump.run(until: {
                    rows.update()
                    return wanted(bound)
                })
            }
            expect(isBound { $0.count > 5 && $0.count < 60 && $0 == Set(0..<$0.count) }, "\(bound.sorted())")
            // When nine of ten are filtered out, then those that moved into view are bound and no others
            gtk_list_box_set_filter_func(
                list.opaque,
                { row, _ in gtk_list_box_row_get_index(row) % 10 == 0 ? 1 : 0 },
                nil,
                nil
            )
            expect(isBound { $0.count > 5 && $0.contains(50) && $0.allSatisfy { $0 % 10 == 0 } }, "\(bound.sorted())")
        },
        Scenario("Handlers that add and remove rows get the rows that are there, by their numbers") {
            let stage = try Stage()
            let (scrolled, flow) = (gtk_scrolled_window_new()!, gtk_flow_box_new()!)
            gtk_flow_box_set_max_children_per_line(flow.opaque, 1)
            gtk_widget_set_vexpand(scrolled, 1)
            gtk_scrolled_window_set_child(scrolled.opaque, flow)
            stage.append(scrolled)
            for _ in 0..<100 {
                let child = gtk_flow_box_child_new()!
                gtk_widget_set_size_request(child, 100, 60)
                gtk_flow_box_insert(flow.opaque, child, -1)
            }
            // By their addresses, that is, in no order that their siblings know.
            gtk_flow_box_set_sort_func(flow.opaque, { first, second, _ in first! < second! ? -1 : 1 }, nil, nil)
            var bound: [Int] = []
            let rows = LazyRowBinder(container: WidgetPointer(flow)) { row, index in
                let child = row.nativeWidgetPointer.assumingMemoryBound(to: GtkFlowBoxChild.self)
                expectEqual(Int(gtk_flow_box_child_get_index(child)), index)
                bound.append(index)
                // The third one removes the row after the next, and the fifth adds one at the end.
                if bound.count == 3, let next = gtk_flow_box_get_child_at_index(flow.opaque, Int32(index) + 2) {
                    gtk_flow_box_remove(
                        flow.opaque,
                        UnsafeMutableRawPointer(next).assumingMemoryBound(to: GtkWidget.self)
                    )
                }
                if bound.count == 5 { gtk_flow_box_insert(flow.opaque, gtk_flow_box_child_new(), -1) }
            } unbind: { _, _ in
            }
            stage.present()
            expect(
                MainLoopPump.run(until: {
                    rows.update()
                    return bound.count > 8 && rows.boundRange.count <= bound.count
                })
            )
        },
    ]
}
