import MediaCore
import Session

/// Where sound of a recording goes while it is made: to whoever transcribes, analyses or plays it. 16-bit samples, signed,
/// little-endian.
public struct AudioSink: Sendable, Hashable {
  /// Whose sound it is.
  public enum Source: Sendable, Hashable {
    /// All that is recorded, as it is in the file.
    case mixed
    /// One person's, as it was sent: silence when there is none.
    case participant(ParticipantIdentity)
  }

  /// Where it goes.
  public enum Target: Sendable, Hashable {
    /// A Unix socket that the recording makes at this path; several readers may connect, and come back.
    case socket(path: String)
    /// A descriptor that the process was started with: a pipe, usually.
    case descriptor(Int32)
  }

  /// How blocks of 20 ms are put together.
  public enum Framing: String, Sendable, Hashable, CaseIterable {
    /// One sample after the other.
    case raw
    /// A head of 16 bytes before each block: `SinkBlock`.
    case timed
  }

  /// As it was written: names the sink in progress and messages.
  public let text: String
  /// See `Source`.
  public let source: Source
  /// See `Target`.
  public let target: Target
  /// Samples a second of each channel: one of `rates`.
  public private(set) var rate = 48_000
  /// 1 or 2.
  public private(set) var channels = 2
  /// See `Framing`.
  public private(set) var framing = Framing.raw

  /// The rates that 48 kHz is a multiple of.
  public static let rates = [8_000, 16_000, 24_000, 48_000]
  /// More are refused.
  public static let most = 16

  /// Reads `audio:mixed=unix:PATH`, `audio:IDENTITY=fd:N`, each with `,rate=16000`, `,channels=1`, `,framing=timed` behind it.
  /// An identity may hold any character.
  ///
  /// - Throws: one line that says what is wrong and what to write.
  public init(_ text: String) throws(SinkError) {
    self.text = text
    let form =
      "write audio:mixed=unix:PATH or audio:IDENTITY=fd:NUMBER, with ,rate=16000,channels=1,framing=timed if wanted"
    let kind = "audio:"
    guard text.hasPrefix(kind) else { throw SinkError("\(text): \(form)") }
    var whole = text.dropFirst(kind.count)
    var options: [Substring] = []
    while let comma = whole.lastIndex(of: ","), Self.isOption(whole[whole.index(after: comma)...]) {
      options.insert(whole[whole.index(after: comma)...], at: 0)
      whole = whole[..<comma]
    }
    guard let (source, target) = Self.parts(whole), !source.isEmpty else { throw SinkError("\(text): \(form)") }
    self.source = source == "mixed" ? .mixed : .participant(ParticipantIdentity(String(source)))
    self.target = target
    for option in options { try take(option) }
    if case .descriptor(let number) = target, number < 3 {
      throw SinkError("\(text): descriptors 0 to 2 are recbot's own; open another, such as 3>pipe")
    }
  }

  private static func isOption(_ text: Substring) -> Bool {
    ["rate=", "channels=", "framing="].contains { text.hasPrefix($0) }
  }

  /// Whose sound, and where to.
  private static func parts(_ text: Substring) -> (Substring, Target)? {
    // The last that looks like one: an identity may have an equals sign, a path may not begin anew.
    var found: (Substring, Target)?
    for index in text.indices where text[index] == "=" {
      let rest = text[text.index(after: index)...]
      if rest.hasPrefix("unix:"), rest.count > 5 { found = (text[..<index], .socket(path: String(rest.dropFirst(5)))) }
      if rest.hasPrefix("fd:"), let number = Int32(rest.dropFirst(3)), number >= 0 {
        found = (text[..<index], .descriptor(number))
      }
    }
    return found
  }

  private mutating func take(_ option: Substring) throws(SinkError) {
    let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = String(parts[1])
    switch parts[0] {
    case "rate":
      guard let rate = Int(value), Self.rates.contains(rate) else {
        let known = Self.rates.map(String.init).joined(separator: ", ")
        throw SinkError("\(text): the rate is one of \(known)")
      }
      self.rate = rate
    case "channels":
      guard let channels = Int(value), (1...2).contains(channels) else {
        throw SinkError("\(text): there are 1 or 2 channels")
      }
      self.channels = channels
    default:
      guard let framing = Framing(rawValue: value) else { throw SinkError("\(text): framing is raw or timed") }
      self.framing = framing
    }
  }
}

/// Why a sink cannot be had. One line.
public struct SinkError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, and what to do.
  public let description: String
  /// Makes an error from its line.
  public init(_ description: String) { self.description = description }
}

/// How a sink stands; a snapshot.
public struct SinkProgress: Sendable, Hashable {
  /// As it was asked for.
  public var sink: String
  /// Readers that are connected.
  public var readers = 0
  /// Blocks of 20 ms that a reader lacks because it did not read them in time, of all readers.
  public var lostBlocks: UInt64 = 0
  /// Why nothing is given any more, though the recording goes on; nil: all is well.
  public var failure: String?

  /// Nothing yet.
  public init(sink: String) { self.sink = sink }
}
