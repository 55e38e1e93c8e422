import FrameEncryption
import MediaCore
import Yams

/// Files with the keys of rooms that are encrypted end to end. A file whose name ends with `.yaml` or `.yml` says all that
/// `FrameKeys` has; any other holds one passphrase in one line, for everybody.
public enum FrameKeyFile {
  /// A larger file is none of ours, bytes.
  public static let maximumBytes = 65_536

  /// Reads what stands in a file. `file` is its name, for errors and to tell the two forms apart. Errors show no key.
  public static func keys(_ bytes: [UInt8], file: String) throws(ConfigurationError) -> FrameKeys {
    let name = PeerText.line(file, limit: 200)
    guard bytes.count <= maximumBytes else { throw fault("\(name): larger than 64 KiB is no file of keys") }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw fault("\(name): the file is not UTF-8; write keys of other bytes as base64:… or hex:… into a .yaml file")
    }
    guard file.hasSuffix(".yaml") || file.hasSuffix(".yml") else {
      var keys = FrameKeys()
      let lines = text.split(omittingEmptySubsequences: true, whereSeparator: \.isNewline)
      guard let line = lines.first else {
        throw fault("\(name): the file is empty; it must hold the room's passphrase")
      }
      guard lines.count == 1 else {
        throw fault(
          "\(name): more than one line; a passphrase has one line, and a file of several keys ends with .yaml")
      }
      keys.shared = [0: try checked(Array(line.utf8), "\(name): the passphrase")]
      return keys
    }
    return try structured(text, name)
  }

  private static let members = ["shared", "participants", "derivation", "salt", "ratchet-window"]

  private static func structured(_ text: String, _ file: String) throws(ConfigurationError) -> FrameKeys {
    let root: Node?
    do {
      root = try YAMLText.compose(text)
    } catch let error as YamlError {
      // What the parser quotes may be a key.
      let place = YAMLText.fault(error, in: "", file: file).split(separator: ":").prefix(3).joined(separator: ":")
      throw fault("\(place): the file is no YAML")
    } catch {
      throw fault("\(file): \(error)")
    }
    guard case .mapping(let mapping)? = root else {
      throw fault("\(file): must say shared: KEY, or participants: and a key for each identity")
    }
    var keys = FrameKeys()
    for (key, value) in mapping {
      let place = "\(file):\(key.mark?.line ?? 1)"
      switch key.string {
      case "shared": keys.shared = try list(value, "\(place): shared")
      case "participants":
        guard case .mapping(let people) = value, people.count <= FrameKeys.mostParticipants else {
          throw fault(
            "\(place): participants must be identities, each with its key: at most \(FrameKeys.mostParticipants)")
        }
        for (identity, own) in people {
          guard let identity = identity.string else { throw fault("\(place): an identity is no text") }
          keys.own[identity] = try list(own, "\(place): the key of '\(PeerText.line(identity, limit: 80))'")
        }
      case "derivation":
        guard let derivation = value.string.flatMap(FrameKeys.Derivation.init(rawValue:)) else {
          throw fault(
            "\(place): derivation must be pbkdf2 (the default: passphrases) or hkdf (keys of bytes in web clients)")
        }
        keys.derivation = derivation
      case "salt": keys.salt = try bytes(of: value, "\(place): salt")
      case "ratchet-window":
        guard let window = value.int, 0...64 ~= window else { throw fault("\(place): ratchet-window must be 0 to 64") }
        keys.ratchetWindow = window
      default:
        let given = key.string ?? "?"
        let hint = Values.suggestion(for: given, among: members).map { "; did you mean '\($0)'?" } ?? ""
        throw fault("\(place): '\(PeerText.line(given, limit: 80))' is not known\(hint)")
      }
    }
    guard !keys.shared.isEmpty || !keys.own.isEmpty else {
      throw fault("\(file): there is no key; say shared: KEY, or participants: and a key for each identity")
    }
    return keys
  }

  /// One key, which has the index 0, or a list of them, by index.
  private static func list(_ node: Node, _ place: String) throws(ConfigurationError) -> [UInt8: [UInt8]] {
    guard case .sequence(let sequence) = node else { return [0: try bytes(of: node, place)] }
    guard 1...256 ~= sequence.count else { throw fault("\(place) must be one key, or a list of 1 to 256") }
    var found: [UInt8: [UInt8]] = [:]
    for (index, node) in sequence.enumerated() { found[UInt8(index)] = try bytes(of: node, place) }
    return found
  }

  private static func bytes(of node: Node, _ place: String) throws(ConfigurationError) -> [UInt8] {
    guard case .scalar(let scalar) = node, !scalar.string.isEmpty else {
      throw fault("\(place) must be a passphrase in quotes, base64:… or hex:…")
    }
    let text = scalar.string
    for (prefix, read) in [("base64:", base64), ("hex:", hexadecimal)] where text.hasPrefix(prefix) {
      guard let bytes = read(String(text.dropFirst(prefix.count))) else {
        throw fault("\(place): what follows \(prefix) is not such text")
      }
      return try checked(bytes, place)
    }
    return try checked(Array(text.utf8), place)
  }

  private static func checked(_ key: [UInt8], _ place: String) throws(ConfigurationError) -> [UInt8] {
    guard 1...FrameKeys.longestKey ~= key.count else {
      throw fault("\(place) must have 1 to \(FrameKeys.longestKey) bytes")
    }
    return key
  }

  private static func base64(_ text: String) -> [UInt8]? { Base64URL.decode(text.utf8) }

  private static func hexadecimal(_ text: String) -> [UInt8]? {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { (place: Int) -> UInt8 in
      UInt8(digits[place] << 4 | digits[place + 1])
    }
  }

  private static func fault(_ text: String) -> ConfigurationError { ConfigurationError(description: text) }
}
