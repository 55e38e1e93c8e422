import Settings

/// A section of the configuration file.
struct SettingSection: Sendable {
  /// What it is called there.
  let name: String
  /// What the file says before it; nil: its name says enough.
  let comment: String?
  /// In the order of the file.
  let settings: [AnySetting]

  init(_ name: String, comment: String? = nil, _ settings: [AnySetting]) {
    self.name = name
    self.comment = comment
    self.settings = settings
  }

  /// All of them, in the order of the file.
  static let all: [SettingSection] = [
    .liveKit, .connection, .recording, .talker, .network, .peer, .roomServer, .log, .data, .backend, .client, .worker,
    .delivery, .webhooks,
  ]
}

extension AnySetting {
  /// Every setting, in the order of the file.
  static let all = SettingSection.all.flatMap(\.settings)

  /// What is known of a setting whatever its values are.
  static func of<Value>(_ setting: Setting<Value>) -> AnySetting { setting.about }
}
