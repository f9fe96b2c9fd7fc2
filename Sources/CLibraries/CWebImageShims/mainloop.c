#include "CWebImageShims.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

// The symbols are weak, so that the library links with a libdispatch that lacks them. The bridge then logs an error.
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

bool gwi_can_drain_main_queue(void) {
    return _dispatch_get_main_queue_handle_4CF && _dispatch_main_queue_callback_4CF;
}

// There is no handle once dispatch_main() drains the queue, as in `swift test`: then the main actor runs without a GLib main loop.
static int main_queue_handle(void) {
    return gwi_can_drain_main_queue() ? _dispatch_get_main_queue_handle_4CF() : -1;
}

static void gwi_main_queue_drain(void) {
    if (_dispatch_main_queue_callback_4CF) _dispatch_main_queue_callback_4CF(NULL);
}

typedef struct {
    GSource source;
    bool is_prepared;
    bool is_silent;
    int descriptor;
    gpointer tag;
} MainQueueSource;

static _Atomic(gwi_misplaced_handler) misplaced_handler;
static atomic_bool is_misplaced;
static atomic_bool is_reported;

static void report_misplaced(void) {
    gwi_misplaced_handler handler = atomic_load(&misplaced_handler);
    if (handler && atomic_load(&is_misplaced) && !atomic_exchange(&is_reported, true)) handler();
}

// The eventfd is made when a main loop first runs, so a program that has none pays for nothing.
static gboolean main_queue_prepare(GSource *source, gint *timeout) {
    MainQueueSource *self = (MainQueueSource *)source;
    *timeout = -1;
    if (!self->is_prepared) {
        self->is_prepared = true;
        self->descriptor = main_queue_handle();
        if (self->descriptor >= 0) {
            self->tag = g_source_add_unix_fd(source, self->descriptor, G_IO_IN);
        } else if (gwi_can_drain_main_queue()) {
            // A main loop runs on another thread than that of the main actor, as after an await in an asynchronous main function.
            atomic_store(&is_misplaced, true);
            report_misplaced();
        }
    } else if (self->is_silent && gwi_is_main_thread()) {
        self->is_silent = false;
        g_source_modify_unix_fd(source, self->tag, G_IO_IN);
    }
    return FALSE;
}

static gboolean main_queue_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    (void)callback;
    (void)data;
    MainQueueSource *self = (MainQueueSource *)source;
    if (!gwi_is_main_thread()) {
        // The descriptor stays readable, so this thread must not poll it again. The main thread does when it runs the context.
        self->is_silent = true;
        g_source_modify_unix_fd(source, self->tag, 0);
        atomic_store(&is_misplaced, true);
        report_misplaced();
        return G_SOURCE_CONTINUE;
    }
    // The counter is read first: work that is added while the queue is drained signals again.
    uint64_t counter = 0;
    ssize_t length = read(self->descriptor, &counter, sizeof counter);
    (void)length;
    gwi_main_queue_drain();
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs main_queue_functions = {.prepare = main_queue_prepare, .dispatch = main_queue_dispatch};

// Runs when the program is loaded: a task of the main actor may be the first thing that an app starts.
__attribute__((constructor)) static void watch_main_queue(void) {
    GSource *source = g_source_new(&main_queue_functions, sizeof(MainQueueSource));
    // The priority is lower than that of input events (0) and higher than that of layout (110), because this is the app's own work,
    // like that of a signal handler.
    g_source_set_priority(source, 105);
    g_source_set_static_name(source, "GtkWebImage main actor");
    g_source_attach(source, NULL);
    g_source_unref(source);
}

void gwi_main_queue_on_misplaced(gwi_misplaced_handler handler) {
    atomic_store(&misplaced_handler, handler);
    report_misplaced();
}

typedef struct {
    GSource source;
    gwi_timed_function function;
    gwi_ready_function is_ready;
    void *context;
    int depth;
} TimedSource;

// A main loop that runs within the work, such as that of a modal dialog, has the rest of it to do, but for the pauses that are left to
// GTK.
static gboolean timed_source_prepare(GSource *source, gint *timeout) {
    TimedSource *self = (TimedSource *)source;
    *timeout = -1;
    return self->depth > 0 && g_source_get_ready_time(source) == -1 && self->is_ready(self->context);
}

static gboolean timed_source_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    (void)callback;
    (void)data;
    TimedSource *self = (TimedSource *)source;
    // The ready time is cleared before the work runs, so that one that is set meanwhile is kept.
    g_source_set_ready_time(source, -1);
    self->depth += 1;
    gint64 pause = self->function(self->context);
    self->depth -= 1;
    if (pause >= 0) g_source_set_ready_time(source, g_get_monotonic_time() + pause);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs timed_source_functions = {.prepare = timed_source_prepare, .dispatch = timed_source_dispatch};

GSource *gwi_timed_source_new(gwi_timed_function function, gwi_ready_function is_ready, void *context, int priority,
                              const char *name) {
    GSource *source = g_source_new(&timed_source_functions, sizeof(TimedSource));
    ((TimedSource *)source)->function = function;
    ((TimedSource *)source)->is_ready = is_ready;
    ((TimedSource *)source)->context = context;
    g_source_set_priority(source, priority);
    g_source_set_can_recurse(source, TRUE);
    g_source_set_static_name(source, name);
    return source;
}

gboolean gwi_is_main_thread(void) {
    static _Thread_local int answer; // 0: not known yet, 1: yes, 2: no
    if (!answer) answer = syscall(SYS_gettid) == getpid() ? 1 : 2;
    return answer == 1;
}
