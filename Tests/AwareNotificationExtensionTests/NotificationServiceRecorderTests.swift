import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing
import com_awareframework_ios_sensor_notification

@testable import AwareNotificationExtension

@Suite("The service extension's recorder") struct NotificationServiceRecorderTests {
  @Test("A push is a row of the store, and its content goes on as it came, once") func records() throws {
    let bench = try ServiceBench { $0.label = "study" }
    #expect(bench.deliver())
    #expect(bench.handed.snapshot == [ServiceBench.push().content])
    let row = try #require(try bench.stored { try $0.notifications.page(limit: 2) }.first)
    #expect(row.notificationId == "push-1" && row.title == "Ada" && row.body == "body 1" && row.source == .extension)
    #expect(row.badge == 3 && row.sound == "default" && row.categoryIdentifier == "cat" && row.label == "study")
    #expect(row.threadIdentifier == "thread" && row.interruptionLevel == 2 && !row.recordId.isEmpty)
    #expect(bench.errors.snapshot.isEmpty && bench.spooled == 0)
    #expect(bench.folder.names == ["store.sqlite"])
  }

  @Test("The app's delivery of the same push makes no second row, before or after") func merges() throws {
    let bench = try ServiceBench()
    func deliverToApp(_ number: Int) throws {
      let push = ServiceBench.push(number)
      let received = ReceivedNotification(
        identifier: push.identifier, title: push.content.title, body: push.content.body, categoryIdentifier: "cat",
        threadIdentifier: "thread", hasSound: true, badge: 3, interruptionLevel: 2)
      _ = try bench.stored { try $0.record(PushRecords(notification: received.record(label: ""))) }
    }
    #expect(bench.deliver(ServiceBench.push(1)))
    try deliverToApp(1)
    try deliverToApp(2)
    #expect(bench.deliver(ServiceBench.push(2)))
    #expect(try bench.identifiers == ["push-1", "push-2"])
  }

  @Test("A transform changes what is shown, and the record is of what was delivered") func transforms() throws {
    let picture = URL(fileURLWithPath: "/tmp/picture")
    let bench = try ServiceBench(transform: { content, _ in
      var content = content
      content.title = "[\(content.title)]"
      content.attachments.append(.init(identifier: content.userInfo["image"] as? String ?? "", url: picture))
      return content
    })
    #expect(bench.deliver())
    let shown = try #require(bench.handed.snapshot.first)
    #expect(shown.title == "[Ada]" && shown.attachments == [.init(identifier: "x.png", url: picture)])
    #expect(shown.body == "body 1" && shown.badge == 3 && shown.payload == ServiceBench.push().content.payload)
    #expect(try bench.stored { try $0.notifications.page(limit: 1).first?.title } == "Ada")
  }

  @Test("The app's delivery of a content that the extension changed makes no second row, at once or from the spool")
  func changedContent() throws {
    let bench = try ServiceBench()
    let push = ServiceBench.push()
    #expect(bench.deliver(push))
    var changed = ReceivedNotification(identifier: push.identifier, title: "changed")
    changed.contentDigest = push.contentDigest
    let record = changed.record(label: "")
    #expect(try bench.stored { try $0.record(PushRecords(notification: record)).isMerged })
    #expect(try NotificationSpool(besideStore: bench.path).append([[.notification(record)]], key: Keys.raw) == 1)
    #expect(try bench.stored { ($0.spool.taken, try $0.notifications.page(limit: 9).map(\.title)) } == (1, ["Ada"]))
    changed.contentDigest = "no digest"
    #expect(try bench.stored { try !$0.record(PushRecords(notification: changed.record(label: ""))).isMerged })
  }

  @Test("A transform that throws leaves the content as it came") func throwing() throws {
    struct Failure: Error {}
    let bench = try ServiceBench(transform: { _, _ in throw Failure() })
    #expect(bench.deliver())
    #expect(bench.handed.snapshot == [ServiceBench.push().content])
    #expect(bench.errors.snapshot.map(\.code) == [.transformFailed])
    #expect(try bench.identifiers == ["push-1"])
  }

  @Test("A transform that never returns costs the budget and no more, also when the system is as patient")
  func endless() throws {
    let bench = try ServiceBench(
      budget: 0.5,
      transform: { content, _ in
        try await withCheckedThrowingContinuation { (_: CheckedContinuation<Void, any Error>) in }
        return content
      })
    #expect(bench.deliver(within: 10))
    #expect(bench.handed.snapshot == [ServiceBench.push().content])
    #expect(try bench.eventually { try bench.identifiers == ["push-1"] })
  }

  @Test("Without a store nothing is made, and the push waits sealed for the app's first opening") func absent() throws {
    let bench = try ServiceBench(hasStore: false)
    #expect(bench.deliver())
    #expect(bench.folder.names == ["store.sqlite.spool"])
    #expect(bench.errors.snapshot.isEmpty && bench.handed.snapshot.count == 1)
    #expect(try bench.identifiers == ["push-1"])
  }

