import MediaCore
import Testing

@testable import WebM

/// The file's bytes, one by one. Each line is an element or the head of one, as in RFC 8794 and RFC 9559; runs of zeros
/// are counted.
@Suite struct GoldenTests {
  let directory = TemporaryDirectory()

  private func record(_ path: String) throws -> WebMWriter {
    let writer = try WebMWriter(
      path: path,
      configuration: WebMConfiguration(
        video: .init(width: 640, height: 360, framesPerSecond: 25), audio: .init(), title: "T",
        date: 978_307_201_000_000_000))
    try writer.addPicture(0, isKeyframe: true)
    try writer.addAudio(0)
    try writer.addAudio(20)
    try writer.addPicture(40)
    return writer
  }

  /// Hexadecimal, with runs of more than eight zeros counted.
  private func dump(_ bytes: [UInt8]) -> String {
    var words: [String] = []
    var index = 0
    while index < bytes.count {
      var zeros = 0
      while index + zeros < bytes.count, bytes[index + zeros] == 0 { zeros += 1 }
      if zeros > 8 {
        words.append("0*\(zeros)")
        index += zeros
      } else {
        let hex = String(bytes[index], radix: 16)
        words.append(hex.count == 1 ? "0" + hex : hex)
        index += 1
      }
    }
    return words.joined(separator: " ")
  }

  /// A golden's text without its comments.
  private func golden(_ text: String) -> String {
    text.split(separator: "\n").map { $0.split(separator: "#", maxSplits: 1).first ?? "" }
      .flatMap { $0.split(separator: " ") }.joined(separator: " ")
  }

  @Test func aLiveFile() throws {
    let path = directory.path("live.webm")
    let writer = try record(path)
    let reserve = Array(repeating: "ec 10 00 0f fb 0*4091", count: 15).joined(separator: " ")
    #expect(
      dump(Files.read(path))
        == golden(
          Self.header + """
            18 53 80 67 01 ff ff ff ff ff ff ff                         # Segment of unknown size
            ec 01 00 00 00 00 00 00 97 0*151                            # room for the SeekHead
            15 49 a9 66 b3 2a d7 b1 83 0f 42 40                         # Info, TimestampScale 1 ms
            ec 01 00 00 00 00 00 00 02 00 00                            # room for the Duration
            """ + Self.middle + """
              1f 43 b6 75 01 ff ff ff ff ff ff ff e7 81 00                # Cluster of unknown size, Timestamp
              a3 86 82 00 00 80 fc aa                                     # sound at 0
              a3 85 81 00 00 80 55                                        # keyframe at 0
              a3 86 82 00 14 80 fc aa                                     # sound at 20; the picture at 40 waits
              ec 10 00 ff d5 0*4053                                       # the reserve
              """ + "\n" + reserve))
    writer.abandon()
  }

  @Test func aFinishedFile() throws {
    let path = directory.path("finished.webm")
    let writer = try record(path)
    writer.addChapter(start: .zero, title: "C")
    writer.setTag("N", "v")
    _ = try writer.finish()
    #expect(
      dump(Files.read(path))
        == golden(
          Self.header + """
            18 53 80 67 01 00 00 00 00 00 10 4b                         # Segment and its size
            11 4d 9b 74 c9                                              # SeekHead
            4d bb 8b 53 ab 84 15 49 a9 66 53 ac 81 a0                   # Info
            4d bb 8b 53 ab 84 16 54 ae 6b 53 ac 81 d8                   # Tracks
            4d bb 8c 53 ab 84 1c 53 bb 6b 53 ac 82 0f fd                # Cues
            4d bb 8c 53 ab 84 10 43 a7 70 53 ac 82 10 13                # Chapters
            4d bb 8c 53 ab 84 12 54 c3 67 53 ac 82 10 35                # Tags
            ec 01 00 00 00 00 00 00 49 0*73
            15 49 a9 66 b3 2a d7 b1 83 0f 42 40                         # Info, TimestampScale 1 ms
            44 89 88 40 54 00 00 00 00 00 00                            # Duration 80
            """ + Self.middle + """
              1f 43 b6 75 01 00 00 00 00 00 00 21 e7 81 00                # Cluster and its size, Timestamp
              a3 86 82 00 00 80 fc aa                                     # sound at 0
              a3 85 81 00 00 80 55                                        # keyframe at 0
              a3 86 82 00 14 80 fc aa                                     # sound at 20
              a3 85 81 00 28 00 55                                        # picture at 40
              1c 53 bb 6b 91 bb 8f b3 81 00 b7 8a f7 81 01                # Cues: time 0, track 1,
              f1 82 0f d0 f0 81 0b                                        # CueClusterPosition, CueRelativePosition
              10 43 a7 70 9d 45 b9 9a b6 98 73 c4 81 01 91 81 00          # Chapters: UID 1 from 0
              92 84 04 c4 b4 00 80 89 85 81 43 43 7c 83 75 6e 64          # to 80 ms, "C", und
              12 54 c3 67 91 73 73 8e 63 c0 80                            # Tags: Targets
              67 c8 88 45 a3 81 4e 44 87 81 76                            # "N" = "v"
              """))
  }

  /// EBML head.
  private static let header = """
    1a 45 df a3 9f 42 86 81 01 42 f7 81 01 42 f2 81 04 42 f3 81 08      # EBML, versions, lengths
    42 82 84 77 65 62 6d 42 87 81 04 42 85 81 02                        # DocType webm 4, readable by 2

    """

  /// From DateUTC to the end of the head page.
  private static let middle = """

    44 61 88 00 00 00 00 3b 9a ca 00                                    # DateUTC: 1 s after 2001
    7b a9 81 54 4d 80 86 72 65 63 62 6f 74 57 41 86 72 65 63 62 6f 74   # Title, MuxingApp, WritingApp
    16 54 ae 6b 40 95                                                   # Tracks
    ae c3 d7 81 01 73 c5 81 01 83 81 01 9c 81 00 22 b5 9c 83 75 6e 64   # TrackEntry 1, video, no lacing
    86 85 56 5f 56 50 38 23 e3 83 84 02 62 5a 00                        # V_VP8, DefaultDuration 40 ms
    e0 9e 9a 81 02 b0 82 02 80 ba 82 01 68                              # Video: progressive, 640x360
    55 b0 90 55 b1 81 06 55 b9 81 01 55 ba 81 01 55 bb 81 01            # Colour
    ae ce d7 81 02 73 c5 81 02 83 81 02 9c 81 00 22 b5 9c 83 75 6e 64   # TrackEntry 2, audio, no lacing
    86 86 41 5f 4f 50 55 53 56 aa 83 63 2e a0 56 bb 84 04 c4 b4 00      # A_OPUS, CodecDelay, SeekPreRoll
    63 a2 93 4f 70 75 73 48 65 61 64 01 02 38 01 80 bb 00 00 00 00 00   # CodecPrivate: OpusHead
    e1 8d b5 88 40 e7 70 00 00 00 00 00 9f 81 02                        # Audio: 48 kHz, 2 channels
    ec 01 00 00 00 00 00 0e 54 0*3668

    """
}
