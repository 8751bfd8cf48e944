// What a Swift program with Foundation takes that does nothing.
import Foundation

print(try Memory.peak(), try Memory.own())
