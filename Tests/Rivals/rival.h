// What the programs have in common that the benchmarks compare the library with. Each loads a list of images and keeps them all, as
// a list on screen would. Compiled with -DSCREEN, a program shows the images in a window (screen.h).
//
//     PROGRAM LIST WIDTH HEIGHT [MODE]      # LIST: a file with one URL per line; WIDTH, HEIGHT: the box in pixels, 0: full size
//
// A program trusts the certificate authority in the file that the environment variable RIVAL_AUTHORITY names.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

// A number of /proc/self/status in megabytes. Not that of getrusage(), which counts what the parent had when it started this program.
static double status_megabytes(const char *name) {
    char line[256], text[64];
    long kilobytes = 0;
    snprintf(text, sizeof text, "%s: %%ld", name);
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, text, &kilobytes);
    if (status) fclose(status);
    return kilobytes / 1024.0;
}

// What the library's figure counts, too: without the pages of files, which the kernel can drop.
static double memory_megabytes(void) { return status_megabytes("RssAnon") + status_megabytes("RssShmem"); }

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

// What is measured, from just before the first request until the last image is there.
static struct {
    double start, cpu, memory, resident;
    double first, end, end_cpu;
    int first_count, count;
} measured;

static void begin_measuring(void) {
    measured.memory = memory_megabytes();
    measured.resident = status_megabytes("VmRSS");
    measured.cpu = cpu_seconds();
    measured.start = seconds();
}

// Counts an image. Only one thread at a time may call this.
static int is_last_image(int index) {
    int first = url_count < 16 ? url_count : 16;
    if (index < first && ++measured.first_count == first) measured.first = seconds();
    if (++measured.count < url_count) return 0;
    measured.end = seconds();
    measured.end_cpu = cpu_seconds();
    return 1;
}

// Prints the line that the benchmark reads.
// `turn` is the longest turn of the main loop in milliseconds; 0 without one.
static void report(double turn) {
    double peak = status_megabytes("VmHWM");
    printf("wall %.4f s, CPU %.4f s, first 16 %.4f s, turn %.2f ms, memory %.1f MB, peak above start %.1f MB, peak %.1f MB\n",
           measured.end - measured.start, measured.end_cpu - measured.cpu, measured.first - measured.start, turn,
           memory_megabytes() - measured.memory, peak - measured.resident, peak);
}
