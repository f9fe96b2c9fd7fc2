#include "CWebImageShims.h"

#include <sys/syscall.h>
#include <unistd.h>

// The symbols are weak, so that the library links with a libdispatch that lacks them. The bridge then logs an error.
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

int gwi_main_queue_handle(void) {
    if (!_dispatch_get_main_queue_handle_4CF || !_dispatch_main_queue_callback_4CF) return -1;
    return _dispatch_get_main_queue_handle_4CF();
}

void gwi_main_queue_drain(void) {
    if (_dispatch_main_queue_callback_4CF) _dispatch_main_queue_callback_4CF(NULL);
}

typedef struct {
    GSource source;
    gwi_timed_function function;
    void *context;
} TimedSource;

static gboolean timed_source_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    (void)callback;
    (void)data;
    TimedSource *self = (TimedSource *)source;
    // The ready time is cleared before the work runs, so that one that is set meanwhile is kept.
    g_source_set_ready_time(source, -1);
    gint64 pause = self->function(self->context);
    if (pause >= 0) g_source_set_ready_time(source, g_get_monotonic_time() + pause);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs timed_source_functions = {.dispatch = timed_source_dispatch};

GSource *gwi_timed_source_new(gwi_timed_function function, void *context, int priority, const char *name) {
    GSource *source = g_source_new(&timed_source_functions, sizeof(TimedSource));
    ((TimedSource *)source)->function = function;
    ((TimedSource *)source)->context = context;
    g_source_set_priority(source, priority);
    g_source_set_static_name(source, name);
    return source;
}

gboolean gwi_is_main_thread(void) {
    static _Thread_local int answer; // 0: not known yet, 1: yes, 2: no
    if (!answer) answer = syscall(SYS_gettid) == getpid() ? 1 : 2;
    return answer == 1;
}
