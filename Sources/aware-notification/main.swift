import CCommandLine
import Foundation

// A crash must not leave keys and content in a core file.
var none = rlimit(rlim_cur: 0, rlim_max: 0)
setrlimit(__rlimit_resource_t(UInt32(RLIMIT_CORE.rawValue)), &none)

exit(CommandLineTool.run(CommandLine.arguments))
