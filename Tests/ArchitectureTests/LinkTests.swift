import Foundation
import Testing

/// Links of the documentation lead somewhere, also where a Git host shows the pages: to a file of the repository, and to a
/// heading that is in it.
@Suite struct LinkTests {
  static let root = ArchitectureTests.root
  static let pages = "Sources/recbot/Documentation.docc"
  /// The page that lists the others for DocC.
  static let catalogue = "\(pages)/recbot.md"

  /// All pages, as paths from the root.
  static func documents() throws -> [String] {
    let listed = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: pages).path)
    return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Tests/README.md", "deploy/README.md"]
      + listed.filter { $0.hasSuffix(".md") }.sorted().map { "\(pages)/\($0)" }
  }

  /// A page's lines that are no code.
  static func prose(_ path: String) throws -> [Substring] {
    let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
    var isCode = false
    return text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
      if line.drop(while: { $0 == " " }).hasPrefix("```") {
        isCode.toggle()
        return false
      }
      return !isCode
    }
  }

  /// What the hosts make of a heading: lower case, hyphens for spaces, no other punctuation.
  static func anchor(_ heading: Substring) -> String {
    let text = heading.drop { $0 == "#" }.drop { $0 == " " }.lowercased()
    return String(text.compactMap { $0 == " " ? "-" : $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" ? $0 : nil })
  }

  static func anchors(_ path: String) throws -> Set<String> {
    Set(try prose(path).filter { $0.hasPrefix("#") }.map(anchor))
  }

  /// Why a link leads nowhere; nil: it leads somewhere, or out of the repository.
  static func fault(_ link: String, in page: String) throws -> String? {
    if link.contains("://") || link.hasPrefix("mailto:") { return nil }
    let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    var path = page
    if !parts[0].isEmpty {
      let target = root.appending(path: page).deletingLastPathComponent().appending(path: String(parts[0])).standardized
      guard target.path.hasPrefix(root.standardized.path), FileManager.default.fileExists(atPath: target.path) else {
        return "\(page): there is no \(parts[0])"
      }
      path = String(target.path.dropFirst(root.standardized.path.count + 1))
    }
    guard parts.count == 2 else { return nil }
    return try anchors(path).contains(String(parts[1])) ? nil : "\(page): \(path) has no heading #\(parts[1])"
  }

  @Test func everyLinkLeadsSomewhere() throws {
    var count = 0
    for page in try Self.documents() {
      for line in try Self.prose(page) {
        for match in line.matches(of: #/\]\(([^)\s]+)\)/#) {
          count += 1
          let fault = try Self.fault(String(match.output.1), in: page)
          #expect(fault == nil)
        }
        if page != Self.catalogue { #expect(!line.contains("<doc:"), "\(page): a Git host shows no link for \(line)") }
      }
    }
    #expect(count > 80, "only \(count) links were looked at")
  }

  @Test func theCatalogueNamesEveryPage() throws {
    let text = try Self.prose(Self.catalogue).joined(separator: "\n")
    let named = text.matches(of: #/<doc:([A-Za-z]+)>/#).map { "\(Self.pages)/\($0.output.1).md" }
    #expect(Set(named).count == named.count)
    let pages = try Self.documents().filter { $0.hasPrefix(Self.pages) && $0 != Self.catalogue }
    #expect(Set(named) == Set(pages))
  }

  @Test func linksThatLeadNowhereAreFound() throws {
    #expect(try Self.fault("Nowhere.md", in: Self.catalogue) != nil)
    #expect(try Self.fault("../../../../outside.md", in: Self.catalogue) != nil)
    #expect(try Self.fault("Egress.md#no-such-heading", in: Self.catalogue) != nil)
    #expect(try Self.fault("#no-such-heading", in: "README.md") != nil)
    #expect(try Self.fault("Egress.md#what-is-refused", in: Self.catalogue) == nil)
    #expect(Self.anchor("## Files: `a`, *b* & C_d") == "files-a-b--c_d")
  }
}
