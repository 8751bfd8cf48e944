@_exported import CoreFoundationTypes
import Foundation

// https://developer.apple.com/documentation/security/keychain-items

/// https://developer.apple.com/documentation/security/ksecclass
public let kSecClass: CFString = "class"
/// https://developer.apple.com/documentation/security/ksecclassgenericpassword
public let kSecClassGenericPassword: CFString = "genp"
/// https://developer.apple.com/documentation/security/ksecattrservice
public let kSecAttrService: CFString = "svce"
/// https://developer.apple.com/documentation/security/ksecattraccount
public let kSecAttrAccount: CFString = "acct"
/// https://developer.apple.com/documentation/security/ksecattraccessgroup
public let kSecAttrAccessGroup: CFString = "agrp"
/// https://developer.apple.com/documentation/security/ksecattraccessible
public let kSecAttrAccessible: CFString = "pdmn"
/// https://developer.apple.com/documentation/security/ksecattraccessibleafterfirstunlockthisdeviceonly
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
/// https://developer.apple.com/documentation/security/ksecusedataprotectionkeychain (iOS 13, macOS 10.15)
public let kSecUseDataProtectionKeychain: CFString = "nleg"
/// https://developer.apple.com/documentation/security/ksecvaluedata
public let kSecValueData: CFString = "v_Data"
/// https://developer.apple.com/documentation/security/ksecreturndata
public let kSecReturnData: CFString = "r_Data"
/// https://developer.apple.com/documentation/security/ksecmatchlimit
public let kSecMatchLimit: CFString = "m_Limit"
/// https://developer.apple.com/documentation/security/ksecmatchlimitone
public let kSecMatchLimitOne: CFString = "m_LimitOne"

/// https://developer.apple.com/documentation/security/errsecsuccess
public var errSecSuccess: OSStatus { 0 }
/// https://developer.apple.com/documentation/security/errsecitemnotfound
public var errSecItemNotFound: OSStatus { -25300 }
/// https://developer.apple.com/documentation/security/errsecduplicateitem
public var errSecDuplicateItem: OSStatus { -25299 }
/// https://developer.apple.com/documentation/security/errsecinteractionnotallowed
public var errSecInteractionNotAllowed: OSStatus { -25308 }
/// https://developer.apple.com/documentation/security/errsecmissingentitlement
public var errSecMissingEntitlement: OSStatus { -34018 }

/// A Keychain in memory: what the tests see of it.
public enum StubKeychain {
  public nonisolated(unsafe) static var items: [CFDictionary] = []
  /// Every query that came, in order.
  public nonisolated(unsafe) static var queries: [CFDictionary] = []
  /// What every call answers, as while the device is locked.
  public nonisolated(unsafe) static var failure: OSStatus?

  public static func clear() { (items, queries, failure) = ([], [], nil) }

  /// What makes a generic password unique, but for the access group, which a query without one leaves open.
  private static func index(of query: CFDictionary) -> Int? {
    items.firstIndex { item in
      [kSecClass, kSecAttrService, kSecAttrAccount, kSecAttrAccessGroup].allSatisfy { key in
        (query[key] as? String).map { $0 == item[key] as? String } ?? true
      }
    }
  }

  fileprivate static func find(_ query: CFDictionary, _ body: (Int) -> Void) -> OSStatus {
    queries.append(query)
    if let failure { return failure }
    guard let index = index(of: query) else { return errSecItemNotFound }
    body(index)
    return errSecSuccess
  }

  fileprivate static func add(_ item: CFDictionary) -> OSStatus {
    queries.append(item)
    if let failure { return failure }
    guard index(of: item) == nil else { return errSecDuplicateItem }
    items.append(item)
    return errSecSuccess
  }
}

/// https://developer.apple.com/documentation/security/secitemcopymatching(_:_:)
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  StubKeychain.find(query) { index in
    guard query[kSecReturnData] as? Bool == true else { return }
    result?.pointee = StubKeychain.items[index][kSecValueData].map { $0 as AnyObject }
  }
}

/// https://developer.apple.com/documentation/security/secitemadd(_:_:)
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  StubKeychain.add(attributes)
}

/// https://developer.apple.com/documentation/security/secitemupdate(_:_:)
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
  StubKeychain.find(query) { StubKeychain.items[$0].merge(attributesToUpdate) { $1 } }
}

/// https://developer.apple.com/documentation/security/secitemdelete(_:)
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
  StubKeychain.find(query) { StubKeychain.items.remove(at: $0) }
}
