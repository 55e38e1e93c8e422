import Foundation
import Testing

/// Time and chance are arguments below the shells: what decides can then be tested in manual time, with seeds.
@Suite struct ClockTests {
  /// Shells: they own a thread, a socket, a file or a process, and may ask what time it is.
  static let shells: Set<String> = [
    "Backend/Auth/APIKeySecret.swift", "Backend/Auth/Authenticator.swift", "Backend/BackendService.swift",
    "Backend/Egress/EgressRoutes.swift", "Backend/HTTP/Routes.swift",
    "Backend/Loops/ClaimTurns.swift", "Backend/Loops/Notifier.swift", "Backend/Loops/QueueMaintenance.swift",
    "Backend/Routes/EventRoutes.swift", "Backend/Routes/JobRoutes.swift",
    "Backend/Routes/RecordingRoutes.swift", "Backend/Routes/WebhookRoutes.swift",
    "Backend/Routes/WorkerRoutes.swift",
    "Backend/Webhooks/LiveKitWebhookRoutes.swift", "Backend/Webhooks/WebhookDispatcher.swift",
    "Compositor/ImageStore.swift", "Delivery/BackupStore.swift", "Delivery/Files/KeptFiles.swift",
    "Delivery/S3/S3Client.swift",
    "HTTPGuard/ConnectionDoor.swift", "HTTPService/ConnectionGuard.swift",
    "Jobs/Database/PostgresDatabase.swift", "JobsAPI/Timestamp.swift",
    "PeerConnection/RTCPeerConnection.swift",
    "Control/ControlServer.swift", "RecbotKit/Media/AudioSender.swift", "RecbotKit/Media/VideoSender.swift",
    "RecbotKit/Media/CustomProcessing.swift",
    "RecbotKit/Media/WebMFile.swift", "RecbotKit/Media/EncodedSenders.swift", "RecbotKit/Media/PreparedFile.swift",
    "RecbotKit/Room/ConnectOptions.swift", "RecbotKit/Room/Room.swift", "Recording/RoomRecording.swift",
    "Recording/Sequencer.swift",
    "Recording/Sinks/SinkServer.swift", "Recording/ThreadedOutput.swift",
    "RoomServer/API/RoomServiceAPI.swift", "RoomServer/API/WebhookSender.swift", "RoomServer/HTTP/HTTPHandler.swift",
    "RoomServer/HTTP/JoinDecision.swift", "RoomServer/HTTP/SignalHandler.swift", "RoomServer/Mailbox/MailboxAPI.swift",
    "RoomServer/Testing/TestService.swift",
    "RoomServer/Mailbox/MailboxService.swift", "RoomServer/Room/Room.swift", "RoomServer/Room/RoomDirectory.swift",
    "RoomServer/Room/Subscriber.swift", "RoomServer/Testing/FaultInjector.swift",
    "RoomServer/Testing/FaultySender.swift", "Rooms/Connection/RoomConnection.swift",
    "Rooms/LiveKit/LiveKitTransport+Encryption.swift",
    "Rooms/LiveKit/LiveKitTransport.swift", "Rooms/Peer/HTTPMailbox.swift",
    "Rooms/Peer/PeerTransport.swift", "Rooms/RoomModeration.swift", "Rooms/Publishing/RoomConnection+Publisher.swift",
    "Transport/MediaLoop.swift",
    "WebClient/Connections/WebExchangeHandler.swift", "WebClient/GuardedWebClient+Post.swift",
    "WebClient/GuardedWebClient.swift", "WebClient/WebSockets/SinkRelay.swift", "WebM/FileSyncer.swift",
    "Worker/AfterCommand.swift", "Worker/JournalRecovery.swift", "Worker/Run/JobRun.swift", "Worker/JobWorker.swift",
    "Worker/WorkerPage.swift", "Worker/WorkerSettings.swift",
  ]

  /// They decide something, and still ask by themselves. To be made shorter; nothing is added.
  static let owing: Set<String> = [
    "Transport/MediaTransport+DTLS.swift",
    "Transport/MediaTransport+ICE.swift", "Transport/MediaTransport.swift",
    "Transport/SCTPStack.swift",
  ]

  private static let folder = ArchitectureTests.root.appending(path: "Sources")

  /// All files of Swift, as paths in `Sources`.
  private static func sources() -> [String] {
    let all = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return all.filter { $0.hasSuffix(".swift") && !ArchitectureTests.isShown($0) }
  }

  private static func text(of path: String) throws -> String {
    try String(contentsOf: folder.appending(path: path), encoding: .utf8)
  }

  /// Files that ask for the time or for chance, as paths in `Sources`. Commands are shells, all of them.
  static func askers() throws -> Set<String> {
    let asks =
      #/ContinuousClock\.now|ContinuousClock\(\)|SuspendingClock|\bDate\(\)|Date\.now|Timestamp\.now|= \.now\b/#
    let others =
      #/MonotonicClock\.now|WallClock\.|SystemRandomNumberGenerator|UUID\(\)|NIODeadline\.now|DispatchTime\.now/#
    return try Set(
      sources().filter { path in
        guard !path.hasPrefix("recbot/") else { return false }
        return try text(of: path).split(separator: "\n").contains { line in
          let code = line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
          return code.contains(asks) || code.contains(others) || code.contains(".random(in") && !code.contains("using:")
        }
      })
  }

  @Test func whatDecidesIsGivenTheTime() throws {
    let askers = try Self.askers()
    #expect(!askers.isEmpty)
    let strangers = askers.subtracting(Self.shells).subtracting(Self.owing).sorted()
    #expect(strangers.isEmpty, "these ask for the time or for chance, which they should be given: \(strangers)")
    let done = Self.shells.union(Self.owing).subtracting(askers).sorted()
    #expect(done.isEmpty, "these ask no more; take them from the list: \(done)")
  }

  /// Where moments are `Instant`s and spans `Duration`s.
  static let timed: Set<String> = [
    "FrameEncryption", "HTTPGuard", "PeerConnection", "Platform", "RTP", "RoomServer", "Rooms", "Transport",
  ]

  @Test func momentsAreNoNumbers() throws {
    let numbers = #/\b(now|deadline|due|since|until|last(Arrival|Request|Sent|Packet|Tick)): Int64\b/#
    // Wall clocks: the seconds of tokens and certificates.
    let isWall = #/func (token|listing|choose|admit|verify)\(|notValidBefore/#
    var found: [String] = []
    for path in Self.sources() where Self.timed.contains(String(path.prefix { $0 != "/" })) {
      for line in try Self.text(of: path).split(separator: "\n") where line.contains(numbers) && !line.contains(isWall)
      {
        found.append("\(path): \(line.trimmingCharacters(in: .whitespaces))")
      }
    }
    #expect(found.isEmpty, "a moment is an Instant, a span a Duration: \(found.prefix(10))")
  }

  /// `SessionTime` is a moment of a session or of its file.
  @Test func placesInARecordingAreNoLengths() throws {
    let lengths =
      #/(?i)\b\w*(duration|length|interval|latency|delay|patience|timeout|span|lag|hold|pause|total)(: SessionTime\b| = SessionTime\.)/#
    var found: [String] = []
    for path in Self.sources() {
      for line in try Self.text(of: path).split(separator: "\n")
      where line.contains("SessionTime") && line.contains(lengths) {
        found.append("\(path): \(line.trimmingCharacters(in: .whitespaces))")
      }
    }
    #expect(found.isEmpty, "a length is a Duration: \(found.prefix(10))")
  }
}
