import Foundation
import Testing

/// Holds the sources to the architecture: arrows point downward, C libraries have one owner, the lower levels are pure.
@Suite struct ArchitectureTests {
  /// What a target may import. Its level stands in `Architecture.md`, and there only.
  struct Row {
    var targets: Set<String>
    var libraries: Set<String> = []
    /// Where it stands.
    var folder = "Sources"
  }

  static let nio: Set<String> = [
    "NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket", "NIOFoundationCompat", "NIOTLS",
    "NIOConcurrencyHelpers",
  ]
  static let system: Set<String> = ["Glibc", "Synchronization", "Dispatch"]

  static let table: [String: Row] = [
    "MediaCore": Row(targets: []),
    "Platform": Row(targets: ["MediaCore"], libraries: ["Glibc", "Dispatch"]),
    "Digests": Row(targets: ["CCrypto"]),
    "RTP": Row(targets: ["MediaCore"]),
    "SDP": Row(targets: ["MediaCore"]),
    "Layouts": Row(targets: ["MediaCore"]),
    "AudioMix": Row(targets: ["MediaCore", "CEBUR128", "CSpeexDSP"]),
    "Synthetic": Row(targets: ["MediaCore"]),
    "Session": Row(targets: ["MediaCore", "Layouts"]),
    "Codecs": Row(targets: ["MediaCore", "CVPX", "CAVCodec", "CDav1d", "CAOM", "COpus"], libraries: system),
    "TLS": Row(targets: ["MediaCore", "COpenSSL"]),
    "Transport": Row(
      targets: ["MediaCore", "Platform", "TLS", "CNice", "COpenSSL", "CSRTP", "CUsrsctp"], libraries: system),
    "WebM": Row(targets: ["MediaCore", "Platform", "CWebMParser"], libraries: system),
    "FrameEncryption": Row(targets: ["MediaCore", "Digests"]),
    "PeerConnection": Row(targets: ["MediaCore", "Platform", "RTP", "SDP", "Transport"], libraries: system),
    "Compositor": Row(targets: ["MediaCore", "Layouts", "CYUV", "CPango", "CJPEG"], libraries: system),
    "Signaling": Row(
      targets: ["MediaCore", "Digests"],
      libraries: system.union(["SwiftProtobuf", "FoundationEssentials", "Foundation"])),
    "SessionLog": Row(
      targets: ["MediaCore", "Platform", "Layouts", "Session"],
      libraries: system.union(["SwiftProtobuf", "FoundationEssentials", "Foundation"])),
    "HTTPService": Row(
      targets: ["HTTPGuard"], libraries: system.union(nio).union(["HummingbirdCore", "CoreMetrics", "Logging"])),
    "HTTPGuard": Row(targets: ["MediaCore", "Platform"], libraries: system.union(nio).union(["Logging"])),
    "Rooms": Row(
      targets: [
        "MediaCore", "Platform", "Signaling", "PeerConnection", "Transport", "Session", "FrameEncryption", "WebClient",
        "TLS", "CZlib",
      ],
      libraries: system.union(nio).union(["Logging", "SwiftProtobuf"])),
    "RoomServer": Row(
      targets: [
        "MediaCore", "Platform", "HTTPGuard", "WebClient", "RTP", "SDP", "Signaling", "PeerConnection", "Transport",
      ],
      libraries: system.union(nio).union(["Logging", "SwiftProtobuf"])),
    "Recording": Row(
      targets: [
        "MediaCore", "Platform", "Session", "SessionLog", "Compositor", "Layouts", "Codecs", "AudioMix", "WebM",
      ],
      libraries: system.union(["Logging"])),
    "RecbotKit": Row(
      targets: [
        "MediaCore", "Platform", "Rooms", "Session", "Compositor", "Codecs", "AudioMix", "WebM", "Signaling",
        "FrameEncryption", "Transport",
      ],
      libraries: system.union(["Logging"])),
    "Control": Row(targets: ["MediaCore", "Platform"], libraries: system.union(["FoundationEssentials"])),
    "TestKit": Row(targets: ["MediaCore"], folder: "Tests"),
    "JobsAPI": Row(targets: ["MediaCore", "Platform", "Digests"], libraries: ["Foundation"]),
    "Jobs": Row(
      targets: ["MediaCore", "Platform", "JobsAPI", "CPostgres"],
      libraries: system.union(["GRDB", "Foundation"])),
    "Delivery": Row(
      targets: ["MediaCore", "Platform", "Digests", "WebClient", "WebM"],
      libraries: system.union(nio).union(["Foundation", "Logging"])),
    "Backend": Row(
      targets: ["MediaCore", "Jobs", "JobsAPI", "WebClient", "HTTPService", "HTTPGuard", "Signaling", "Digests"],
      libraries: system.union(nio).union([
        "Hummingbird", "HummingbirdCore", "CoreMetrics", "HTTPTypes", "SwiftProtobuf", "ServiceLifecycle",
        "Foundation", "Logging",
      ])),
    "Worker": Row(
      targets: [
        "MediaCore", "Platform", "JobsAPI", "Delivery", "WebClient", "HTTPService", "HTTPGuard", "WebM", "Digests",
      ],
      libraries: system.union(nio).union([
        "Hummingbird", "HummingbirdCore", "CoreMetrics", "Foundation", "Logging", "Subprocess",
      ])),
    "Settings": Row(
      targets: ["MediaCore", "Layouts", "FrameEncryption"], libraries: system.union(["Yams", "Foundation"])),
    "LayoutFiles": Row(targets: ["MediaCore", "Layouts", "Settings"], libraries: system.union(["Yams"])),
    "WebClient": Row(
      targets: ["MediaCore", "Platform", "TLS"],
      libraries: system.union(nio).union(["FoundationEssentials"])),
  ]

