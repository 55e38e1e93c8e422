/// What can stand between the rooms and the outside, for tests: a decorator of which the rooms know nothing but this.
/// Called on the directory's loop.
protocol RoomInterposer: AnyObject {
  /// Why a join is refused; nil lets it in.
  func refusal(_ request: JoinRequest) -> JoinGate.Refusal?
  /// The most participants that a room takes for now; nil: as its settings say.
  func limit(room: String) -> Int?
  /// A participant has a signal connection, its first or another one.
  func signalOpened(_ participant: ClientSession)
  /// A participant has another media connection.
  func mediaOpened(_ participant: ClientSession)
}
