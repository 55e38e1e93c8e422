import Settings

/// The section `livekit`: the room server, and the way in.
///
/// Large: a declaration for each setting, by sections.
extension Setting {
  static var url: Setting<String?> {
    .init(
      "livekit.url", "The room server, ws:// or wss://", flag: "--url", placeholder: "url",
      variables: ["RECBOT_URL", "LIVEKIT_URL"], example: "ws://127.0.0.1:7880",
      parse: Values.url("ws://", "wss://", "http://", "https://"))
  }
  // RECBOT_API_KEY is a caller's key for the backend.
  static var apiKey: Setting<String?> {
    .init(
      "livekit.api-key", "The API key, to make a token", flag: "--api-key", placeholder: "key",
      variables: ["LIVEKIT_API_KEY"], example: "devkey", parse: Values.text)
  }
  static var apiSecret: Setting<String?> {
    .init(
      "livekit.api-secret", "The API secret", flag: "--api-secret", placeholder: "secret",
      variables: ["LIVEKIT_API_SECRET"], example: "…", isSecret: true, parse: Values.text)
  }
  static var token: Setting<String?> {
    .init(
      "livekit.token", "A token for this room, used as it is instead of key and secret", flag: "--token",
      placeholder: "jwt", example: "…", isSecret: true, parse: Values.text)
  }
  static var tlsCA: Setting<String?> {
    .init(
      "livekit.tls-ca", "Certificates (PEM) to trust for wss:// and relays over TLS", flag: "--tls-ca",
      placeholder: "file", otherwise: "the system's", example: "/etc/ssl/private.pem", parse: Values.text)
  }
}

extension SettingSection {
  static var liveKit: SettingSection {
    SettingSection(
      "livekit", [.of(.url), .of(.apiKey), .of(.apiSecret), .of(.token), .of(.tlsCA)])
  }
}