  @Test("A spool in the form of an earlier version keeps no push, which is reported, and stays as it is")
  func oldForm() throws {
    let bench = try ServiceBench(hasStore: false)
    let text = "AWSPOOL1 and so on"
    _ = bench.folder.write("store.sqlite.spool", text)
    #expect(bench.deliver())
    #expect(bench.handed.snapshot.count == 1)
    let error = try #require(bench.errors.snapshot.first)
    #expect(
      error.code == .notFound && error.message.contains("not recorded") && error.message.contains("earlier version"))
    #expect(try String(contentsOfFile: bench.path + ".spool", encoding: .utf8) == text)
  }

  @Test("A store that is locked for longer than it waits gets the push at its next opening") func locked() throws {
    let bench = try ServiceBench()
    let other = try Connection.open(bench.path, key: try Keys.raw)
    try other.execute("BEGIN IMMEDIATE")
    #expect(bench.deliver())
    #expect(bench.spooled == 1 && bench.handed.snapshot.count == 1)
    try other.execute("ROLLBACK")
    try other.close()
    #expect(try bench.identifiers == ["push-1"])
    #expect(bench.errors.snapshot.isEmpty)
  }

  @Test("With the wrong key, or a damaged store, the push is sealed under the key given, and the fault is told")
  func wrongKeyAndDamage() throws {
    let wrong = try ServiceBench(key: "x'\(String(repeating: "ab", count: 32))'")
    #expect(wrong.deliver())
    #expect(wrong.errors.snapshot.map(\.code) == [.wrongKey] && wrong.handed.snapshot.count == 1)
    #expect(wrong.spooled == 1)
    let damaged = try ServiceBench()
    let size = FileSystem.size(damaged.path)
    for offset in stride(from: size / 2, to: size, by: 512) { try Damage.flipBit(damaged.path, at: offset) }
    #expect(damaged.deliver())
    #expect(damaged.handed.snapshot.count == 1 && damaged.spooled == 1)
    #expect(damaged.errors.snapshot.map(\.code) == [.corrupt])
  }

  @Test("With a passphrase nothing waits beside a store that is shut, and that is told") func passphrase() throws {
    let bench = try ServiceBench(key: "correct horse", hasStore: false)
    #expect(bench.deliver())
    #expect(bench.handed.snapshot.count == 1 && bench.folder.names == [])
    let error = try #require(bench.errors.snapshot.first)
    #expect(error.code == .notFound && error.message.contains("not recorded"))
    #expect(!error.message.contains("correct horse"))
  }

  @Test("Settings that cannot be, an unknown app group, no database: the content goes on") func settings() throws {
    for change in [
      { $0.dbEncryptionKey = nil }, { $0.appGroupIdentifier = "group.org.example.absent" },
      { $0.dbType = DatabaseType.none }, { $0.dbEncryptionKey = "x'12'" },
    ] as [(NotificationSensor.Config) -> Void] {
      let bench = try ServiceBench(hasStore: false, configure: change)
      #expect(bench.deliver())
      #expect(bench.handed.snapshot.count == 1 && bench.errors.snapshot.count == 1 && bench.folder.names == [])
    }
  }

  @Test("An old store is not migrated here, and the push waits for who does that") func old() throws {
    let bench = try ServiceBench(hasStore: false)
    let v1 = SchemaMigrator([SchemaMigrator().migrations[0]])
    _ = try NotificationStore.create(bench.path, key: try Keys.raw, migrator: v1)
    #expect(bench.deliver())
    #expect(bench.spooled == 1)
    let version = try Connection.open(bench.path, key: try Keys.raw, options: .init(access: .readOnly)).integer(
      "PRAGMA user_version")
    #expect(version == 1)
    #expect(try bench.identifiers == ["push-1"])
  }

  @Test("Told that time is up, twice and at every step, it hands each content on once", arguments: 0..<12)
  func expiry(_ step: Int) throws {
    let bench = try ServiceBench(transform: { content, _ in
      usleep(3000)
      return content
    })
    bench.begin(ServiceBench.push(1))
    bench.begin(ServiceBench.push(2))
    usleep(UInt32(step * 1000))
    bench.recorder.serviceExtensionTimeWillExpire()
    bench.recorder.serviceExtensionTimeWillExpire()
    #expect(bench.handed.snapshot.count == 2)
    #expect(try bench.eventually { try Set(bench.identifiers) == ["push-1", "push-2"] })
    #expect(bench.handed.snapshot.count == 2)
  }

  @Test("Many pushes at once are a row each") func many() throws {
    let bench = try ServiceBench()
    for number in 1...60 { bench.begin(ServiceBench.push(number)) }
    for _ in 1...60 { #expect(bench.wait()) }
    #expect(bench.handed.snapshot.count == 60)
    #expect(try Set(bench.identifiers).count == 60)
  }

  @Test("The record's bundle is the app's, which the extension's begins with")
  func bundle() {
    func identifier(_ bundle: String, _ path: String, _ app: String? = nil) -> String {
      AppBundle.identifier(of: bundle, at: path) { $0 == "/x/App.app" ? app : nil }
    }
    let path = "/x/App.app/PlugIns/Service.appex"
    #expect(identifier("org.example.app.ext.Service", path, "org.example.app") == "org.example.app")
    #expect(identifier("org.example.app.Service", path) == "org.example.app")
    #expect(identifier("org.example.app", "/x/App.app") == "org.example.app")
    #expect(identifier("", path) == "")
  }
}
