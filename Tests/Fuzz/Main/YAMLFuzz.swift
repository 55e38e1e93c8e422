import Glibc
import Layouts

@testable import LayoutFiles
@testable import Settings

/// What reads files of settings, connect options, layouts and keys, in YAML and JSON. The first byte chooses.
func fuzzYAML(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
  let error: String?
  guard choice < 128 else {
    let name = choice % 2 == 0 ? "x.yaml" : "x.key"
    let told = message { _ = try FrameKeyFile.keys(Array(bytes.dropFirst()), file: name) }
    precondition(!(told?.contains("\n") ?? false), "an error has several lines")
    return
  }
  switch choice % 4 {
  case 0: error = message { _ = try LayoutReader.read(text, file: "x", name: "x") }
  case 1: error = message { _ = try TwilioReader.read(text, file: "x") }
  case 2: error = message { _ = try ConnectOptions(json: text, file: "x") }
  default: error = message { _ = try YAMLText.compose(text) }
  }
  if let error, choice % 4 != 3 {
    precondition(!error.contains("\n"), "an error has several lines")
  }
}

private func message(_ work: () throws -> Void) -> String? {
  do {
    try work()
    return nil
  } catch {
    return "\(error)"
  }
}
