import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Deletion by age") struct ExpiryReport {
    private let bench = Bench()

    /// Opens the store by the sensor an hour later, and closes it once `isDone`.
    private func open(until isDone: () throws -> Bool) throws {
      try execute("DELETE FROM store_property WHERE name = 'lastExpiry'")
      bench.sensor.start()
      bench.settle()
      let limit = Date() + 30
      while try !isDone(), Date() < limit { usleep(2000) }
      bench.sensor.stop()
      bench.settle()
    }

    private func execute(_ sql: String) throws {
      let connection = try Connection.open(bench.path, key: Keys.raw)
      defer { try? connection.close() }
      try connection.execute(sql)
    }

    private func hasBegun() throws -> Bool {
      let connection = try Connection.open(bench.path, key: Keys.raw, options: .init(access: .readOnly))
      defer { try? connection.close() }
      return try connection.integer("SELECT count(*) FROM store_property WHERE name = 'lastExpiry'") == 1
    }

    @Test("What stands in its way is reported once, and again after it was gone; records are stored all the same")
    func onceForEachCause() throws {
      _ = bench.push(["n": 1])
      bench.sensor.stop()
      bench.settle()
      try execute("UPDATE ios_silent_push SET timestamp = 1; UPDATE upload_ledger SET sentThroughId = 1")
      bench.config.maximumAge = 60
      let errors = bench.observer.errors
      let damage = "ALTER TABLE upload_quarantine RENAME TO other"
      let repair = "ALTER TABLE other RENAME TO upload_quarantine"
      try execute(damage)
      try open { errors.snapshot.count == 1 }
      try open { try hasBegun() }
      #expect(bench.push(["n": 2]) == .newData)
      try execute(repair)
      let store = { try NotificationStore(.init(path: bench.path, key: Keys.raw, access: .readOnly)) }
      try open { try store().silentPushes.count() == 1 }
      #expect(try store().silentPushes.page(limit: 9).map(\.id) == [2])
      try execute("UPDATE ios_silent_push SET timestamp = 1; UPDATE upload_ledger SET sentThroughId = 2")
      try execute(damage)
      try open { errors.snapshot.count == 2 }
      // Callbacks come in order: one of the second opening would be here.
      #expect(errors.snapshot.map(\.code) == [.database, .database])
    }
  }
}
