import Glibc
import Layouts
import MediaCore
import Synchronization
import Testing

@testable import Compositor

/// Images of people, logos, backgrounds: decoded off the media path, within bounds, whatever they hold.
@Suite struct ImageTests {
  /// A folder of its own, removed afterwards.
  final class Folder {
    let path = "/tmp/recbot-image-test-\(UInt64.random(in: 0 ... .max))"
    init() { mkdir(path, 0o700) }
    deinit { remove(path) }

    private func remove(_ path: String) {
      if let directory = opendir(path) {
        while let entry = readdir(directory) {
          let name = withUnsafeBytes(of: entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
          }
          var status = stat()
          let inner = "\(path)/\(name)"
          guard name != ".", name != "..", lstat(inner, &status) == 0 else { continue }
          if status.st_mode & S_IFMT == S_IFDIR { remove(inner) } else { unlink(inner) }
        }
        closedir(directory)
      }
      rmdir(path)
    }

    func write(_ bytes: [UInt8], _ name: String) -> String {
      let file = fopen("\(path)/\(name)", "w")
      fwrite(bytes, 1, bytes.count, file)
      if let file { fclose(file) }
      return "\(path)/\(name)"
    }
  }

  static func read(_ path: String) -> [UInt8] { (try? ImageFile.read(path, below: nil)) ?? [] }

  /// Red, green, blue side by side, 96 x 64.
  static var jpeg: [UInt8] {
    let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
    return read("/\(folder)/Images/thirds.jpg")
  }

  /// The same as PNG, of any size.
  static func png(width: Int = 96, height: Int = 64) throws -> [UInt8] {
    let picture = Picture(width: width, height: height)
    for (index, colour) in [red, green, blue].enumerated() {
      picture.fill(
        PixelRect(x: index * width / 3, y: 0, width: width / 3, height: height),
        (UInt8(clamping: colour.y), UInt8(clamping: colour.u), UInt8(clamping: colour.v)))
    }
    let folder = Folder()
    try writePNG(picture, path: "\(folder.path)/x.png")
    return read("\(folder.path)/x.png")
  }

  private func pixel(_ drawing: Drawing, _ x: Int, _ y: Int) -> [UInt8] {
    guard let pixels = drawing.pixels else { return [] }
    return (0..<3).map { pixels[y * drawing.stride + 4 * x + $0] }
  }

  private func isRed(_ pixel: [UInt8]) -> Bool { pixel.count == 3 && pixel[2] > 200 && pixel[1] < 60 && pixel[0] < 60 }
  private func isGreen(_ pixel: [UInt8]) -> Bool { pixel.count == 3 && pixel[1] > 200 && pixel[2] < 60 }
  private func isBlue(_ pixel: [UInt8]) -> Bool { pixel.count == 3 && pixel[0] > 200 && pixel[2] < 60 }

  @Test func imagesThatFailAreForgottenInTheEnd() {
    let reported = Mutex(0)
    let store = ImageStore { _, _ in reported.withLock { $0 += 1 } }
    for number in 0..<(3 * ImageStore.failureLimit) {
      _ = store.image(.file("/nonexistent/\(number).png"), .square(64))
      store.loadAll()
    }
    #expect(reported.withLock { $0 } == 3 * ImageStore.failureLimit)
    #expect(store.count == ImageStore.failureLimit)
    // The newest are still known, and not tried again.
    _ = store.image(.file("/nonexistent/\(3 * ImageStore.failureLimit - 1).png"), .square(64))
    store.loadAll()
    #expect(reported.withLock { $0 } == 3 * ImageStore.failureLimit)
  }

  @Test func bothKindsAreDecoded() throws {
    for bytes in [Self.jpeg, try Self.png()] {
      let image = try ImageDecoder().decode(bytes, smallestSide: 64)
      #expect(image.width == 96 && image.height == 64)
      #expect(isRed(pixel(image, 8, 32)) && isGreen(pixel(image, 48, 32)) && isBlue(pixel(image, 88, 32)))
    }
  }

