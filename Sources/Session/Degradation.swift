/// What a recording does without while it may not take more of the processor, or cannot keep up. Each step keeps what the steps
/// before it save; sound is never touched. The order is that of what a viewer misses least.
public enum DegradationStep: Int, CaseIterable, Comparable, Sendable {
  /// Nothing is left out.
  case none
  /// The encoder searches less: about a decibel of the same rate.
  case encoderSpeed
  /// Where nobody's camera moves in the larger part of the picture, ten pictures a second are enough.
  case stillScenes
  /// Cameras and screens are asked for in a size below that of their tile, where the publisher offers one.
  case layers
  /// Half of the pictures are written.
  case halfRate
  /// A third of them.
  case thirdRate
  /// Pictures are encoded with half of the columns and rows; players show them at their full size.
  case halfSize

  /// A word for it, as it stands in files.
  public var name: String {
    switch self {
    case .none: "none"
    case .encoderSpeed: "encoder-speed"
    case .stillScenes: "still-scenes"
    case .layers: "layers"
    case .halfRate: "half-rate"
    case .thirdRate: "third-rate"
    case .halfSize: "half-size"
    }
  }

  /// What it means, for people.
  public var words: String {
    switch self {
    case .none: "nothing is left out any more"
    case .encoderSpeed: "the encoder works faster and coarser"
    case .stillScenes: "scenes that are still have fewer pictures a second"
    case .layers: "smaller sizes of people's videos are received"
    case .halfRate: "half of the pictures are written"
    case .thirdRate: "a third of the pictures is written"
    case .halfSize: "pictures are encoded at half of their size"
    }
  }

  /// The one after this; nil: there is none.
  public var next: DegradationStep? { DegradationStep(rawValue: rawValue + 1) }

  /// The one before this; nil: there is none.
  public var previous: DegradationStep? { DegradationStep(rawValue: rawValue - 1) }

  /// The lower step saves less.
  public static func < (left: DegradationStep, right: DegradationStep) -> Bool { left.rawValue < right.rawValue }

  /// Pictures a second where a scene is still.
  private static let stillRate = 10

  /// Of so many slots the picture of one is written. `framesPerSecond`: pictures a second, as was asked for.
  public func interval(isStill: Bool, framesPerSecond: Int) -> Int64 {
    let all: Int64 = self >= .thirdRate ? 3 : self >= .halfRate ? 2 : 1
    guard isStill, self >= .stillScenes else { return all }
    return max(all, Int64(framesPerSecond / Self.stillRate))
  }
}

extension FramePlan {
  /// True when no camera's picture is seen, or a shared screen takes more than the cameras do.
  public var isStill: Bool {
    var cameras = 0
    var screens = 0
    for tile in tiles {
      guard case .picture = tile.content else { continue }
      let area = tile.layer.rect.width * tile.layer.rect.height
      if tile.layer.key.isScreenShare { screens += area } else { cameras += area }
    }
    return cameras == 0 || screens > cameras
  }
}

/// Says of one file which pictures are left out: so far apart as the step wants are those that are written, also where one step
/// follows another. Pure.
public struct Sparing: Sendable {
  private let framesPerSecond: Int
  /// The slot whose picture was wanted last.
  private var wanted: Int64?

  /// `framesPerSecond`: as was asked for of the file.
  public init(framesPerSecond: Int) { self.framesPerSecond = framesPerSecond }

  /// True when the step leaves the picture of this plan out. Of each plan once, in their order. `slot`: the file's own number of
  /// it, where it has fewer pictures a second than the session; nil: the plan's.
  public mutating func leavesOut(_ plan: FramePlan, by step: DegradationStep, slot: Int64? = nil) -> Bool {
    let slot = slot ?? plan.slot
    if let wanted, slot - wanted < step.interval(isStill: plan.isStill, framesPerSecond: framesPerSecond) {
      return true
    }
    wanted = slot
    return false
  }
}

extension SessionCore {
  /// Takes that from now on the recording does without more, or less. It is told, and where `layers` says so, smaller sizes are
  /// asked for.
  public mutating func degrade(to step: DegradationStep, layers: Bool) {
    reception.isThrifty = layers && step >= .layers
    note(.degradation(step), at: clock.next)
  }
}