  /// Standard library modules that every target may use.
  static let everywhere: Set<String> = ["Swift", "Synchronization"]

  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The folder of a target.
  static func folder(of target: String) -> URL {
    root.appending(path: "\(table[target]?.folder ?? "Sources")/\(target)")
  }

  /// Whether a file is shown in a documentation catalogue only: no part of the program.
  static func isShown(_ path: String) -> Bool { path.contains(".docc/") }

  /// The Swift files of a target, with the modules that each imports.
  static func imports(of target: String) throws -> [(file: String, modules: Set<String>)] {
    let folder = folder(of: target)
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
    return try (files ?? []).filter { $0.pathExtension == "swift" && !isShown($0.path) }.map { file in
      let text = try String(contentsOf: file, encoding: .utf8)
      var modules: Set<String> = []
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ")
        guard let index = words.firstIndex(of: "import"), index < 3, index + 1 < words.count,
          words[..<index].allSatisfy({ $0.hasPrefix("@") || ["public", "package", "internal", "private"].contains($0) })
        else { continue }
        let kinds: Set<Substring> = ["struct", "class", "enum", "func", "protocol", "typealias", "var", "let"]
        let name = kinds.contains(words[index + 1]) && index + 2 < words.count ? words[index + 2] : words[index + 1]
        modules.insert(String(name.split(separator: ".")[0]))
      }
      return (file.lastPathComponent, modules)
    }
  }

  @Test(arguments: table.keys.sorted()) func importsStayBelow(target: String) throws {
    let row = try #require(Self.table[target])
    let files = try Self.imports(of: target)
    #expect(!files.isEmpty, "\(target) has no Swift files")
    for (file, modules) in files {
      let extra = modules.subtracting(row.targets).subtracting(row.libraries).subtracting(Self.everywhere)
      #expect(extra.isEmpty, "\(target)/\(file) imports \(extra.sorted().joined(separator: ", "))")
    }
  }

  /// `Package.swift` declares no arrow that the table does not have.
  @Test(arguments: table.keys.sorted()) func thePackageDeclaresTheTable(target: String) throws {
    let row = try #require(Self.table[target])
    let text = try String(contentsOf: Self.root.appending(path: "Package.swift"), encoding: .utf8)
    let declaration = try #require(
      text.range(of: #"\.target\(\s*name: "\#(target)"(,\s*dependencies: \[[^\]]*)?"#, options: .regularExpression),
      "Package.swift does not declare \(target)")
    let names = text[declaration].split(separator: "\"").enumerated().filter { $0.offset % 2 == 1 }.map { $0.element }
    let extra = Set(names.dropFirst().map(String.init)).subtracting(row.targets)
    #expect(extra.isEmpty, "\(target) declares \(extra.sorted().joined(separator: ", "))")
  }

  /// The levels of the targets, from the table of `Architecture.md`.
  static func levels() throws -> [String: Int] {
    let page = try String(
      contentsOf: root.appending(path: "Sources/recbot/Documentation.docc/Architecture.md"), encoding: .utf8)
    var levels: [String: Int] = [:]
    var level: Int?
    for line in page.split(separator: "\n") where line.hasPrefix("| L") || (level != nil && line.hasPrefix("| |")) {
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: [" "]) }
      if cells[1].hasPrefix("L") { level = Int(cells[1].dropFirst()) }
      for name in cells[2].split(separator: " ") { levels[name.trimmingCharacters(in: ["`"])] = level }
    }
    return levels
  }

  @Test func arrowsPointDownward() throws {
    let levels = try Self.levels()
    for (target, row) in Self.table where row.folder == "Sources" {
      let level = try #require(levels[target], "Architecture.md says no level of \(target)")
      for other in row.targets where Self.table[other] != nil || !other.hasPrefix("C") {
        let below = try #require(levels[other], "\(target) uses \(other), which is not in the table")
        #expect(below < level, "\(target) (L\(level)) uses \(other) (L\(below))")
      }
    }
    #expect(Set(levels.keys) == Set(Self.table.filter { $0.value.folder == "Sources" }.keys).union(["recbot"]))
  }

  /// OpenSSL's `SSL` has two: of TCP's bytes, and of datagrams, whose keys are SRTP's.
  private static let shared: [String: Set<String>] = ["COpenSSL": ["TLS", "Transport"]]

  @Test func everyCLibraryHasOneOwner() throws {
    var owners: [String: Set<String>] = [:]
    for target in Self.table.keys {
      for (_, modules) in try Self.imports(of: target) {
        for module in modules where module.first == "C" && module.dropFirst().first?.isUppercase == true {
          if Self.table[module] != nil { continue }
          owners[module, default: []].insert(target)
        }
      }
    }
    for (library, users) in owners {
      #expect(users.count == 1 || users == Self.shared[library], "\(library) is imported by \(users.sorted())")
    }
  }

  @Test func everyTargetIsInTheTable() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Sources").path)
    for folder in folders where folder != "recbot" {
      let isC = folder.first == "C" && folder.dropFirst().first?.isUppercase == true
      #expect(isC || Self.table[folder] != nil, "Sources/\(folder) is not in the table")
    }
  }

  /// The program lives by its own library.
  @Test func onlyTheLibrarySpeaksToRooms() throws {
    #expect(Set(Self.table.filter { $0.value.targets.contains("Rooms") }.keys) == ["RecbotKit"])
    let imports = try Self.imports(of: "recbot")
    #expect(imports.contains { $0.modules.contains("RecbotKit") })
    for (file, modules) in imports { #expect(!modules.contains("Rooms"), "\(file) imports Rooms") }
  }

  @Test func filesStayShort() throws {
    for target in Self.table.keys.sorted() + ["recbot"] {
      let folder = Self.folder(of: target)
      for case let file as URL in FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil) ?? .init()
      {
        guard file.pathExtension == "swift", !file.lastPathComponent.hasSuffix(".pb.swift") else { continue }
        let lines = try String(contentsOf: file, encoding: .utf8).split(
          separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 501, "\(target)/\(file.lastPathComponent) has \(lines.count) lines")
      }
    }
  }

  /// Threads, and what time it is: only `Platform` asks the system for them.
  @Test func onlyThePlatformStartsThreadsAndReadsClocks() throws {
    let sources = Self.root.appending(path: "Sources")
    let calls = #/\bpthread_create\b|\bThread\(|\bclock_gettime\b|\btime\(nil\)|\bgettimeofday\b/#
    var found = 0
    for case let path as String in FileManager.default.enumerator(atPath: sources.path) ?? .init()
    where path.hasSuffix(".swift") {
      let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
      for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        let code = line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
        guard let call = code.firstMatch(of: calls) else { continue }
        found += 1
        #expect(path.hasPrefix("Platform/"), "\(path):\(number + 1) calls \(call.output) by itself")
      }
    }
    #expect(found >= 2, "Platform itself was not looked at")
  }

  /// What turns bytes from outside into values without the door, and where the doors themselves stand.
  static let bareDecoders: [(words: [String], doors: [String])] = [
    (["JSONDecoder", "JSONSerialization", "PropertyListDecoder", "PropertyListSerialization", "XMLParser"], []),
    (
      [
        "jsonUTF8Bytes:", "jsonUTF8Data:", "jsonString:", "textFormatString:", "serializedBytes:", "serializedData:",
        "serializedBytes contiguousBytes:", "merge(serialized", "arrayFromJSON",
      ], ["Signaling/SignalCoding.swift", "SessionLog/RecordDoor.swift"]
    ),
    (["Yams.", "YAMLDecoder", "Parser(yaml"], ["Settings/YAMLText.swift"]),
  ]

  @Test func bytesFromOutsideGoThroughTheDoor() throws {
    let sources = Self.root.appending(path: "Sources")
    var files = 0
    for case let file as URL in FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil) ?? .init()
    {
      guard file.pathExtension == "swift", !file.lastPathComponent.hasSuffix(".pb.swift") else { continue }
      files += 1
      let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
      for (number, line) in lines.enumerated() where !line.drop(while: { $0 == " " }).hasPrefix("//") {
        for (words, doors) in Self.bareDecoders where !doors.contains(where: { file.path.hasSuffix("/" + $0) }) {
          for word in words where line.contains(word) {
            Issue.record("\(file.lastPathComponent):\(number + 1): \(word) takes bytes beside the door")
          }
        }
      }
    }
    #expect(files > 300, "only \(files) files were looked at")
  }
}
