import CPango
import Foundation

/// The program under test.
enum Recbot {
  struct Run {
    var status: Int32
    var output: String
    var errors: String
  }

  /// What the tiers have built to be shipped (`RECBOT_PROGRAM`), or the one beside the tests, which takes ten times as long.
  private static let program: URL = {
    if let path = ProcessInfo.processInfo.environment["RECBOT_PROGRAM"] { return URL(fileURLWithPath: path) }
    return URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      .appendingPathComponent("recbot")
  }()

  /// Runs it to its end in the temporary folder, with nothing of recbot in its environment.
  static func run(_ arguments: [String]) throws -> Run {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.currentDirectoryURL = FileManager.default.temporaryDirectory
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("RECBOT_") }
    let output = Pipe()
    let errors = Pipe()
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    // Little is said, so the pipes never fill up.
    process.waitUntilExit()
    func text(_ pipe: Pipe) -> String {
      String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    return Run(status: process.terminationStatus, output: text(output), errors: text(errors))
  }
}

/// A folder that is gone with the value.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/recbot-preview-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// The red, green and blue of a PNG file.
struct PNGPicture {
  let width: Int
  let height: Int
  let samples: [UInt8]

  /// Nil when the file is no PNG.
  init?(_ path: String) throws {
    guard let surface = cairo_image_surface_create_from_png(path) else { return nil }
    defer { cairo_surface_destroy(surface) }
    guard cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS, let pixels = cairo_image_surface_get_data(surface)
    else {
      return nil
    }
    width = Int(cairo_image_surface_get_width(surface))
    height = Int(cairo_image_surface_get_height(surface))
    let stride = Int(cairo_image_surface_get_stride(surface))
    var samples: [UInt8] = []
    samples.reserveCapacity(3 * width * height)
    for row in 0..<height {
      for column in 0..<width {
        for part in 0..<3 { samples.append(pixels[row * stride + 4 * column + part]) }
      }
    }
    self.samples = samples
  }
}
