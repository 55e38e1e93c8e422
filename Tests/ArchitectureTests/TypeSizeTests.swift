import Foundation
import Testing

/// A type that is large says why in the comment before it: `Large: …`.
@Suite struct TypeSizeTests {
  /// More lines in all files need a reason.
  private static let lines = 400
  /// More stored properties need one.
  private static let stored = 20

  private static func sizes() throws -> TypeSizes {
    var sizes = TypeSizes()
    let sources = ArchitectureTests.root.appending(path: "Sources")
    let all = FileManager.default.enumerator(atPath: sources.path)?.compactMap { $0 as? String } ?? []
    for path in all.sorted()
    where path.hasSuffix(".swift") && !path.hasSuffix(".pb.swift") && !ArchitectureTests.isShown(path) {
      let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
      sizes.read(text, target: String(path.prefix { $0 != "/" }))
    }
    return sizes
  }

  @Test func largeTypesSayWhy() throws {
    let sizes = try Self.sizes().sizes
    #expect(sizes.count > 500)
    let silent = sizes.filter { _, size in
      (size.lines > Self.lines || size.stored > Self.stored) && !size.comment.contains("Large: ")
    }
    let told = silent.map { "\($0): \($1.lines) lines, \($1.stored) stored properties" }.sorted()
    #expect(told.isEmpty, "these are large and do not say why (Large: …): \(told.joined(separator: "; "))")
    let small = sizes.filter { $1.lines <= Self.lines && $1.stored <= Self.stored && $1.comment.contains("Large: ") }
    #expect(small.isEmpty, "these are not large any more: \(small.keys.sorted())")
  }

  @Test func sizesAreCounted() {
    var sizes = TypeSizes()
    sizes.read(
      #"""
      // Sendable by confinement.
      /// A thing.
      public final class Thing {
        /// "quoted {"
        public private(set) var one = 1
        let two: Int
        var three: Int { two + 1 }
        weak var four: Thing?
        static let five = 5
        struct Inner {
          var six = "}"
        }
        func work() {
          let seven = 7
        }
      }

      extension Thing {
        var eight: Int { 8 }
      }
      """#, target: "Target")
    #expect(
      sizes.sizes["Target.Thing"] == .init(lines: 17, stored: 3, comment: "// Sendable by confinement.\n/// A thing."))
    #expect(sizes.sizes["Target.Thing.Inner"] == .init(stored: 1))
  }
}
