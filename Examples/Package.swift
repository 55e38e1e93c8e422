// swift-tools-version: 6.2
import PackageDescription

// A package like yours: it knows nothing of recbot but the library.
let package = Package(
  name: "Examples",
  dependencies: [.package(name: "recbot", path: "..")],
  targets: [.executableTarget(name: "bots", dependencies: [.product(name: "RecbotKit", package: "recbot")])])
