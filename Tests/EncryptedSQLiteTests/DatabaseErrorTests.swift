import EncryptedSQLite
import Foundation
import Testing

@Suite struct DatabaseErrorTests {
  @Test("What an app shows of an error is its message, and a code prints as its name")
  func texts() {
    let error: any Error = DatabaseError(.wrongKey, "the store does not open: check the key", sqliteCode: 26)
    #expect(error.localizedDescription == "the store does not open: check the key")
    #expect("\(DatabaseError.Code.wrongKey)" == "wrongKey")
    #expect("\(error)" == "the store does not open: check the key [wrongKey, SQLite 26]")
  }
}
