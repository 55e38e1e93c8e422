import Foundation

extension S3Credentials.Source {
  /// The credentials as they are now. Reads a file: on a thread that may block. Throws `.credentials`.
  func load() throws(DeliveryError) -> S3Credentials {
    switch self {
    case .fixed(let credentials): return credentials
    case .file(let path, let profile):
      guard let data = FileManager.default.contents(atPath: path), data.count <= 1 << 20 else {
        throw DeliveryError(.credentials, "credentials file \(path) cannot be read; check its name and rights")
      }
      return try S3Credentials.read(String(decoding: data, as: UTF8.self), profile: profile, path: path)
    }
  }
}

extension S3Credentials {
  /// Reads an AWS credentials file: sections in brackets, `name = value`, comments behind `#` or `;` at a line's start.
  static func read(_ text: String, profile: String, path: String) throws(DeliveryError) -> S3Credentials {
    var section = ""
    var values: [String: String] = [:]
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("["), line.hasSuffix("]") {
        section = line.dropFirst().dropLast().trimmingCharacters(in: .whitespaces)
      } else if section == profile || section == "profile \(profile)", let equals = line.firstIndex(of: "=") {
        let name = line[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
        values[name] = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
      }
    }
    guard let id = values["aws_access_key_id"], let key = values["aws_secret_access_key"], !id.isEmpty, !key.isEmpty
    else {
      throw DeliveryError(
        .credentials, "\(path): profile [\(profile)] lacks aws_access_key_id or aws_secret_access_key")
    }
    return S3Credentials(accessKeyID: id, secretAccessKey: key, sessionToken: values["aws_session_token"])
  }
}
