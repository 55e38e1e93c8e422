import ArgumentParser
import JobsAPI
import Settings

/// `recbot webhooks`: receivers of what becomes of jobs.
struct WebhooksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "webhooks", abstract: "Tries receivers of webhooks.", subcommands: [WebhooksTestCommand.self])
}

/// `recbot webhooks test`.
struct WebhooksTestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test", abstract: "Has the backend send a message of the type webhook.test to a receiver.",
    discussion: """
      The message is signed as all others are, and goes the same way. The exit code is 0 when the receiver took it, and 49 \
      when it did not.
      """)

  @Argument(help: "The receiver, https://… .")
  var url: String

  @Option(help: ArgumentHelp("Form: standard or livekit (default: as the backend is set).", valueName: "form"))
  var form: String?

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    let form = try self.form.map { text in
      do throws(ValueError) { return try Values.word(text, "form of webhooks", of: WebhookTarget.Form.self) } catch {
        throw Failure(.usage, "--form: \(error)")
      }
    }
    let answer = try await backend.withClient { try await $0.test(WebhookTest(url: url, form: form)) }
    if backend.json { Console.print(try JSONLine.of(answer)) }
    guard answer.isDelivered else {
      throw Failure(.notDelivered, "\(url) did not take it: \(RoomText.oneLine(answer.message, limit: 300))")
    }
    if !backend.json { Console.print("\(url) took it: \(RoomText.oneLine(answer.message, limit: 300))") }
  }
}
