// swift-tools-version: 6.2
import PackageDescription

// Everything that reads bytes from the network or from foreign files, compiled a second time for libFuzzer and
// AddressSanitizer (`run.sh` does it). `Sources` is a link to the project's; what fuzz targets do not need is left
// out, so that this is built within a minute or two.
let package = Package(
  name: "Fuzz",
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-protobuf.git", from: "1.39.0"),
    .package(url: "https://github.com/jpsim/Yams.git", from: "6.2.2"),
  ],
  targets: [
    // The entry, and the targets that need more of a module than its public face.
    .executableTarget(
      name: "Fuzz",
      dependencies: [
        "FuzzTargets", "CNice", "Codecs", "Compositor", "Control", "Digests", "FrameEncryption", "HTTPGuard",
        "LayoutFiles", "Layouts", "MediaCore", "PeerConnection", "Platform", "Rooms",
        "RTP", "SDP", "Session", "SessionLog", "Settings", "Signaling", "Transport",
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOWebSocket", package: "swift-nio"),
      ], path: "Main"),
    // The targets that unit tests use too, with seeded inputs.
    .target(
      name: "FuzzTargets", dependencies: ["MediaCore", "Rooms", "RTP", "SDP", "Signaling", "WebM"], path: "Bodies"),
    .target(name: "MediaCore"),
    .target(name: "Platform", dependencies: ["MediaCore"]),
    .target(name: "RTP", dependencies: ["MediaCore"]),
    .target(name: "SDP", dependencies: ["MediaCore"]),
    // The offer/answer machine.
    .target(
      name: "PeerConnection", dependencies: ["MediaCore", "RTP", "SDP"],
      sources: ["Negotiation", "PeerConnectionError.swift"]),
    // All of it: DTLS, SRTP and SCTP are looked at together with their libraries.
    .target(
      name: "Transport", dependencies: ["MediaCore", "Platform", "TLS", "CNice", "COpenSSL", "CSRTP", "CUsrsctp"]),
    .target(name: "TLS", dependencies: ["MediaCore", "COpenSSL"]),
    .systemLibrary(name: "CNice", pkgConfig: "nice"),
    .systemLibrary(name: "COpenSSL"),
    .systemLibrary(name: "CCrypto"),
    .systemLibrary(name: "CSRTP"),
    .systemLibrary(name: "CUsrsctp"),
    // What a request's head must be; the door over it needs more.
    .target(
      name: "HTTPGuard", dependencies: [.product(name: "NIOHTTP1", package: "swift-nio")], sources: ["HeadRules.swift"]),
    .target(name: "Digests", dependencies: ["CCrypto"]),
    .target(name: "FrameEncryption", dependencies: ["Digests", "MediaCore"]),
    .target(
      name: "Signaling",
      dependencies: ["MediaCore", "Digests", "SDP", .product(name: "SwiftProtobuf", package: "swift-protobuf")],
      exclude: [
        "Protobuf/livekit_egress.proto", "Protobuf/livekit_models.proto", "Protobuf/livekit_room.proto",
        "Protobuf/livekit_rtc.proto",
      ]),
    // Errors and their texts, and messages of data channels.
    .target(
      name: "Rooms", dependencies: ["MediaCore", "Session", "Signaling", "CZlib"],
      sources: [
        "RoomError.swift", "RoomError+Table.swift", "RoomSelection.swift", "RoomState.swift",
        "LiveKit/DataReceiver.swift", "LiveKit/Inflate.swift", "LiveKit/LiveKitRoster.swift",
        "LiveKit/RoomChanges.swift", "LiveKit/TextStreams.swift",
      ]),
    // The control socket's requests, answers and connections.
    .target(
      name: "Control", dependencies: ["MediaCore", "Platform"],
      sources: ["ControlMessage.swift", "ControlConnection.swift", "RunDirectory.swift"]),
    .target(name: "Layouts", dependencies: ["MediaCore"]),
    // Files of settings and layouts.
    .target(
      name: "Settings",
      dependencies: ["Layouts", "FrameEncryption", "MediaCore", .product(name: "Yams", package: "Yams")]),
    .target(
      name: "LayoutFiles",
      dependencies: ["Settings", "Layouts", "MediaCore", .product(name: "Yams", package: "Yams")],
      resources: [.embedInCode("Gallery")]),
    // Pictures that others name.
    .target(name: "Compositor", dependencies: ["MediaCore", "Layouts", "CYUV", "CPango", "CJPEG"]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib"),
    .target(name: "CYUV"),
    .target(name: "CJPEG"),
    .systemLibrary(name: "CPango", pkgConfig: "pangocairo"),
    .target(name: "Session", dependencies: ["MediaCore", "Layouts"]),
    .target(
      name: "SessionLog",
      dependencies: [
        "MediaCore", "Platform", "Layouts", "Session", .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ],
      exclude: ["Protobuf/session_log.proto"]),
    .target(name: "Codecs", dependencies: ["MediaCore", "CVPX", "CAVCodec", "CDav1d", "CAOM", "COpus"]),
    .systemLibrary(name: "CVPX", pkgConfig: "vpx"),
    .systemLibrary(name: "CAVCodec", pkgConfig: "libavcodec"),
    .systemLibrary(name: "CDav1d", pkgConfig: "dav1d"),
    .systemLibrary(name: "CAOM", pkgConfig: "aom"),
    .systemLibrary(name: "COpus", pkgConfig: "opus"),
    .target(name: "WebM", dependencies: ["MediaCore", "Platform", "CWebMParser"]),
    .target(name: "CWebMParser", linkerSettings: [.linkedLibrary("webm")]),
  ],
  swiftLanguageModes: [.v6]
)
