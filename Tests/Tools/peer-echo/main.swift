import Foundation
import MediaCore
import PeerConnection
import RTP
import Transport

// One peer connection, driven by JSON lines on standard input, telling what happens in JSON lines on standard output.
// It sends back every frame and every message that it receives, so that the other side can check both directions.
//
// Commands: {"do":"offer"} {"do":"remote-offer","sdp":…} {"do":"remote-answer","sdp":…}
//   {"do":"candidate","candidate":…} {"do":"restart"} {"do":"statistics"} {"do":"close"}
// Arguments: [--turn turn:HOST:PORT USER PASSWORD]  uses relayed candidates only.

signal(SIGPIPE, SIG_IGN)

var configuration = RTCPeerConnection.Configuration()
configuration.localAddresses = ["127.0.0.1"]
let arguments = CommandLine.arguments
if let index = arguments.firstIndex(of: "--turn") {
  guard arguments.count > index + 3 else {
    FileHandle.standardError.write(Data("--turn needs URL USER PASSWORD\n".utf8))
    exit(2)
  }
  configuration.iceServers = [
    ICEServer(urls: [arguments[index + 1]], username: arguments[index + 2], credential: arguments[index + 3])
  ]
  configuration.transportPolicy = .relay
}

let loop = MediaLoop(name: "peer-echo")
let echo: Echo
do {
  let configuration = configuration
  echo = try loop.sync { () throws(PeerConnectionError) -> Echo in
    try Echo(loop: loop, configuration: configuration)
  }
} catch {
  Echo.tell(["type": "error", "text": error.description])
  exit(1)
}
while let line = readLine() {
  guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
    let command = object["do"] as? String
  else {
    Echo.tell(["type": "error", "text": "not a command"])
    continue
  }
  let sdp = object["sdp"] as? String ?? ""
  let candidate = object["candidate"] as? String ?? ""
  loop.sync { echo.handle(command, sdp: sdp, candidate: candidate) }
  if command == "close" { break }
}
loop.sync { echo.pc.close() }
loop.stop()