  @Test func largeJPEGsAreDecodedSmaller() throws {
    let image = try ImageDecoder().decode(Self.jpeg, smallestSide: 16)
    #expect(image.width == 24 && image.height == 16)
    #expect(isRed(pixel(image, 2, 8)) && isBlue(pixel(image, 22, 8)))
  }

  /// What lies at the left end, the middle and the right end of the middle row, or for turned pictures from the top.
  @Test(arguments: 1...8, [true, false]) func theOrientationOfPhotographsIsApplied(value: Int, isLittle: Bool) throws {
    // An Exif segment with one entry: tag, type SHORT, one value.
    let number: ([UInt8]) -> [UInt8] = { isLittle ? $0.reversed() : $0 }
    let tiff: [UInt8] =
      Array(isLittle ? "II".utf8 : "MM".utf8) + number([0, 42]) + number([0, 0, 0, 8]) + number([0, 1])
      + number([0x01, 0x12]) + number([0, 3]) + number([0, 0, 0, 1]) + number([0, UInt8(value)]) + [0, 0, 0, 0, 0, 0]
    let body = Array("Exif\0\0".utf8) + tiff
    let segment: [UInt8] = [0xff, 0xe1, 0, UInt8(body.count + 2)] + body
    let bytes = Array(Self.jpeg.prefix(2)) + segment + Array(Self.jpeg.dropFirst(2))
    #expect(JPEGOrientation(bytes).value == value)
    let image = try ImageDecoder().decode(bytes, smallestSide: 64)
    let isTurned = value >= 5
    #expect(image.width == (isTurned ? 64 : 96) && image.height == (isTurned ? 96 : 64))
    // Red is at the left of the stored picture: rows 0 of Exif's table say where that goes.
    let (first, last) =
      isTurned ? (pixel(image, 32, 8), pixel(image, 32, 88)) : (pixel(image, 8, 32), pixel(image, 88, 32))
    let isReversed = [2, 3, 7, 8].contains(value)
    #expect(isReversed ? isBlue(first) && isRed(last) : isRed(first) && isBlue(last))
  }

  @Test func sizesAreRefusedBeforeAnythingIsDecoded() throws {
    var png = try Self.png()
    png.replaceSubrange(16..<24, with: [0, 0, 0xc3, 0x50, 0, 0, 0xc3, 0x50])
    #expect(throws: ImageError.self) { try ImageDecoder().decode(png, smallestSide: 64) }
    png.replaceSubrange(16..<24, with: [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1])
    #expect(throws: ImageError.self) { try ImageDecoder().decode(png, smallestSide: 64) }
    png.replaceSubrange(16..<24, with: [0, 0, 0, 0, 0, 0, 0, 0])
    #expect(throws: ImageError.self) { try ImageDecoder().decode(png, smallestSide: 64) }
    var jpeg = Self.jpeg
    let frame = try #require(jpeg.indices.dropLast().first { jpeg[$0] == 0xff && jpeg[$0 + 1] == 0xc0 })
    jpeg.replaceSubrange((frame + 5)..<(frame + 9), with: [0xff, 0xdc, 0xff, 0xdc])
    #expect(throws: ImageError.self) { try ImageDecoder().decode(jpeg, smallestSide: 64) }
  }

