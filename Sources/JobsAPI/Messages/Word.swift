import MediaCore

/// One of some words that callers write. A word that is none of them is refused with those that are.
public protocol Word: RawRepresentable, CaseIterable, Codable where RawValue == String {
  /// What the words are, for errors.
  static var what: String { get }
}

extension Word {
  /// All words, as they are written in JSON.
  public static var words: [String] { allCases.map(\.rawValue) }

  /// Reads a word; throws `DecodingError` with the nearest one, or all.
  public init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let word = Self(rawValue: text) else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "there is no \(Self.what) '\(PeerText.line(text, limit: 60))'"
            + Spelling.hint(for: text, among: Self.words)))
    }
    self = word
  }
}
