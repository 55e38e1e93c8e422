import Session
import SystemKit
import Testing
import Transport

@testable import Rooms

@Suite struct PublisherTests {
  @Test func aServerThatSaysNothingIsNotWaitedForForEver() async throws {
    let server = try await CannedServer([nil])
    let loop = MediaLoop(name: "test")
    let publisher = LiveKitPublisher(
      url: "ws://127.0.0.1:\(server.port)", token: "t", loop: loop, logger: LoopbackTests.quiet,
      patience: .milliseconds(200))
    do throws(RoomError) {
      try await publisher.join()
      Issue.record("joined a server that says nothing")
    } catch {
      #expect(error.kind == .timeout)
    }
    do throws(RoomError) {
      _ = try await publisher.publish(.init(name: "camera", source: .camera))
      Issue.record("published without a server")
    } catch {
      #expect(error.kind == .connectionLost)
    }
    #expect(await server.allClosed())
    await server.stop()
    loop.stop()
  }
}
