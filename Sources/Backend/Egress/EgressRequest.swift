import JobsAPI
import Signaling
import SwiftProtobuf

/// One of the ways in which LiveKit's Egress API asks for a recording, as a job. Pure.
protocol EgressRequest: Message {
  /// As `JobEgress.kind` says it.
  static var kind: String { get }
  var roomName: String { get }
  var webhooks: [Livekit_WebhookConfig] { get set }
  /// What is recorded, and how it looks.
  func look() throws(TwirpProblem) -> EgressLook
  /// The one file that is written; nil: one of a name that recbot chooses.
  func file() throws(TwirpProblem) -> EgressFile?
  /// Who is given the sound meanwhile; nil: nobody.
  var sink: JobSink? { get }
  /// The request as it is told later, without its secrets.
  var told: Self { get }
}

extension EgressRequest {
  var sink: JobSink? { nil }
  var told: Self { self }
}

/// What is recorded, and how it looks.
struct EgressLook: Hashable, Sendable {
  var layout: String
  var selection: JobSelection?
  var picture: JobPicture?
  /// What the names of files may tell besides room, time and job.
  var places: [String: String] = [:]
}

/// What the rest of the backend must know to take requests.
struct EgressRules: Sendable {
  /// The only key by which webhooks can be signed.
  var apiKey: String
  /// What is wrong with the address of a webhook; nil: nothing.
  var problemWithURL: @Sendable (String) -> String?
}

extension EgressRequest {
  /// The job that does what is asked for. Throws what can't be done, in one line.
  func job(_ rules: EgressRules) throws(TwirpProblem) -> JobRequest {
    guard !roomName.isEmpty else { throw .invalid("request has missing or invalid field: room_name") }
    let look = try look()
    let outputs = if let file = try file() { [try file.output(places: look.places)] } else { [JobOutput]() }
    let receivers = try receivers(rules)
    guard let text = try? told.jsonString(options: EgressJSON.encoding) else {
      throw TwirpProblem(.internal, "the request could not be kept")
    }
    return JobRequest(
      room: roomName, layout: look.layout, selection: look.selection, picture: look.picture, outputs: outputs,
      sinks: sink.map { [$0] }, egress: JobEgress(kind: Self.kind, request: text, webhooks: receivers))
  }

  private func receivers(_ rules: EgressRules) throws(TwirpProblem) -> [WebhookTarget] {
    guard webhooks.count <= 8 else { throw .invalid("webhooks: at most 8") }
    var receivers: [WebhookTarget] = []
    for webhook in webhooks {
      if let problem = rules.problemWithURL(webhook.url) { throw .invalid("webhooks: the address \(problem)") }
      guard webhook.signingKey.isEmpty || webhook.signingKey == rules.apiKey else {
        throw .invalid("webhooks: signing_key is not the API key of this service")
      }
      let (included, excluded) = (webhook.filterParams.includeEvents, webhook.filterParams.excludeEvents)
      receivers.append(
        WebhookTarget(
          url: webhook.url, key: rules.apiKey, form: .livekit, includeEvents: included.isEmpty ? nil : included,
          excludeEvents: excluded.isEmpty ? nil : excluded))
    }
    return receivers
  }
}

/// How messages are read and written as JSON.
enum EgressJSON {
  /// As LiveKit's own servers write: the proto's names, not those of proto3 JSON.
  static var encoding: JSONEncodingOptions {
    var options = JSONEncodingOptions()
    options.preserveProtoFieldNames = true
    options.useDeterministicOrdering = true
    return options
  }

  /// Messages inside each other.
  static let depth = 16
}
