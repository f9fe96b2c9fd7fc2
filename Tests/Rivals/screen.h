// A window with a GtkPicture for each image in a scrolled flow of four columns, all of them mapped before the first request.
#pragma once

#include "rival.h"

#include <fcntl.h>
#include <gtk/gtk.h>
#include <unistd.h>

// The priority lies between those of GTK's layout (110) and drawing (120).
#define SCREEN_PRIORITY 115

// The size of the widgets of images at full size.
#define DEFAULT_WIDTH 256
#define DEFAULT_HEIGHT 192

static GtkWidget *screen_window, **screen_pictures;
static GMainLoop *screen_loop;
static void (*screen_start)(void);
static double turn_start, turn_waiting, turn_longest;
static int is_measuring_turns, schedule_file;

static void screen_show(int index, GdkTexture *texture) {
    gtk_picture_set_paintable(GTK_PICTURE(screen_pictures[index]), GDK_PAINTABLE(texture));
    g_object_unref(texture);
}

static gboolean screen_quit(gpointer unused) {
    g_main_loop_quit(screen_loop);
    return G_SOURCE_REMOVE;
}

// Ends the main loop once the last image is drawn.
static void screen_end(void) {
    g_timeout_add(200, screen_quit, NULL);
}

// The milliseconds for which this thread could run and other threads had the processors.
static double waiting_for_processor(void) {
    char text[64] = "";
    unsigned long long running = 0, waiting = 0;
    if (pread(schedule_file, text, sizeof text - 1, 0) > 0) sscanf(text, "%llu %llu", &running, &waiting);
    return waiting / 1e6;
}

// Measures the turns of the main loop, from the end of a wait for events to the beginning of the next one.
static gint measuring_poll(GPollFD *files, guint count, gint timeout) {
    if (is_measuring_turns) {
        double turn = (seconds() - turn_start) * 1000 - (waiting_for_processor() - turn_waiting);
        if (turn > turn_longest) turn_longest = turn;
    }
    gint result = g_poll(files, count, timeout);
    turn_waiting = waiting_for_processor();
    turn_start = seconds();
    return result;
}

static double screen_longest_turn(void) { return turn_longest; }

static gboolean screen_begin(gpointer unused) {
    for (int index = 0; index < url_count; index++) {
        int width = gtk_widget_get_width(screen_pictures[index]);
        if (width != (box_width ? box_width : DEFAULT_WIDTH)) {
            fprintf(stderr, "widget %d is %d pixels wide\n", index, width);
            exit(1);
        }
    }
    is_measuring_turns = 1;
    turn_start = seconds();
    turn_waiting = waiting_for_processor();
    begin_measuring();
    screen_start();
    return G_SOURCE_REMOVE;
}

// Shows the window, calls `start` once it rests, and returns when the last image is on screen.
static void screen_run(void (*start)(void)) {
    gtk_init();
    schedule_file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    screen_start = start;
    screen_loop = g_main_loop_new(NULL, FALSE);
    screen_pictures = g_new0(GtkWidget *, url_count);
    screen_window = gtk_window_new();
    GtkWidget *scrolled = gtk_scrolled_window_new(), *flow = gtk_flow_box_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_flow_box_set_min_children_per_line(GTK_FLOW_BOX(flow), 4);
    gtk_flow_box_set_max_children_per_line(GTK_FLOW_BOX(flow), 4);
    gtk_flow_box_set_selection_mode(GTK_FLOW_BOX(flow), GTK_SELECTION_NONE);
    gtk_widget_set_valign(flow, GTK_ALIGN_START);
    int width = box_width ? box_width : DEFAULT_WIDTH, height = box_height ? box_height : DEFAULT_HEIGHT;
    // With the size of the image from the beginning, no image asks for a layout.
    GdkPaintable *empty = gdk_paintable_new_empty(width, height);
    for (int index = 0; index < url_count; index++) {
        GtkWidget *picture = screen_pictures[index] = gtk_picture_new_for_paintable(empty);
        gtk_picture_set_can_shrink(GTK_PICTURE(picture), TRUE);
        gtk_widget_set_size_request(picture, width, height);
        gtk_flow_box_insert(GTK_FLOW_BOX(flow), picture, -1);
    }
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), flow);
    gtk_window_set_child(GTK_WINDOW(screen_window), scrolled);
    gtk_window_set_decorated(GTK_WINDOW(screen_window), FALSE);
    int flow_width;
    gtk_widget_measure(flow, GTK_ORIENTATION_HORIZONTAL, -1, &flow_width, NULL, NULL, NULL);
    gtk_window_set_default_size(GTK_WINDOW(screen_window), flow_width, 800);
    gtk_window_present(GTK_WINDOW(screen_window));
    g_main_context_set_poll_func(NULL, measuring_poll);
    g_timeout_add(700, screen_begin, NULL);
    g_main_loop_run(screen_loop);
    is_measuring_turns = 0;
}
