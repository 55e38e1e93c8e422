import ArgumentParser
import Settings

/// The API key and secret of a room server, for commands that are used with the embedded one: without any, the
/// development pair `devkey` and `secret` serves.
struct ServerCredentials: ParsableArguments {
  @Option(help: ArgumentHelp("API key (LIVEKIT_API_KEY; default: devkey).", valueName: "key"))
  var apiKey: String?

  @Option(
    help: ArgumentHelp("API secret (LIVEKIT_API_SECRET; for devkey the default is 'secret').", valueName: "secret"))
  var apiSecret: String?

  /// The pair in force, of which nothing may be taken from the development pair. `reason` says why.
  func resolve(_ configuration: Configuration, withoutDefaultBecause reason: String) throws -> (
    key: String, secret: String
  ) {
    let key = configuration.text(.apiKey, flag: apiKey) ?? ""
    let secret = configuration.text(.apiSecret, flag: apiSecret) ?? ""
    if !key.isEmpty, !secret.isEmpty { return (key, secret) }
    let missing = (key.isEmpty ? ["LIVEKIT_API_KEY"] : []) + (secret.isEmpty ? ["LIVEKIT_API_SECRET"] : [])
    throw Failure(.usage, "\(reason): set \(missing.joined(separator: " and "))")
  }

  /// The pair in force. The well-known secret is given out only when `allowsDefault`.
  func resolve(_ configuration: Configuration, allowsDefault: Bool = true) throws -> (key: String, secret: String) {
    let key = configuration.text(.apiKey, flag: apiKey) ?? "devkey"
    if let secret = configuration.text(.apiSecret, flag: apiSecret), !secret.isEmpty { return (key, secret) }
    guard allowsDefault else {
      throw Failure(
        .usage, "a server that others can reach needs a secret: give --api-secret or set LIVEKIT_API_SECRET")
    }
    guard key == "devkey" else {
      throw Failure(.usage, "no secret for the API key '\(key)': give --api-secret or set LIVEKIT_API_SECRET")
    }
    return (key, "secret")
  }
}
