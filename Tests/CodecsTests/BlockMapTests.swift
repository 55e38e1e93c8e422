import Codecs
import MediaCore
import Synthetic
import Testing

/// Which blocks move, which are still, and which are refreshed in turn.
@Suite struct BlockMapTests {
  private let blocks: BlockMap
  private let picture: Picture
  private var random = SeededRandom(seed: 5)

  /// Two rows of ten blocks, and an edge that cuts a third row and an eleventh column.
  init() {
    blocks = BlockMap(width: 168, height: 40)
    picture = Picture(width: 168, height: 40)
    fill(0..<168, with: { 90 })
  }

  private func fill(_ columns: Range<Int>, with value: () -> UInt8) {
    for row in 0..<picture.height {
      for column in columns { picture.y[row * picture.strideY + column] = value() }
    }
    for row in 0..<picture.chromaHeight {
      for column in columns.lowerBound / 2..<columns.upperBound / 2 {
        picture.u[row * picture.strideUV + column] = value()
        picture.v[row * picture.strideUV + column] = value()
      }
    }
  }

  private func kinds(row: Int) -> [UInt8] { (0..<blocks.columns).map { blocks.map[row * blocks.columns + $0] } }

  @Test func whatStaysTheSameIsStillAfterFourPictures() {
    #expect(blocks.columns == 11 && blocks.rows == 3)
    for _ in 0..<4 {
      _ = blocks.look(at: picture)
      #expect(!kinds(row: 0).contains(BlockMap.Kind.still))
    }
    #expect(blocks.look(at: picture))
    #expect(
      kinds(row: 0) == Array(repeating: BlockMap.Kind.still, count: 10) + [BlockMap.Kind.moving], "the edge cuts one")
    #expect(kinds(row: 2) == Array(repeating: BlockMap.Kind.moving, count: 11), "the edge cuts them")
    #expect(!blocks.look(at: picture), "nothing is different")
  }

  @Test func aColourThatChangesMoves() {
    for _ in 0..<5 { _ = blocks.look(at: picture) }
    for row in 0..<8 { picture.v[row * picture.strideUV + 20] += 1 }
    #expect(blocks.look(at: picture))
    #expect(kinds(row: 0)[2] != BlockMap.Kind.still && kinds(row: 0)[1] == BlockMap.Kind.still)
  }

  /// Five blocks of noise in a row, five of large changes.
  @Test mutating func ofWhatHardlyChangesEachIsRefreshedInTurn() {
    var turns = Array(repeating: 0, count: 10)
    for _ in 0..<200 {
      var random = random
      fill(0..<80) { 90 + UInt8(random.next() & 3) }
      fill(80..<168) { UInt8(truncatingIfNeeded: random.next()) }
      self.random = random
      _ = blocks.look(at: picture)
      let refreshed = kinds(row: 0).enumerated().filter { $0.element == BlockMap.Kind.refreshed }.map(\.offset)
      for column in refreshed { turns[column] += 1 }
      let all = (0..<33).filter { blocks.map[$0] == BlockMap.Kind.refreshed }.count
      #expect(all <= 33 / 20, "more than a twentieth of them: \(all)")
    }
    #expect(turns[..<5].allSatisfy { (15...25).contains($0) }, "\(turns)")
    #expect(turns[5...].allSatisfy { $0 == 0 }, "\(turns)")
  }

  /// What is left out of the code of moving blocks costs no more than a quarter of a decibel, and the bits that it saves are worth it.
  @Test func whatCodingSpoilsAnywayIsNotMissed() throws {
    let (size, seconds) = ((width: 640, height: 360), 3)
    let person = SyntheticCamera(seed: 3, identity: 3, width: size.width, height: size.height, framesPerSecond: 30)
    var errors: [Int] = []
    var bytes: [Int] = []
    for limit in [0, VPXEncoderSettings(.vp8).movingThresholdLimit] {
      var settings = VPXEncoderSettings(.vp8)
      settings.movingThresholdLimit = limit
      let encoder = try VPXEncoder(
        .vp8, width: size.width, height: size.height, framesPerSecond: 30, bitrate: 500_000, settings: settings)
      let decoder = VP8Decoder()
      var pool = PicturePool()
      var (error, count) = (0, 0)
      let picture = Picture(width: size.width, height: size.height)
      for index in 0..<30 * seconds {
        person.draw(frame: index, voiceLevel: 0.5, into: picture)
        let frame = try encoder.frame(picture, pts: Int64(index) * 3000)
        count += frame.bytes.count
        let decoded = try #require(try decoder.picture(frame.bytes, &pool))
        for row in 0..<size.height {
          for column in 0..<size.width {
            let difference =
              Int(picture.y[row * picture.strideY + column]) - Int(decoded.y[row * decoded.strideY + column])
            error += difference * difference
          }
        }
      }
      errors.append(error)
      bytes.append(count)
    }
    // 10 log10(1.06) is a quarter.
    #expect(Double(errors[1]) <= Double(errors[0]) * 1.06, "\(errors)")
    #expect(Double(bytes[1]) <= Double(bytes[0]) * 1.05, "\(bytes)")
  }
}
