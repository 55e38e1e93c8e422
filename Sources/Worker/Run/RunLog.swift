import Logging

/// A line for the worker's log.
struct RunLog: Hashable, Sendable {
  var level: Logger.Level
  var text: String
  var metadata: [String: String] = [:]
}
