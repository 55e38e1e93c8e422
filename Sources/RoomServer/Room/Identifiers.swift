/// Names of rooms, participants and tracks as LiveKit's SDKs demand them: a prefix and twelve random characters.
enum SID {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789")

  /// `RM_…`
  static func room(using random: inout some RandomNumberGenerator) -> String { "RM_" + suffix(&random) }
  /// `PA_…`
  static func participant(using random: inout some RandomNumberGenerator) -> String { "PA_" + suffix(&random) }
  /// `TR_…`.
  static func track(using random: inout some RandomNumberGenerator) -> String { "TR_" + suffix(&random) }

  /// `EV_…`, of a webhook's event.
  static func event(using random: inout some RandomNumberGenerator) -> String { "EV_" + suffix(&random) }

  private static func suffix(_ random: inout some RandomNumberGenerator) -> String {
    String((0..<12).map { _ in alphabet.randomElement(using: &random) ?? "A" })
  }
}
