/// The answer to `GET /v1/jobs/{id}`: a job, and what is known of it besides.
public struct JobDetail: Codable, Hashable, Sendable {
  /// The job as it stands.
  public var job: Job
  /// Webhooks about it that no receiver has taken so far; empty: none.
  public var undelivered: [UndeliveredWebhook]
  /// Why no worker takes it though its time has come; nil: one does, or is about to.
  public var waitsFor: String?

  /// Makes an answer; see the properties.
  public init(job: Job, undelivered: [UndeliveredWebhook] = [], waitsFor: String? = nil) {
    self.job = job
    self.undelivered = undelivered
    self.waitsFor = waitsFor
  }

  private enum CodingKeys: String, CodingKey {
    case undelivered = "undelivered_webhooks"
    case waitsFor = "waits_for"
  }

  /// Reads the job's own fields, and the others beside them.
  public init(from decoder: any Decoder) throws {
    job = try Job(from: decoder)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    undelivered = try values.decodeIfPresent([UndeliveredWebhook].self, forKey: .undelivered) ?? []
    waitsFor = try values.decodeIfPresent(String.self, forKey: .waitsFor)
  }

  /// Writes them so.
  public func encode(to encoder: any Encoder) throws {
    try job.encode(to: encoder)
    var values = encoder.container(keyedBy: CodingKeys.self)
    if !undelivered.isEmpty { try values.encode(undelivered, forKey: .undelivered) }
    try values.encodeIfPresent(waitsFor, forKey: .waitsFor)
  }
}

/// A webhook that was sent in vain.
public struct UndeliveredWebhook: Codable, Hashable, Sendable {
  /// What it tells.
  public var event: JobEventKind
  /// Its receiver.
  public var url: String
  /// How often it was sent.
  public var attempts: Int
  /// True when it is not sent again.
  public var isGivenUp: Bool
  /// What came of the last attempt, in one line.
  public var reason: String
  /// Makes one.
  public init(event: JobEventKind, url: String, attempts: Int, isGivenUp: Bool, reason: String) {
    self.event = event
    self.url = url
    self.attempts = attempts
    self.isGivenUp = isGivenUp
    self.reason = reason
  }

  enum CodingKeys: String, CodingKey {
    case event, url, attempts, reason
    case isGivenUp = "given_up"
  }
}

/// The body of `POST /v1/webhooks/test`.
public struct WebhookTest: Codable, Hashable, Sendable {
  /// Where to send a message.
  public var url: String
  /// In which form; nil: the backend's own.
  public var form: WebhookTarget.Form?
  /// Makes a request; see the properties.
  public init(url: String, form: WebhookTarget.Form? = nil) {
    self.url = url
    self.form = form
  }

  enum CodingKeys: String, CodingKey, CaseIterable { case url, form }
}

/// The answer: what came of it.
public struct WebhookTestAnswer: Codable, Hashable, Sendable {
  /// True when the receiver took it (HTTP 200 to 299).
  public var isDelivered: Bool
  /// The receiver's status; nil: it gave no answer.
  public var status: Int?
  /// What came of it, in one line.
  public var message: String
  /// Makes an answer; see the properties.
  public init(isDelivered: Bool, status: Int? = nil, message: String) {
    self.isDelivered = isDelivered
    self.status = status
    self.message = message
  }

  enum CodingKeys: String, CodingKey {
    case status, message
    case isDelivered = "delivered"
  }
}
