@_exported import AppleFoundation

/// https://developer.apple.com/documentation/usernotifications/unnotificationinterruptionlevel (iOS 15, macOS 12)
public enum UNNotificationInterruptionLevel: UInt, Sendable {
  case passive = 0
  case active = 1
  case timeSensitive = 2
  case critical = 3
}

/// https://developer.apple.com/documentation/usernotifications/unnotificationsound
open class UNNotificationSound: NSObject, @unchecked Sendable {
  public static let `default` = UNNotificationSound()
}

/// https://developer.apple.com/documentation/usernotifications/unnotificationattachment
open class UNNotificationAttachment: NSObject {
  public let identifier: String
  public let url: URL

  /// https://developer.apple.com/documentation/usernotifications/unnotificationattachment/init(identifier:url:options:)
  public init(identifier: String, url: URL, options: [AnyHashable: Any]?) throws {
    guard FileManager.default.fileExists(atPath: url.path) else { throw CocoaError(.fileNoSuchFile) }
    (self.identifier, self.url) = (identifier, url)
  }
}

/// https://developer.apple.com/documentation/usernotifications/unnotificationcontent
open class UNNotificationContent: NSObject, NSMutableCopying {
  /// Of everything: what a copy takes along.
  public struct StubValues {
    public var attachments: [UNNotificationAttachment] = []
    public var badge: NSNumber?
    public var body = ""
    public var categoryIdentifier = ""
    public var sound: UNNotificationSound?
    public var subtitle = ""
    public var threadIdentifier = ""
    public var title = ""
    public var userInfo: [AnyHashable: Any] = [:]
    public var interruptionLevel = UNNotificationInterruptionLevel.active
    public init() {}
  }

  public var stub: StubValues
  public init(stub: StubValues = StubValues()) { self.stub = stub }

  open var attachments: [UNNotificationAttachment] { stub.attachments }
  open var badge: NSNumber? { stub.badge }
  open var body: String { stub.body }
  open var categoryIdentifier: String { stub.categoryIdentifier }
  open var sound: UNNotificationSound? { stub.sound }
  open var subtitle: String { stub.subtitle }
  open var threadIdentifier: String { stub.threadIdentifier }
  open var title: String { stub.title }
  open var userInfo: [AnyHashable: Any] { stub.userInfo }
  /// https://developer.apple.com/documentation/usernotifications/unnotificationcontent/interruptionlevel
  /// (iOS 15, macOS 12)
  open var interruptionLevel: UNNotificationInterruptionLevel { stub.interruptionLevel }

  open func mutableCopy(with zone: NSZone? = nil) -> Any { UNMutableNotificationContent(stub: stub) }
  open override func mutableCopy() -> Any { mutableCopy(with: nil) }
}

/// https://developer.apple.com/documentation/usernotifications/unmutablenotificationcontent
open class UNMutableNotificationContent: UNNotificationContent {
  open override var attachments: [UNNotificationAttachment] {
    get { stub.attachments }
    set { stub.attachments = newValue }
  }
  open override var badge: NSNumber? {
    get { stub.badge }
    set { stub.badge = newValue }
  }
  open override var body: String {
    get { stub.body }
    set { stub.body = newValue }
  }
  open override var categoryIdentifier: String {
    get { stub.categoryIdentifier }
    set { stub.categoryIdentifier = newValue }
  }
  open override var subtitle: String {
    get { stub.subtitle }
    set { stub.subtitle = newValue }
  }
  open override var threadIdentifier: String {
    get { stub.threadIdentifier }
    set { stub.threadIdentifier = newValue }
  }
  open override var title: String {
    get { stub.title }
    set { stub.title = newValue }
  }
  open override var userInfo: [AnyHashable: Any] {
    get { stub.userInfo }
    set { stub.userInfo = newValue }
  }
}

/// https://developer.apple.com/documentation/usernotifications/unnotificationrequest
open class UNNotificationRequest: NSObject {
  public let identifier: String
  public let content: UNNotificationContent
  public init(stubIdentifier: String, content: UNNotificationContent) {
    (identifier, self.content) = (stubIdentifier, content)
  }
}

/// https://developer.apple.com/documentation/usernotifications/unnotification
open class UNNotification: NSObject {
  public let request: UNNotificationRequest
  public init(stubRequest: UNNotificationRequest) { request = stubRequest }
}

/// https://developer.apple.com/documentation/usernotifications/unnotificationresponse
open class UNNotificationResponse: NSObject {
  public let notification: UNNotification
  public init(stubNotification: UNNotification) { notification = stubNotification }
}

/// https://developer.apple.com/documentation/usernotifications/unnotificationpresentationoptions
public struct UNNotificationPresentationOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let badge = Self(rawValue: 1 << 0)
  public static let sound = Self(rawValue: 1 << 1)
  /// Deprecated from iOS 14 on.
  public static let alert = Self(rawValue: 1 << 2)
  /// iOS 14, macOS 11.
  public static let banner = Self(rawValue: 1 << 4)
}

/// https://developer.apple.com/documentation/usernotifications/unauthorizationoptions
public struct UNAuthorizationOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let badge = Self(rawValue: 1 << 0)
  public static let sound = Self(rawValue: 1 << 1)
  public static let alert = Self(rawValue: 1 << 2)
}

/// https://developer.apple.com/documentation/usernotifications/unnotificationserviceextension
open class UNNotificationServiceExtension: NSObject {
  public override init() {}
  /// https://developer.apple.com/documentation/usernotifications/unnotificationserviceextension/didreceive(_:withcontenthandler:)
  open func didReceive(
    _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
  ) {}
  /// https://developer.apple.com/documentation/usernotifications/unnotificationserviceextension/serviceextensiontimewillexpire()
  open func serviceExtensionTimeWillExpire() {}
}
