import WebM

/// Examines arbitrary bytes as a WebM file: nothing in them may trap, hang or claim memory, and a report must always
/// have its text and its JSON.
public func fuzzWebM(_ bytes: UnsafeRawBufferPointer) {
  guard let report = try? WebMProbe.probe(bytes, name: "fuzz") else { return }
  precondition(!report.text.isEmpty && !report.json.isEmpty)
}
