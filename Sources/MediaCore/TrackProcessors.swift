/// What is done to somebody's pictures before anybody sees them. The raw values are the words of flags, files and commands.
public enum VideoProcessor: String, Sendable, Hashable, CaseIterable {
  /// Blocks of one colour each, twelve along the longer side.
  case pixelate
  /// The same, run into each other.
  case blur
  /// No colours.
  case grayscale
  /// No picture: a card says that it is hidden.
  case mask
}

/// What is done to somebody's sound before anybody hears it. The raw values are the words of flags, files and commands.
public enum AudioProcessor: String, Sendable, Hashable, CaseIterable {
  /// The words in a voice that is nobody's: always of the same pitch.
  case voiceMask = "voice-mask"
  /// Silence.
  case silence
  /// Brought to the loudness of everybody else, -16 LUFS.
  case loudness
  /// Less of what goes on behind the voice, such as a fan or a road.
  case denoise
}

/// What is done to all that somebody publishes: at most one thing to the pictures, and one to the sound.
public struct TrackProcessors: Hashable, Sendable, CustomStringConvertible {
  /// The word for nothing.
  public static let noneWord = "none"
  /// All words that `init(words:)` knows.
  public static let known =
    VideoProcessor.allCases.map(\.rawValue) + AudioProcessor.allCases.map(\.rawValue) + [noneWord]

  /// Of the pictures, of cameras and of screens; nil: nothing.
  public var video: VideoProcessor?
  /// Of the sound, of microphones and of screens; nil: nothing.
  public var audio: AudioProcessor?

  /// Makes processors; see the properties.
  public init(video: VideoProcessor? = nil, audio: AudioProcessor? = nil) {
    self.video = video
    self.audio = audio
  }

  /// Why words are no processors.
  public enum WordError: Error, Hashable, Sendable {
    /// There is no such processor.
    case unknown(String)
    /// Two of pictures, or two of sound: the first and the second.
    case both(String, String)
    /// There is no word, or `none` beside others.
    case none
  }

  /// Reads a list of words, such as `pixelate` and `voice-mask`; `none` alone stands for nothing.
  public init(words: [String]) throws(WordError) {
    guard !words.isEmpty else { throw .none }
    for word in words {
      if let found = VideoProcessor(rawValue: word) {
        if let video, video != found { throw .both(video.rawValue, word) }
        video = found
      } else if let found = AudioProcessor(rawValue: word) {
        if let audio, audio != found { throw .both(audio.rawValue, word) }
        audio = found
      } else if word != Self.noneWord {
        throw .unknown(word)
      } else if words.count > 1 {
        throw .none
      }
    }
  }

  /// True when nothing is done.
  public var isEmpty: Bool { video == nil && audio == nil }

  /// The words for it; an empty list when nothing is done.
  public var list: [String] { [video?.rawValue, audio?.rawValue].compactMap { $0 } }

  /// The words for it, as `init(words:)` reads them: `none` where nothing is done.
  public var words: [String] { isEmpty ? [Self.noneWord] : list }

  /// `pixelate,voice-mask`, or `none`.
  public var description: String { words.joined(separator: ",") }
}
