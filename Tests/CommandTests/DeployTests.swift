import Foundation
import JobsAPI
import Settings
import Testing
import Yams

@testable import Backend
@testable import Worker
@testable import recbot

/// What stands in `deploy/` is true: it can be read, and everything that it names exists.
@Suite struct DeployTests {
  static let yamlFiles = Project.files(in: "deploy", endings: [".yaml", ".yml"])
  static let texts = Project.files(
    in: "deploy", endings: [".yaml", ".service", ".md", ".json", "Dockerfile", "Dockerfile.dockerignore"])

  @Test func thereIsWhatThereShouldBe() {
    let names = Set(Project.files(in: "deploy", endings: [""]))
    for name in [
      "deploy/systemd/recbot-serve.service", "deploy/systemd/recbot-worker@.service", "deploy/Dockerfile",
      "deploy/compose.yaml", "deploy/kubernetes/kustomization.yaml", "deploy/monitoring/alerts.yaml",
      "deploy/monitoring/grafana-dashboard.json", "deploy/README.md",
    ] { #expect(names.contains(name), "\(name) is missing") }
  }

  @Test(arguments: yamlFiles) func yamlCanBeRead(path: String) throws {
    let documents = try Array(Yams.load_all(yaml: try Project.text(path)))
    #expect(!documents.isEmpty && documents.allSatisfy { $0 is [String: Any] }, "\(path)")
  }

  /// Lists of words, and strings, at the place of a command somewhere in a document.
  private func commands(in value: Any?, keys: Set<String>) -> [[String]] {
    var found: [[String]] = []
    if let map = value as? [String: Any] {
      for (key, value) in map {
        if keys.contains(key), let words = value as? [Any] {
          found.append(words.map { "\($0)" })
        } else {
          found += commands(in: value, keys: keys)
        }
      }
    } else if let list = value as? [Any] {
      for value in list { found += commands(in: value, keys: keys) }
    }
    return found
  }

  /// Every command line of recbot in `deploy/`, with its place.
  private func commandLines() throws -> [(place: String, words: [String])] {
    var lines: [(String, [String])] = []
    for path in Self.yamlFiles {
      for document in try Yams.load_all(yaml: try Project.text(path)) {
        for words in commands(in: document, keys: ["args"]) { lines.append((path, words)) }
        guard let services = (document as? [String: Any])?["services"] as? [String: [String: Any]] else { continue }
        for (name, service) in services where service["image"] as? String == "recbot" {
          if let words = service["command"] as? [Any] { lines.append(("\(path) \(name)", words.map { "\($0)" })) }
          for words in commands(in: service["healthcheck"], keys: ["test"]) where words.prefix(2) == ["CMD", "recbot"] {
            lines.append(("\(path) \(name)", Array(words.dropFirst(2))))
          }
        }
      }
    }
    for path in Project.files(in: "deploy", endings: [".service"]) {
      let text = try Project.text(path).replacing("\\\n", with: " ")
      for line in try matches(#"^Exec[A-Za-z]+=/usr/local/bin/recbot (.*)$"#, in: text) {
        lines.append((path, CommandLineReader.words(line)))
      }
    }
    let dockerfile = try Project.text("deploy/Dockerfile")
    for list in try matches(#"^(?:CMD|HEALTHCHECK .* CMD) (\[.*\])$"#, in: dockerfile) {
      let words = try #require(try JSONSerialization.jsonObject(with: Data(list.utf8)) as? [String])
      lines.append(("deploy/Dockerfile", words.first == "recbot" ? Array(words.dropFirst()) : words))
    }
    for path in Self.texts + ["README.md"] + Project.files(in: "Sources/recbot/Documentation.docc", endings: [".md"]) {
      let text = try Project.text(path).replacing("\\\n", with: " ")
      // In code of Markdown, and in the comments of files.
      for line in try matches(
        #"(?:^|`|# +|\$ +|exec \w+ |\()(?:sudo -u recbot )?(?:\.build/release/)?recbot ([a-z][^`\n|)]*)"#, in: text)
      {
        let words = CommandLineReader.words(line).prefix { !["&", "#", ">", "&&", ";"].contains($0) }
        guard let first = words.first, Self.commandNames.contains(first) else { continue }
        lines.append((path, Array(words)))
      }
    }
    return lines
  }

  static let commandNames = Set(Recbot.configuration.subcommands.compactMap { $0.configuration.commandName })

  @Test func everyCommandLineIsUnderstood() throws {
    let lines = try commandLines()
    for path in [
      "deploy/systemd/recbot-worker@.service", "deploy/kubernetes/worker.yaml", "deploy/compose.yaml worker",
    ] {
      #expect(lines.contains { $0.place == path && $0.words.first == "worker" }, "\(path): no worker was found")
    }
    // Many stand in several places, and reading one takes a debug build a fifth of a second.
    var complaints: [[String]: String?] = [:]
    // In tables of Markdown `a\|b` stands for several commands.
    for (place, words) in lines where !words.contains(where: { $0.hasSuffix("\\") || $0.hasPrefix("…") }) {
      let known = complaints[words] ?? CommandLineReader.complaint(words)
      complaints[words] = .some(known)
      guard let complaint = known else { continue }
      // Prose names commands without all that they need.
      if place.hasSuffix(".md"), complaint.contains("Missing expected argument") { continue }
      Issue.record("\(place): recbot \(words.joined(separator: " ")): \(complaint)")
    }
  }

  @Test func everyVariableIsASetting() throws {
    let known = Set(AnySetting.all.flatMap(\.variables) + ["RECBOT_CONFIG"])
    // Those of LiveKit's own server.
    let others: Set = ["LIVEKIT_KEYS", "LIVEKIT_CONFIG"]
    for path in Self.texts {
      for name in try matches(#"\b(?:RECBOT|LIVEKIT|AWS)_[A-Z0-9_]*[A-Z0-9]\b"#, in: try Project.text(path)) {
        #expect(known.contains(name) || others.contains(name), "\(path): \(name) is no setting")
      }
    }
  }

  @Test func theSettingsForKubernetesAreGood() {
    let path = Project.root.appending(path: "deploy/kubernetes/recbot.yaml").path
    #expect(ConfigReport(file: path, environment: [:]).problems.isEmpty)
  }

  @Test func theKustomizationNamesEveryManifest() throws {
    let text = try Project.text("deploy/kubernetes/kustomization.yaml")
    let document = try #require(try Yams.load(yaml: text) as? [String: Any])
    let resources = try #require(document["resources"] as? [String])
    let files = Project.files(in: "deploy/kubernetes", endings: [".yaml"]).map {
      $0.split(separator: "/").last.map(String.init) ?? ""
    }
    #expect(resources.sorted() == files.filter { !["kustomization.yaml", "recbot.yaml"].contains($0) })
  }

  @Test func secretsAreOnlyReferredTo() throws {
    for path in Self.yamlFiles {
      for document in try Yams.load_all(yaml: try Project.text(path)) {
        for (name, value) in variables(in: document) {
          let isSecret = AnySetting.all.contains { $0.isSecret && $0.variables.contains(name) }
          guard isSecret, let value else { continue }
          #expect(value.hasPrefix("${"), "\(path): \(name) has a value")
        }
      }
    }
  }

  /// The environment of containers: `name`/`value` pairs, and maps called `environment`.
  private func variables(in value: Any?) -> [(String, String?)] {
    if let map = value as? [String: Any] {
      var found = map.values.flatMap { variables(in: $0) }
      if let name = map["name"] as? String { found.append((name, map["value"] as? String)) }
      for (name, value) in map["environment"] as? [String: Any] ?? [:] { found.append((name, "\(value)")) }
      return found
    }
    return (value as? [Any] ?? []).flatMap { variables(in: $0) }
  }

  @Test func everyMetricIsOneThatIsExported() throws {
    var exported: Set<String> = []
    for path in Project.files(in: "Sources/Backend", endings: [".swift"]) {
      exported.formUnion(try matches(#"(?:family|single)\(\s*"(recbot_[a-z_]+)""#, in: try Project.text(path)))
    }
    let standing = JobWorker.Status(
      worker: WorkerStatus(running: 0, capacity: 1), limits: Admission.Limits(cores: 1, memory: 1))
    for text in [BackendMetrics().text, WorkerMetrics().text(standing)] {
      for family in try matches(#"# TYPE ([a-z_]+ [a-z]+)"#, in: text) {
        let words = family.split(separator: " ").map(String.init)
        exported.formUnion(words[1] == "histogram" ? ["_bucket", "_sum", "_count"].map { words[0] + $0 } : [words[0]])
      }
    }
    #expect(exported.count > 8)
    var used = 0
    for path in Self.texts where !path.hasSuffix(".md") {
      for name in try matches(#"\brecbot_[a-z_]+\b"#, in: try Project.text(path)) {
        used += 1
        #expect(exported.contains(name), "\(path): nothing exports \(name)")
      }
    }
    #expect(used > 20)
  }

  @Test func everyPathThatIsProbedIsServed() throws {
    let served = try Project.text("Sources/Backend/openapi.yaml")
    for path in Self.yamlFiles {
      for probed in try matches(#"httpGet: \{path: ([^,]+),"#, in: try Project.text(path)) {
        #expect(served.contains("\n  \(probed):"), "\(path): \(probed)")
      }
    }
  }

  @Test func theDashboardIsWhatGrafanaReads() throws {
    let data = Data(try Project.text("deploy/monitoring/grafana-dashboard.json").utf8)
    let dashboard = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let panels = try #require(dashboard["panels"] as? [[String: Any]])
    #expect(Set(panels.compactMap { $0["id"] as? Int }).count == panels.count)
    var taken: Set<String> = []
    for panel in panels {
      let place = try #require(panel["gridPos"] as? [String: Int])
      let (x, y, w, h) = (place["x"] ?? 0, place["y"] ?? 0, place["w"] ?? 0, place["h"] ?? 0)
      #expect(x + w <= 24 && w > 0 && h > 0)
      for column in x..<(x + w) {
        for row in y..<(y + h) { #expect(taken.insert("\(column) \(row)").inserted, "panels overlap") }
      }
    }
  }
}
