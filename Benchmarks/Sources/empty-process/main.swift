// What a Swift program with Foundation takes that does nothing.
import Foundation

print(ProcessInfo.processInfo.processIdentifier > 0 ? try PeakMemory.kibibytes() : 0)
