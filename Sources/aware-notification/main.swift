import CCommandLine
import Foundation

// A standard descriptor that the caller closed would be given to the next file that is opened, and output be written
// into that. Something stands in for it that fails: a null device opened for the other direction.
for (descriptor, flags) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
where fcntl(descriptor, F_GETFD) < 0 {
  _ = open("/dev/null", flags)
}

// A crash must not leave keys and content in a core file, nor on standard error.
command_line_forbid_core_dumps()
command_line_forbid_crash_reports()

// libcurl would make the file, though no connection of this program writes secrets to it.
unsetenv("SSLKEYLOGFILE")

// A write beyond the limit of a file's size then fails, and the failure is reported.
signal(SIGXFSZ, SIG_IGN)

CommandLineTool.configureWaiting()
exit(CommandLineTool.run(CommandLine.arguments))