  @Test func damagedImagesAreErrorsOrPicturesNeverTraps() throws {
    let originals = [Self.jpeg, try Self.png()]
    for seed in UInt64(1)...1500 {
      var random = SeededRandom(seed: seed)
      var bytes = originals[Int(seed % 2)]
      for _ in 0..<Int.random(in: 1...12, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
      if let image = try? ImageDecoder().decode(bytes, smallestSide: 32) {
        #expect(image.width * image.height <= ImageDecoder.maximumPixels, "seed \(seed)")
      }
    }
  }

  @Test func otherThingsAreRefused() {
    for bytes in [
      [], [0xff], Array("GIF89a".utf8), Array("<svg/>".utf8), [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
    ] {
      #expect(throws: ImageError.self) { try ImageDecoder().decode(bytes, smallestSide: 32) }
    }
  }

  @Test func nothingOutsideTheFolderIsRead() throws {
    let folder = Folder()
    let png = try Self.png()
    let secret = folder.write(png, "secret.png")
    mkdir("\(folder.path)/avatars", 0o700)
    mkdir("\(folder.path)/avatars/team", 0o700)
    _ = folder.write(png, "avatars/ada.png")
    _ = folder.write(png, "avatars/team/bo.png")
    symlink(secret, "\(folder.path)/avatars/link.png")
    symlink(folder.path, "\(folder.path)/avatars/up")
    mkfifo("\(folder.path)/avatars/pipe", 0o600)
    let root = "\(folder.path)/avatars"
    #expect(try ImageFile.read("ada.png", below: root) == png)
    #expect(try ImageFile.read("team/../team/bo.png", below: root) == png)
    var reasons = Set<String>()
    for path in ["../secret.png", "link.png", "up/secret.png", "team/../../secret.png", "missing.png", "a\0b"] {
      do {
        _ = try ImageFile.read(path, below: root)
        Issue.record("\(path) was read")
      } catch {
        reasons.insert(error.description)
      }
    }
    // An absolute path is one below the folder.
    #expect(throws: ImageError.self) { try ImageFile.read(secret, below: root) }
    #expect(reasons.count == 1, "what exists outside is not told: \(reasons)")
    for path in ["pipe", "team", "."] {
      #expect(throws: ImageError.self) { try ImageFile.read(path, below: root) }
    }
  }

  @Test func filesThatAreTooLargeAreRefused() {
    let folder = Folder()
    let path = folder.write([UInt8](repeating: 7, count: ImageStore.maximumBytes + 1), "large.png")
    #expect(throws: ImageError.self) { try ImageFile.read(path, below: nil) }
  }

  @Test func aPortraitTakesThePlaceOfTheInitialsWhenItIsLoaded() throws {
    let folder = Folder()
    let path = folder.write(try Self.png(width: 300, height: 300), "ada.png")
    let store = ImageStore()
    let compositor = PictureCompositor(canvas: hd, images: store)
    var paint = tile(.card(.audioOnly), middleRect)
    paint.avatar = .file(path)
    var picture = compositor.compose([paint]).picture
    let disc = Sample(Theme.dark.personColour("p1"))
    #expect((320..<960).contains { picture.sample($0, 300).isNear(disc) })
    #expect(!compositor.compose([paint]).isChanged)
    store.loadAll()
    let frame = compositor.compose([paint])
    #expect(frame.isChanged)
    picture = frame.picture
    #expect(picture.sample(640, 360).isNear(green, by: 6))
    #expect(picture.sample(570, 360).isNear(red, by: 6) && picture.sample(710, 360).isNear(blue, by: 6))
    #expect(!(320..<960).contains { picture.sample($0, 300).isNear(disc) })
    // Round: outside the disc is the card.
    #expect(!picture.sample(555, 275).isNear(red, by: 20))
    #expect(!compositor.compose([paint]).isChanged)
  }

  @Test func whatCannotBeLoadedIsReportedOnceAndTheInitialsStay() {
    let reports = Reports()
    let store = ImageStore { source, reason in reports.add(source, reason) }
    let compositor = PictureCompositor(canvas: hd, images: store)
    var paint = tile(.card(.audioOnly), middleRect, name: "Ada")
    let before = PictureCompositor(canvas: hd).compose([paint]).picture.bytes
    for source in [ImageSource.file("/nonexistent/ada.png"), .url("https://example.org/ada.png")] {
      paint.avatar = source
      for _ in 0..<3 {
        let isSame = compositor.compose([paint]).picture.bytes == before
        #expect(isSame)
        store.loadAll()
      }
    }
    #expect(reports.count == 2)
  }

  @Test func aLogoIsAsHighAsTheLayoutSays() throws {
    let folder = Folder()
    let path = folder.write(try Self.png(), "logo.png")
    let store = ImageStore()
    let compositor = PictureCompositor(canvas: hd, images: store)
    let overlay = OverlayPaint(
      Overlay(.image(path: path), anchor: .topRight, x: .pixels(20), y: .pixels(10), size: .pixels(32), opacity: 128))
    let scene = ScenePaint(tiles: [tile(.video(.plain(Sample(16, 128, 128))), middleRect)], overlays: [overlay])
    _ = compositor.compose(scene)
    store.loadAll()
    let picture = compositor.compose(scene).picture
    // 48 x 32, half transparent, ending 20 columns from the right.
    #expect(picture.sample(1236, 30).isNear(Sample((green.y + background.y) / 2, 91, 81), by: 8))
    #expect(picture.sample(1261, 30) == background && picture.sample(1210, 30) == background)
    #expect(picture.sample(1236, 9) == background && picture.sample(1236, 43) == background)
  }

  @Test func aBackgroundImageLiesBehindEverything() throws {
    let folder = Folder()
    let path = folder.write(try Self.png(width: 160, height: 90), "background.png")
    let store = ImageStore()
    let compositor = PictureCompositor(canvas: hd, images: store)
    var scene = ScenePaint(
      background: .image(path: path, fit: .cover), tiles: [tile(.video(.plain(green)), middleRect, radius: 30)])
    #expect(compositor.compose(scene).picture.sample(20, 360) == background)
    store.loadAll()
    let picture = compositor.compose(scene).picture
    #expect(picture.sample(20, 360).isNear(red, by: 4) && picture.sample(1260, 360).isNear(blue, by: 4))
    #expect(picture.sample(320, 180).isNear(red, by: 4))
    scene.tiles[0].pictureID = 1
    #expect(compositor.compose(scene).picture.sample(320, 180).isNear(red, by: 4))
  }

  @Test func addressesAreFetchedAFewAtATime() throws {
    let fetcher = SlowFetcher(bytes: try Self.png())
    let store = ImageStore(fetcher: fetcher)
    for index in 0..<20 { #expect(store.image(.url("https://example.org/\(index)"), .square(64)) == nil) }
    var rounds = 0
    while fetcher.finishOne(store), rounds < 100 { rounds += 1 }
    #expect(fetcher.most == ImageStore.fetchLimit)
    for index in 0..<20 { #expect(store.image(.url("https://example.org/\(index)"), .square(64)) != nil) }
  }

  @Test func aFloodOfImagesIsRefused() {
    let store = ImageStore()
    for index in 0..<10 * ImageStore.queueLimit { _ = store.image(.file("/nonexistent/\(index)"), .square(64)) }
    store.loadAll()
    #expect(store.generation == UInt64(ImageStore.queueLimit))
  }

  @Test func theStoreStopsWhenItIsClosed() {
    let store = ImageStore()
    store.close()
    store.run()
  }

  private final class Reports: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ source: ImageSource, _ reason: String) { lines.withLock { $0.append("\(source): \(reason)") } }
    var count: Int { lines.withLock { $0.count } }
  }

  /// Answers when the test says so.
  private final class SlowFetcher: ImageFetcher {
    typealias Completion = @Sendable (Result<[UInt8], ImageFetchFailure>) -> Void
    private let waiting = Mutex<(list: [Completion], most: Int)>(([], 0))
    private let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    var most: Int { waiting.withLock { $0.most } }

    func fetch(_ url: String, maximumBytes: Int, completion: @escaping Completion) {
      waiting.withLock {
        $0.list.append(completion)
        $0.most = max($0.most, $0.list.count)
      }
    }

    /// Lets the store work, then answers one. False when nothing was asked for.
    func finishOne(_ store: ImageStore) -> Bool {
      store.loadAll(seconds: 0)
      guard let completion = waiting.withLock({ $0.list.isEmpty ? nil : $0.list.removeFirst() }) else { return false }
      completion(.success(bytes))
      store.loadAll(seconds: 0)
      return true
    }
  }
}
