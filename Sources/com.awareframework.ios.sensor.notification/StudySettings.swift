import NotificationSync

/// What a sensor's and an upload's configuration both say of the study's server.
struct StudySettings {
  var serverType = ServerType.aware_micro
  var studyNumber = 1
  var studyKey = ""

  /// Takes over what `dictionary` holds, by either spelling of a name.
  mutating func read(_ dictionary: ConfigDictionary) {
    dictionary.read("serverType", into: &serverType)
    dictionary.read("study_number", into: &studyNumber)
    dictionary.read("studyNumber", into: &studyNumber)
    dictionary.read("study_key", into: &studyKey)
    dictionary.read("studyKey", into: &studyKey)
  }

  /// What printing and mirrors show, in order.
  var shown: [(label: String, value: Any)] {
    [("serverType", serverType), ("studyNumber", studyNumber), ("studyKey", Redacted(studyKey))]
  }
}
