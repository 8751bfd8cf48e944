import UIKit
import com_awareframework_ios_sensor_notification

/// Whatever gives the app its key.
func keyFromYourKeychain() -> String { "x'" + String(repeating: "0123456789abcdef", count: 4) + "'" }

/// A file that imports UIKit and the sensor's module sees one type of this name.
let oneType: UIBackgroundFetchResult = UIBackgroundFetchResult.newData
