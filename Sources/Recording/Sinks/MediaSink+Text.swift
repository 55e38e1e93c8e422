import Layouts
import MediaCore

extension MediaSink {
  private static let form =
    "write audio:mixed=unix:PATH, audio:mixed=ws://HOST/PATH or video:IDENTITY=fd:NUMBER, with options such as ,rate=16000 or "
    + ",size=640x360 if wanted"

  /// Reads `audio:mixed=unix:PATH`, `audio:mixed=wss://HOST/PATH` or `video:IDENTITY=fd:N`, with options behind it: `,rate=16000`,
  /// `,channels=1`, `,framing=timed` for sound; `,size=640x360`, `,fps=10`, `,framing=raw` for pictures. An identity may hold any
  /// character.
  ///
  /// - Parameter framesPerSecond: how many pictures a second the recording has.
  /// - Throws: one line that says what is wrong and what to write.
  public init(_ text: String, framesPerSecond: Int) throws(SinkError) {
    let kinds: [(word: String, medium: Medium, options: [String])] = [
      ("audio:", .sound(SoundForm()), ["rate", "channels", "framing"]),
      ("video:", .pictures(PictureForm()), ["size", "fps", "framing"]),
    ]
    guard let kind = kinds.first(where: { text.hasPrefix($0.word) }) else { throw SinkError("\(text): \(Self.form)") }
    var whole = text.dropFirst(kind.word.count)
    var options: [Substring] = []
    while let comma = whole.lastIndex(of: ","), case let option = whole[whole.index(after: comma)...],
      kind.options.contains(where: { option.hasPrefix($0 + "=") })
    {
      options.insert(option, at: 0)
      whole = whole[..<comma]
    }
    guard let (source, target) = Self.parts(whole), !source.isEmpty else { throw SinkError("\(text): \(Self.form)") }
    if case .descriptor(let number) = target, number < 3 {
      throw SinkError("\(text): descriptors 0 to 2 are recbot's own; open another, such as 3>pipe")
    }
    self.source = source == "mixed" ? .mixed : .participant(ParticipantIdentity(String(source)))
    self.target = target
    medium = kind.medium
    if case .webSocket(let url) = target {
      self.text = text.replacing(url, with: Self.shown(url))
      // Each message is a picture.
      if case .pictures = medium { medium = .pictures(PictureForm(framing: .raw)) }
    } else {
      self.text = text
    }
    for option in options {
      let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      try take(parts[0], String(parts[1]), framesPerSecond)
    }
  }

  /// Whose it is, and where to.
  private static func parts(_ text: Substring) -> (Substring, Target)? {
    // The last that looks like one: an identity may have an equals sign, a path may not begin anew.
    var found: (Substring, Target)?
    for index in text.indices where text[index] == "=" {
      let rest = text[text.index(after: index)...]
      if rest.hasPrefix("unix:"), rest.count > 5 { found = (text[..<index], .socket(path: String(rest.dropFirst(5)))) }
      if rest.hasPrefix("fd:"), let number = Int32(rest.dropFirst(3)), number >= 0 {
        found = (text[..<index], .descriptor(number))
      }
      // The first of these: a URL may have an equals sign, too.
      if rest.hasPrefix("ws://") || rest.hasPrefix("wss://") { return (text[..<index], .webSocket(url: String(rest))) }
    }
    return found
  }

  private mutating func take(_ name: Substring, _ value: String, _ framesPerSecond: Int) throws(SinkError) {
    switch medium {
    case .sound(var form):
      try take(name, value, into: &form)
      medium = .sound(form)
    case .pictures(var form):
      try take(name, value, framesPerSecond, into: &form)
      medium = .pictures(form)
    }
  }

  private func take(_ name: Substring, _ value: String, into form: inout SoundForm) throws(SinkError) {
    switch name {
    case "rate":
      guard let rate = Int(value), SoundForm.rates.contains(rate) else {
        throw SinkError("\(text): the rate is one of \(Self.list(SoundForm.rates))")
      }
      form.rate = rate
    case "channels":
      guard let channels = Int(value), (1...2).contains(channels) else {
        throw SinkError("\(text): there are 1 or 2 channels")
      }
      form.channels = channels
    default:
      guard value == "raw" || value == "timed" else { throw SinkError("\(text): the framing of sound is raw or timed") }
      form.isTimed = value == "timed"
    }
  }

  private func take(
    _ name: Substring, _ value: String, _ framesPerSecond: Int, into form: inout PictureForm
  ) throws(SinkError) {
    switch name {
    case "size":
      guard let size = CanvasSize(text: value), size.width * size.height <= 3840 * 2160 else {
        throw SinkError("\(text): a size is WIDTHxHEIGHT, even numbers of 64 to 4096, at most 3840x2160 in all")
      }
      form.size = size
    case "fps":
      let possible = (1...max(1, framesPerSecond)).reversed().filter { framesPerSecond % $0 == 0 }
      guard let wanted = Int(value), possible.contains(wanted) else {
        throw SinkError(
          "\(text): the recording has \(framesPerSecond) pictures a second, so fps is one of \(Self.list(possible))")
      }
      form.interval = framesPerSecond / wanted
    default:
      guard let framing = PictureForm.Framing(rawValue: value), framing != .y4m || !isDialled else {
        throw SinkError("\(text): the framing of pictures is \(isDialled ? "" : "y4m, ")raw or timed")
      }
      form.framing = framing
    }
  }

  private static func list(_ numbers: [Int]) -> String { numbers.map(String.init).joined(separator: ", ") }
}
