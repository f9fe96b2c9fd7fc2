import GtkWebImage
import Observation

/// Calls a closure with the state of a load, now and after each change, as long as the widget of the load exists.
@MainActor
func follow(_ progress: ImageProgress, _ body: @escaping @MainActor (ImageProgress.State) -> Void) {
    let state = withObservationTracking {
        progress.state
    } onChange: { [weak progress] in
        // The change follows this call.
        Task { @MainActor in
            if let progress { follow(progress, body) }
        }
    }
    body(state)
}
