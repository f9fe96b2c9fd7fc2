import Glibc
import WebImageLinux

// The program of decode workers for apps that install one. It is smaller than an app, so it starts sooner. The library makes a worker of it
// before this runs.

let text = "The library GtkWebImage starts this program, in which it decodes images without rights.\n"
_ = write(STDERR_FILENO, text, text.utf8.count)
exit(2)
