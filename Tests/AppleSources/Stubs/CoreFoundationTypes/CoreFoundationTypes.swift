import Foundation

// Core Foundation's types. There is no bridging on Linux: they are the Swift types that Apple's compiler bridges them to, so
// that a missing `as CFString` does not show here.

/// https://developer.apple.com/documentation/corefoundation/cfstring
public typealias CFString = String
/// https://developer.apple.com/documentation/corefoundation/cfdata
public typealias CFData = Data
/// https://developer.apple.com/documentation/corefoundation/cfdictionary
public typealias CFDictionary = [String: Any]
/// https://developer.apple.com/documentation/corefoundation/cfarray
public typealias CFArray = [AnyObject]
/// https://developer.apple.com/documentation/corefoundation/cftyperef
public typealias CFTypeRef = AnyObject
/// https://developer.apple.com/documentation/corefoundation/cfindex
public typealias CFIndex = Int
/// https://developer.apple.com/documentation/corefoundation/cfallocator
public final class CFAllocator {}

/// https://developer.apple.com/documentation/corefoundation/cferror
public final class CFError: @unchecked Sendable {
  let code: CFIndex
  public init(stubCode: Int32) { code = CFIndex(stubCode) }
}

/// https://developer.apple.com/documentation/corefoundation/cferrorgetcode(_:)
public func CFErrorGetCode(_ err: CFError!) -> CFIndex { err.code }

/// https://developer.apple.com/documentation/kernel/osstatus
public typealias OSStatus = Int32
