// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "bot",
  dependencies: [
    .package(path: "../recbot")
  ],
  targets: [
    .executableTarget(name: "bot", dependencies: [.product(name: "RecbotKit", package: "recbot")])
  ])
