import NotificationStore
import RawC

/// Notifications like those that a phone receives, the same in every run but for their record ids.
enum SampleRows {
  private static let apps = ["com.example.mail", "com.example.chat", "org.example.bank", "net.example.news.reader"]
  private static let bodies = [
    "Lunch at half past twelve, the usual place?",
    "Dein Paket wird heute zwischen 14 und 16 Uhr zugestellt. Die Nachbarn nehmen es gern entgegen.",
    "A payment of 48.20 € was made with your card ending in 1234. If this was not you, call us.",
    "明日の会議は十時からです。資料をご確認ください。",
    "Heavy rain expected this evening.",
  ]

  static func make(_ count: Int) -> [NotificationData] {
    (0..<count).map { index in
      var row = NotificationData(timestamp: 1_764_000_000_000 + Int64(index) * 977)
      row.deviceId = "6f0f7a0e-52f5-4c54-9d5e-6d7d0f1c2b3a"
      row.notificationId = "3D0C9A52-7B1E-4F0A-8C33-\(String(index + (1 << 40), radix: 16, uppercase: true))"
      row.title = "Message \(index) from Ada Lovelace"
      row.body = bodies[index % bodies.count]
      row.categoryIdentifier = index % 3 == 0 ? "MESSAGE" : ""
      row.bundleIdentifier = apps[index % apps.count]
      row.sound = index % 2 == 0 ? "default" : ""
      row.badge = index % 12
      row.threadIdentifier = "thread-\(index % 40)"
      row.interruptionLevel = 1
      return row
    }
  }

  /// The same, but every tenth is a push that comes a second time, by way of the extension.
  static func makePushes(_ count: Int) -> [NotificationData] {
    var rows = make(count)
    for index in stride(from: 9, to: count, by: 10) {
      let recordId = rows[index].recordId
      rows[index] = rows[index - 1]
      rows[index].recordId = recordId
      rows[index].source = .extension
    }
    return rows
  }
}

/// The same rows as C has them.
final class RawRows {
  let rows: UnsafeMutableBufferPointer<raw_row>
  private var texts: [UnsafeMutableBufferPointer<CChar>] = []

  init(_ records: [NotificationData]) {
    rows = .allocate(capacity: records.count)
    for (index, record) in records.enumerated() {
      rows.initializeElement(
        at: index,
        to: raw_row(
          timestamp: record.timestamp, device_id: text(record.deviceId), label: text(record.label),
          timezone: Int64(record.timezone), os: text(record.os), json_version: Int64(record.jsonVersion),
          notification_id: text(record.notificationId), title: text(record.title), body: text(record.body),
          category_identifier: text(record.categoryIdentifier), bundle_identifier: text(record.bundleIdentifier),
          sound: text(record.sound), badge: Int64(record.badge), thread_identifier: text(record.threadIdentifier),
          interruption_level: Int64(record.interruptionLevel), record_id: text(record.recordId),
          timezone_offset: Int64(record.timezoneOffset), source: text(record.source.rawValue)))
    }
  }

  deinit {
    rows.deallocate()
    for text in texts { text.deallocate() }
  }

  private func text(_ string: String) -> raw_text {
    let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: string.utf8.count + 1)
    _ = copy.initialize(from: string.utf8CString)
    texts.append(copy)
    return raw_text(bytes: copy.baseAddress, count: Int32(string.utf8.count))
  }
}
