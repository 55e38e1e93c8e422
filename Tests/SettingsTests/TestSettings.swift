@testable import Settings

/// Some settings, as a program declares them.
extension Setting {
  static var url: Setting<String?> {
    .init("livekit.url", "The server", variables: ["RECBOT_URL", "LIVEKIT_URL"], example: "ws://x", parse: Values.text)
  }
  static var layout: Setting<String> { .init("recording.layout", "The layout", default: "grid", parse: Values.text) }
  static var framesPerSecond: Setting<Int> {
    .init("recording.fps", "Pictures a second", default: "30", parse: Values.framesPerSecond)
  }
  static var secret: Setting<String?> {
    .init("worker.secret", "The secret", example: "…", isSecret: true, parse: Values.secret(bytes: 32))
  }
}

extension Configuration {
  static let known = [
    Setting<String?>.url.about, Setting<String>.layout.about, Setting<Int>.framesPerSecond.about,
    Setting<String?>.secret.about,
  ]

  static func load(path: String?, environment: [String: String]) throws(ConfigurationError) -> Configuration {
    try load(path: path, environment: environment, known: known)
  }
}
