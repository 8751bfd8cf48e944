import EncryptedSQLite
import Foundation
import Testing

@testable import com_awareframework_ios_sensor_notification

/// Stands for the notification center, which does not keep its delegate.
private final class Center: DelegateHolder {
  weak var heldDelegate: AnyObject?

  /// A notification comes.
  ///
  /// - Returns: whether somebody took it, nil when there is no delegate.
  func deliver(_ identifier: String = "push") -> Bool? {
    (heldDelegate as? any Listener)?.receive(identifier)
  }
}

/// What delegates have in common here.
private protocol Listener: AnyObject {
  /// - Returns: nil when it does not implement the call.
  func receive(_ identifier: String) -> Bool?
}

/// An app's delegate.
private final class App: Listener {
  let received = Locked<[String]>([])
  var implements = true

  func receive(_ identifier: String) -> Bool? {
    guard implements else { return nil }
    received.withLock { $0.append(identifier) }
    return true
  }
}

/// Another library's, which passes on what it gets to the one before, and does not keep that.
private final class Foreign: Listener {
  weak var before: AnyObject?
  init(before: AnyObject?) { self.before = before }
  func receive(_ identifier: String) -> Bool? { (before as? any Listener)?.receive(identifier) }
}

/// A sensor's.
private final class Proxy: Listener, LinkedDelegate {
  let link: DelegateLink
  init(_ link: DelegateLink) { self.link = link }

  func receive(_ identifier: String) -> Bool? {
    var isTaken = false
    var isOther = false
    link.take(ReceivedNotification(identifier: identifier)) { next in
      isTaken = (next as? any Listener)?.receive(identifier) ?? false
      return isTaken ? () : nil
    } otherwise: {
      isOther = true
    }
    return isTaken != isOther ? isTaken : nil
  }
}

private final class Sensor {
  let received = Locked<[String]>([])
  let place = DelegatePlace()

  func start(_ center: Center) {
    let received = received
    place.install(in: center, { notification in received.withLock { $0.append(notification.identifier) } }) {
      Proxy($0)
    }
  }
}

extension SensorTests {
  @Suite("The line of delegates") struct DelegateChain {
    private let center = Center()
    private let app = App()

    init() { center.heldDelegate = app }

    @Test("The sensor sees what comes, and the app's delegate gets it; stopping restores that one")
    func oneSensor() {
      let sensor = Sensor()
      sensor.start(center)
      #expect(center.deliver("1") == true)
      sensor.place.remove()
      #expect(center.heldDelegate === app)
      #expect(center.deliver("2") == true)
      #expect(sensor.received.snapshot == ["1"])
      #expect(app.received.snapshot == ["1", "2"])
    }

    @Test("Starting twice sees each notification once; starting again works") func startingTwice() {
      let sensor = Sensor()
      sensor.start(center)
      sensor.start(center)
      _ = center.deliver("1")
      sensor.place.remove()
      sensor.place.remove()
      sensor.start(center)
      _ = center.deliver("2")
      #expect(sensor.received.snapshot == ["1", "2"])
      #expect(app.received.snapshot == ["1", "2"])
    }

    @Test("Where no delegate takes the call, the sensor's own answer is given") func nobody() {
      let sensor = Sensor()
      sensor.start(center)
      app.implements = false
      #expect(center.deliver("1") == false)
      sensor.place.remove()
      center.heldDelegate = nil
      sensor.start(center)
      #expect(center.deliver("2") == false)
      #expect(sensor.received.snapshot == ["1", "2"])
      sensor.place.remove()
      #expect(center.heldDelegate == nil)
    }

    @Test("The app's delegate is not kept") func notKept() {
      var delegate: App? = App()
      center.heldDelegate = delegate
      weak let released = delegate
      let sensor = Sensor()
      sensor.start(center)
      delegate = nil
      #expect(released == nil)
      #expect(center.deliver() == false)
    }

    @Test("Of two sensors each sees everything, in whatever order they stop", arguments: [true, false])
    func twoSensors(_ firstStopsFirst: Bool) {
      let sensors = [Sensor(), Sensor()]
      for sensor in sensors { sensor.start(center) }
      #expect(center.deliver("1") == true)
      let order = firstStopsFirst ? sensors : sensors.reversed()
      order[0].place.remove()
      #expect(center.deliver("2") == true)
      order[1].place.remove()
      #expect(center.heldDelegate === app)
      #expect(order[0].received.snapshot == ["1"])
      #expect(order[1].received.snapshot == ["1", "2"])
      #expect(app.received.snapshot == ["1", "2"])
    }

    @Test("A sensor that is gone neither breaks the line nor comes back as the delegate") func goneSensor() {
      var first: Sensor? = Sensor()
      first?.start(center)
      let second = Sensor()
      second.start(center)
      first = nil
      #expect(center.deliver("1") == true)
      second.place.remove()
      #expect(center.heldDelegate === app)
      #expect(center.deliver("2") == true)
      #expect(app.received.snapshot == ["1", "2"])
    }

    @Test("A delegate that was put in front meanwhile stays, and still reaches the app's", arguments: [true, false])
    func foreignInFront(_ sensorIsGone: Bool) {
      var sensor: Sensor? = Sensor()
      let received = sensor?.received
      sensor?.start(center)
      let foreign = Foreign(before: center.heldDelegate)
      center.heldDelegate = foreign
      #expect(center.deliver("1") == true)
      if sensorIsGone { sensor = nil } else { sensor?.place.remove() }
      #expect(center.heldDelegate === foreign)
      #expect(center.deliver("2") == true)
      #expect(received?.snapshot == ["1"])
      #expect(app.received.snapshot == ["1", "2"])
    }

    @Test("Starting again in front of such a delegate sees each notification once") func againInFront() {
      let sensor = Sensor()
      sensor.start(center)
      let foreign = Foreign(before: center.heldDelegate)
      center.heldDelegate = foreign
      sensor.place.remove()
      sensor.start(center)
      #expect(center.deliver("1") == true)
      #expect(sensor.received.snapshot == ["1"])
      #expect(app.received.snapshot == ["1"])
      sensor.place.remove()
      #expect(center.heldDelegate === foreign)
    }
  }
}
