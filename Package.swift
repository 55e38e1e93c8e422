// swift-tools-version: 6.2
import PackageDescription

// The targets and their arrows are those of Sources/recbot/Documentation.docc/Architecture.md;
// Tests/ArchitectureTests holds the sources' imports to them.

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nio: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
  .product(name: "NIOHTTP1", package: "swift-nio"),
  .product(name: "NIOWebSocket", package: "swift-nio"),
]
let nioFoundation = Target.Dependency.product(name: "NIOFoundationCompat", package: "swift-nio")
let protobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let signals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")

let package = Package(
  name: "recbot",
  products: [
    .executable(name: "recbot", targets: ["recbot"]),
    .library(name: "RecbotKit", targets: ["RecbotKit"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-protobuf.git", from: "1.39.0"),
    .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
    .package(url: "https://github.com/jpsim/Yams.git", from: "6.2.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.2"),
  ],
  targets: [
    .executableTarget(
      name: "recbot",
      dependencies: [
        "RecbotKit", "Recording", "Control", "SessionLog", "LayoutFiles", "RoomServer", "Settings",
        "Synthetic", "Codecs",
        "WebM", "Compositor",
        "Layouts",
        "PeerConnection", "Transport", "RTP", "Session", "Signaling", "FrameEncryption", "WebClient", "Backend",
        "Worker", "Delivery", "Jobs", "JobsAPI", "Platform", "MediaCore", arguments, signals, lifecycle, logging,
      ]),
    .target(
      name: "RecbotKit",
      dependencies: [
        "Rooms", "Session", "Compositor", "Codecs", "AudioMix", "WebM", "Signaling", "FrameEncryption", "Transport",
        "Platform", "MediaCore", logging,
      ]),
    .target(
      name: "Backend",
      dependencies: [
        "Jobs", "JobsAPI", "WebClient", "HTTPService", "HTTPGuard", "Signaling", "Digests", "MediaCore", hummingbird,
        hummingbirdCore, metrics, protobuf, lifecycle, logging,
      ] + nio,
      resources: [.embedInCode("openapi.yaml")]),
    .target(
      name: "Worker",
      dependencies: [
        "JobsAPI", "Delivery", "WebClient", "HTTPService", "HTTPGuard", "WebM", "Digests", "Platform", "MediaCore",
        hummingbird,
        hummingbirdCore, metrics, subprocess, logging,
      ]
        + nio),
    .target(
      name: "Rooms",
      dependencies: [
        "Signaling", "PeerConnection", "Transport", "Session", "FrameEncryption", "WebClient", "CZlib", "Platform",
        "TLS", "MediaCore", logging,
      ]
        + nio),
    .target(
      name: "RoomServer",
      dependencies: [
        "Signaling", "PeerConnection", "Transport", "HTTPGuard", "WebClient", "RTP", "SDP", "Platform", "MediaCore",
        protobuf,
        logging,
      ] + nio,
      // The page of two-party rooms becomes part of the program.
      resources: [
        .embedInCode("Mailbox/Page/peer.html"), .embedInCode("Mailbox/Page/peer.css"),
        .embedInCode("Mailbox/Page/peer.js"), .embedInCode("Mailbox/Page/peer-flow.js"),
      ]),
    .target(
      name: "Recording",
      dependencies: [
        "Session", "SessionLog", "Compositor", "Layouts", "Codecs", "AudioMix", "WebM", "Platform", "MediaCore",
        logging,
      ]),
    .target(
      name: "Delivery", dependencies: ["WebClient", "WebM", "Digests", "Platform", "MediaCore", logging] + nio),
    .target(name: "Jobs", dependencies: ["JobsAPI", "CPostgres", "Platform", "MediaCore", grdb]),
    .target(name: "Settings", dependencies: ["Layouts", "FrameEncryption", "MediaCore", yams]),
    .target(
      name: "LayoutFiles", dependencies: ["Settings", "Layouts", "MediaCore", yams],
      resources: [.embedInCode("Gallery")]),
    .target(name: "WebClient", dependencies: ["TLS", "Platform", "MediaCore"] + nio),
    .target(name: "Control", dependencies: ["Platform", "MediaCore"]),
    .target(name: "JobsAPI", dependencies: ["Digests", "Platform", "MediaCore"]),
    .target(name: "HTTPService", dependencies: ["HTTPGuard", hummingbirdCore, metrics, logging] + nio),
    .target(name: "HTTPGuard", dependencies: ["Platform", "MediaCore", logging] + nio),
    .target(
      name: "SessionLog", dependencies: ["Session", "Layouts", "Platform", "MediaCore", protobuf],
      exclude: ["Protobuf/session_log.proto"]),
    .target(name: "PeerConnection", dependencies: ["RTP", "SDP", "Transport", "Platform", "MediaCore"]),
    .target(name: "Compositor", dependencies: ["MediaCore", "Layouts", "CYUV", "CPango", "CJPEG"]),
    .target(
      name: "Signaling", dependencies: ["MediaCore", "Digests", protobuf],
      exclude: [
        "Protobuf/livekit_egress.proto", "Protobuf/livekit_models.proto", "Protobuf/livekit_room.proto",
        "Protobuf/livekit_rtc.proto",
      ]),
    .target(name: "Session", dependencies: ["MediaCore", "Layouts"]),
    .target(name: "Codecs", dependencies: ["MediaCore", "CVPX", "CAVCodec", "CDav1d", "CAOM", "COpus"]),
    .target(name: "TLS", dependencies: ["MediaCore", "COpenSSL"]),
    .target(
      name: "Transport", dependencies: ["TLS", "Platform", "MediaCore", "CNice", "COpenSSL", "CSRTP", "CUsrsctp"]),
    .target(name: "WebM", dependencies: ["Platform", "MediaCore", "CWebMParser"]),
    .target(name: "FrameEncryption", dependencies: ["Digests", "MediaCore"]),
    .target(name: "Digests", dependencies: ["CCrypto"]),
    .target(name: "RTP", dependencies: ["MediaCore"]),
    .target(name: "SDP", dependencies: ["MediaCore"]),
    .target(name: "Layouts", dependencies: ["MediaCore"]),
    .target(name: "AudioMix", dependencies: ["MediaCore", "CEBUR128", "CSpeexDSP"]),
    .target(name: "Synthetic", dependencies: ["MediaCore"]),
    .target(name: "Platform", dependencies: ["MediaCore"]),
    .target(name: "MediaCore"),
    // C
    .systemLibrary(name: "CNice", pkgConfig: "nice", providers: [.apt(["libnice-dev"])]),
    .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSRTP", providers: [.apt(["libsrtp2-dev"])]),
    .systemLibrary(name: "CUsrsctp", providers: [.apt(["libusrsctp-dev"])]),
    .systemLibrary(name: "CVPX", pkgConfig: "vpx", providers: [.apt(["libvpx-dev"])]),
    .systemLibrary(name: "CAVCodec", pkgConfig: "libavcodec", providers: [.apt(["libavcodec-dev"])]),
    .systemLibrary(name: "CDav1d", pkgConfig: "dav1d", providers: [.apt(["libdav1d-dev"])]),
    .systemLibrary(name: "CAOM", pkgConfig: "aom", providers: [.apt(["libaom-dev"])]),
    .systemLibrary(name: "COpus", pkgConfig: "opus", providers: [.apt(["libopus-dev"])]),
    .systemLibrary(name: "CEBUR128", providers: [.apt(["libebur128-dev"])]),
    .systemLibrary(name: "CSpeexDSP", pkgConfig: "speexdsp", providers: [.apt(["libspeexdsp-dev"])]),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(name: "CYUV"),
    .target(name: "CJPEG"),
    .systemLibrary(name: "CPango", pkgConfig: "pangocairo", providers: [.apt(["libpango1.0-dev"])]),
    .target(name: "CWebMParser", linkerSettings: [.linkedLibrary("webm")]),
    // Tests
    .target(name: "TestKit", dependencies: ["MediaCore"], path: "Tests/TestKit"),
    .testTarget(name: "TestKitTests", dependencies: ["TestKit", "MediaCore"]),
    .executableTarget(name: "wire", dependencies: ["TestKit", "MediaCore", arguments], path: "Tests/Tools/wire"),
    .testTarget(name: "ArchitectureTests"),
    .testTarget(name: "MediaCoreTests", dependencies: ["MediaCore"]),
    .testTarget(name: "JobsAPITests", dependencies: ["JobsAPI"]),
    .testTarget(name: "PlatformTests", dependencies: ["Platform", "MediaCore"]),
    .testTarget(name: "DigestsTests", dependencies: ["Digests"]),
    .testTarget(
      name: "FrameEncryptionTests", dependencies: ["FrameEncryption", "Digests", "CCrypto", "MediaCore", "TestKit"]),
    .testTarget(name: "AudioMixTests", dependencies: ["AudioMix", "MediaCore"]),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "recbot", "Backend", "Worker", "Jobs", "JobsAPI", "Recording", "Rooms", "Session", "Settings", "WebM",
        "MediaCore",
        "TestKit", yams, arguments,
      ]),
    .testTarget(name: "CodecsTests", dependencies: ["Codecs", "Synthetic", "MediaCore"]),
    .testTarget(
      name: "CompositorTests", dependencies: ["Compositor", "Layouts", "MediaCore"],
      exclude: ["Goldens", "Images"]),
    .testTarget(
      name: "BackendTests",
      dependencies: [
        "Backend", "Jobs", "JobsAPI", "Delivery", "WebClient", "Signaling", "Digests", "MediaCore", "DatabaseKit",
        protobuf, logging, nioFoundation,
      ] + nio),
    .testTarget(name: "ControlTests", dependencies: ["Control", "Platform", "MediaCore"]),
    .testTarget(name: "DeliveryTests", dependencies: ["Delivery", "WebClient", "MediaCore", logging] + nio),
    .target(
      name: "SystemKit",
      dependencies: [
        "COpenSSL", .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
      ], path: "Tests/SystemKit"),
    .target(name: "DatabaseKit", dependencies: ["SystemKit"], path: "Tests/DatabaseKit"),
    .testTarget(
      name: "JobsTests", dependencies: ["Jobs", "JobsAPI", "MediaCore", "DatabaseKit", "SystemKit", "queue-workers"]),
    .executableTarget(
      name: "queue-workers", dependencies: ["Jobs", "JobsAPI", "MediaCore", "DatabaseKit"],
      path: "Tests/Tools/queue-workers"),
    .testTarget(
      name: "WorkerTests",
      dependencies: ["Worker", "Backend", "Jobs", "JobsAPI", "Delivery", "WebClient", "WebM", "MediaCore", logging]
        + nio),
    .testTarget(
      name: "LayoutsTests", dependencies: ["Layouts", "LayoutFiles", "Settings", "TestKit", "MediaCore"],
      exclude: ["Goldens", "Twilio"]),
    .testTarget(
      name: "PreviewTests",
      dependencies: ["recbot", "Compositor", "CPango", "Layouts", "LayoutFiles", "Settings", "WebM", "MediaCore"]),
    .testTarget(name: "HTTPServiceTests", dependencies: ["HTTPService", metrics]),
    .testTarget(name: "HTTPGuardTests", dependencies: ["HTTPGuard", "MediaCore", "TestKit"] + nio),
    .testTarget(
      name: "PeerConnectionTests",
      dependencies: ["PeerConnection", "RTP", "SDP", "Transport", "TestKit", "Platform", "MediaCore"]),
    .testTarget(name: "RTPTests", dependencies: ["RTP", "MediaCore", "FuzzTargets", "TestKit"]),
    .testTarget(name: "SDPTests", dependencies: ["SDP", "MediaCore"]),
    .testTarget(
      name: "RecordingTests",
      dependencies: [
        "Recording", "SessionLog", "LayoutFiles", "Settings", "Compositor", "Codecs", "Layouts", "Session", "Synthetic",
        "WebM", "Platform", "TestKit", "MediaCore", logging,
      ],
      exclude: ["Goldens"]),
    .testTarget(
      name: "RoomServerTests",
      dependencies: ["RoomServer", "Signaling", "RTP", "MediaCore", "TestKit", protobuf, logging] + nio),
    .testTarget(
      name: "RoomsTests",
      dependencies: [
        "Rooms", "RoomServer", "Signaling", "PeerConnection", "Session", "Transport", "FrameEncryption", "TLS",
        "COpenSSL",
        "Platform", "MediaCore", "SystemKit", "TestKit", logging,
      ] + nio),
    .testTarget(
      name: "RecbotKitTests",
      dependencies: [
        "RecbotKit", "RoomServer", "Signaling", "Codecs", "Platform", "MediaCore", "SystemKit", "TestKit", logging,
      ]),
    .testTarget(
      name: "SessionLogTests",
      dependencies: ["SessionLog", "Session", "Layouts", "LayoutFiles", "TestKit", "MediaCore"]),
    .executableTarget(
      name: "hearing", dependencies: ["Session", "AudioMix", "Layouts", "RTP", "MediaCore", arguments],
      path: "Tests/Tools/hearing"),
    .testTarget(name: "SessionTests", dependencies: ["Session", "Layouts", "TestKit", "MediaCore"]),
    .testTarget(name: "SettingsTests", dependencies: ["Settings", "LayoutFiles", "Layouts", "MediaCore"]),
    .testTarget(name: "LayoutFilesTests", dependencies: ["LayoutFiles", "Layouts", "MediaCore"]),
    .testTarget(name: "SignalingTests", dependencies: ["Signaling", "Digests", "MediaCore", protobuf]),
    .testTarget(name: "SyntheticTests", dependencies: ["Synthetic", "MediaCore"]),
    .testTarget(name: "WebClientTests", dependencies: ["WebClient", "TLS", "MediaCore", "SystemKit"] + nio),
    .testTarget(
      name: "TransportTests",
      dependencies: ["Transport", "CNice", "Platform", "MediaCore", "SystemKit", "TestKit"]),
    .target(
      name: "FuzzTargets", dependencies: ["RTP", "SDP", "Signaling", "Rooms", "WebM", "MediaCore"],
      path: "Tests/Fuzz/Bodies"),
    .testTarget(
      name: "WebMTests",
      dependencies: ["WebM", "CWebMParser", "MediaCore", "FuzzTargets", "SystemKit", "TestKit", "webm-writer-loop"]),
    .executableTarget(
      name: "webm-writer-loop", dependencies: ["WebM", "MediaCore"], path: "Tests/Tools/webm-writer-loop"),
    .executableTarget(
      name: "peer-echo",
      dependencies: ["PeerConnection", "RTP", "SDP", "Transport", "Codecs", "Platform", "MediaCore"],
      path: "Tests/Tools/peer-echo"),
    // What `Examples` is for others, built here with the same modules.
    .executableTarget(name: "bots", dependencies: ["RecbotKit"], path: "Examples/Sources/bots"),
    .executableTarget(name: "kit-bot", dependencies: ["RecbotKit"], path: "Tests/Tools/kit-bot"),
    .executableTarget(
      name: "codec-bench", dependencies: ["Codecs", "AudioMix", "Synthetic", "MediaCore"],
      path: "Tests/Benchmarks/codec-bench"),
    .executableTarget(
      name: "frontier-bench", dependencies: ["BenchKit", "Codecs", "Synthetic", "MediaCore"],
      path: "Tests/Benchmarks/frontier-bench"),
    .executableTarget(
      name: "decoder-bench", dependencies: ["Codecs", "Synthetic", "MediaCore"], path: "Tests/Benchmarks/decoder-bench"),
    .executableTarget(
      name: "backend-bench", dependencies: ["WebClient", nioFoundation] + nio, path: "Tests/Benchmarks/backend-bench"),
    .executableTarget(
      name: "fleet-bench", dependencies: ["Jobs", "JobsAPI", "MediaCore"], path: "Tests/Benchmarks/fleet-bench"),
    .executableTarget(
      name: "token-bench", dependencies: ["Signaling", "Digests", "MediaCore"], path: "Tests/Benchmarks/token-bench"),
    .target(name: "BenchKit", path: "Tests/Benchmarks/BenchKit"),
    .executableTarget(name: "room-bench", dependencies: ["BenchKit"], path: "Tests/Benchmarks/room-bench"),
    .executableTarget(name: "curve-bench", dependencies: ["BenchKit"], path: "Tests/Benchmarks/curve-bench"),
    .executableTarget(
      name: "kit-bench", dependencies: ["BenchKit", "RecbotKit", "Codecs", "Synthetic", "MediaCore"],
      path: "Tests/Benchmarks/kit-bench"),
    .target(name: "CAllocationCount", path: "Tests/Benchmarks/CAllocationCount"),
    .executableTarget(
      name: "limits-bench",
      dependencies: [
        "PeerConnection", "Transport", "Platform", "RTP", "Codecs", "Synthetic", "Session", "SessionLog", "Layouts",
        "MediaCore", "CAllocationCount",
      ],
      path: "Tests/Benchmarks/limits-bench"),
    .executableTarget(
      name: "session-bench", dependencies: ["Session", "Layouts", "MediaCore", "CAllocationCount"],
      path: "Tests/Benchmarks/session-bench"),
    .executableTarget(
      name: "compose-bench", dependencies: ["BenchKit", "SessionLog", "Session", "WebM", "Layouts", "MediaCore"],
      path: "Tests/Benchmarks/compose-bench"),
    .executableTarget(
      name: "compositor-bench", dependencies: ["Compositor", "Layouts", "MediaCore", "CYUV", "CAllocationCount"],
      path: "Tests/Benchmarks/compositor-bench"),
  ],
  swiftLanguageModes: [.v6]
)
