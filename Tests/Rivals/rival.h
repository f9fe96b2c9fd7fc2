// What the programs have in common that `Tests/bench rivals` compares the library with. Each loads a list of JPEG files and keeps
// all images, as a list on screen would.
//
//     PROGRAM LIST WIDTH HEIGHT [MODE]      # LIST: a file with one URL per line; WIDTH, HEIGHT: the box in pixels
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// As many transfers at a time as the library has.
#define CONNECTIONS 6

static char **urls;
static int url_count, box_width, box_height;

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void read_arguments(int count, char **arguments) {
    FILE *list = count >= 4 ? fopen(arguments[1], "r") : NULL;
    if (!list) {
        fprintf(stderr, "usage: %s LIST WIDTH HEIGHT [MODE]\n", arguments[0]);
        exit(2);
    }
    box_width = atoi(arguments[2]);
    box_height = atoi(arguments[3]);
    char line[1024];
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = 0;
        urls = realloc(urls, (url_count + 1) * sizeof *urls);
        urls[url_count++] = strdup(line);
    }
    fclose(list);
}

// The line that the benchmark reads.
static void report(double start, double first, double end) {
    // Not getrusage(), which counts what the parent had when it started this program.
    long peak = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &peak);
    if (status) fclose(status);
    printf("wall %.3f s, first 16 %.3f s, peak %ld MB\n", end - start, first - start, peak / 1000);
}
