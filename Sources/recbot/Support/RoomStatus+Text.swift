import MediaCore
import RecbotKit

extension RoomStatus {
  /// What the bot is doing, for people.
  var words: String {
    switch state {
    case .idle, .connecting: "joining"
    case .waitingForRoom: "waiting for"
    case .waitingForAdmission:
      waitingFor == .waitForModerator ? "waiting for somebody to come into" : "waiting to be let into"
    case .joined, .connected: "connected"
    case .resuming, .rejoining: "trying to come back (attempt \(attempts))"
    case .relaying: "trying to come back over relays (attempt \(attempts))"
    case .ended: "ended"
    }
  }

  /// The part of a JSON progress line.
  var json: String {
    let pause = nextAttemptIn.map { "\($0.milliseconds)" } ?? "null"
    let waiting = waitingFor.map { JSONText.quoted($0.rawValue) } ?? "null"
    return "\"connection\":\"\(state.rawValue)\",\"attempts\":\(attempts),\"retry_in_ms\":\(pause),"
      + "\"waiting_for\":\(waiting),\"error\":\(error.map { $0.json(action) } ?? "null")"
  }
}

extension RoomError {
  /// The error as JSON: its name, what happened, what to do, the codes of other systems, and what is done about it.
  func json(_ action: Action) -> String {
    var codes: [String] = []
    if let number = self.codes.twilio { codes.append("\"twilio\":\(number)") }
    if let number = self.codes.enablex { codes.append("\"enablex\":\(number)") }
    if let name = self.codes.livekit { codes.append("\"livekit\":\(JSONText.quoted(name))") }
    if let status = httpStatus { codes.append("\"http\":\(status)") }
    return "{\"name\":\"\(name)\",\"codes\":{\(codes.joined(separator: ","))},\"phase\":\"\(phase.rawValue)\","
      + "\"action\":\"\(action.rawValue)\",\"message\":\(JSONText.quoted(summary)),"
      + "\"remedy\":\(JSONText.quoted(remedy))}"
  }
}

extension ReconnectPolicy.State {
  /// True while the connection is lost.
  var isAway: Bool {
    switch self {
    case .resuming, .rejoining, .relaying: true
    case .idle, .connecting, .waitingForRoom, .waitingForAdmission, .joined, .connected, .ended: false
    }
  }
}
