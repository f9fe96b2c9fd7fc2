import Foundation
import Glibc
import Synchronization
import TestSupport
import WebImageCore
import WebImageLinux
import WebImageSandbox
import WebImageTesting

// Everything that can go wrong at once, for as long as it is told (Tests/storm): servers that are silent, cut bodies off or never end,
// damaged files, a disk that is full, workers that are killed or stopped, and an app that is stopped as a machine that sleeps stops it.
// It fails when a load does not end, ends twice, shows a wrong image, or blames a healthy one.
//
//     Storm SECONDS CASES CACHE

let arguments = CommandLine.arguments
guard arguments.count == 4, let seconds = Double(arguments[1]) else { fatalError("Usage: Storm SECONDS CASES CACHE") }
signal(SIGPIPE, SIG_IGN)

let storm = try Storm(cases: arguments[2], cache: arguments[3])
storm.run(for: seconds)
exit(storm.report() ? 0 : 1)
