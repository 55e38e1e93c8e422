import MediaCore
import Session

/// Says what is left out when the recording falls behind, so that it catches up, and when its end must not wait any
/// longer for what is still to be worked off. Pure.
struct Pace: Sendable {
  /// Plans that are this far behind lose most of their pictures, not their sound: being late costs nothing but what a kill
  /// would lose.
  let tooLate: Duration
  /// Further files lose their pictures much sooner.
  let tooLateForFurther: Duration
  /// Where that is not enough, what people send is not decoded either; each begins anew with a keyframe afterwards.
  let muchTooLate: Duration
  /// The longest that the file may get; nil: there is no such limit.
  private let maximum: Duration?
  private let latency: Duration
  /// So far apart pictures are while they are left out: a machine that is too slow for hours still shows what happens.
  static let sparse = Duration.milliseconds(200), sparsest = Duration.seconds(1)
  /// An end that was due so long ago is hurried: no pictures any more.
  static let patience = Duration.milliseconds(600)
  /// And then it comes at once: the file ends with what is in it.
  static let lastMoment = Duration.milliseconds(850)

  /// How far the last plan was behind.
  private(set) var lag = Duration.zero
  /// The instant of the last plan that kept its picture, and whether that of the present one is left out.
  private var shown: SessionTime?
  private var isPictureLeftOut = false
  /// How long ago the end was due; nil: it is not.
  private(set) var overdue: Duration?

  init(_ settings: SessionCore.Settings) {
    latency = settings.latency
    tooLate = settings.latency + .seconds(2)
    tooLateForFurther = settings.latency + .milliseconds(500)
    muchTooLate = tooLate + .seconds(2)
    maximum = settings.maximumDuration
  }

  /// A plan for `instant` is carried out at `now`.
  mutating func plans(_ instant: SessionTime, at now: SessionTime) {
    lag = now - instant
    let distance = lag > muchTooLate ? Self.sparsest : lag > tooLate ? Self.sparse : .zero
    isPictureLeftOut = distance > .zero && shown.map { instant - $0 < distance } ?? false
    if !isPictureLeftOut { shown = instant }
  }

  /// It is `now`. `stoppedAt`: when somebody stopped the recording, if anybody did. `fileTime`: what the file's time
  /// would be now if nothing were behind; nil when that says nothing, since time stands still.
  mutating func look(at now: SessionTime, stoppedAt: SessionTime?, fileTime: SessionTime?) {
    overdue = stoppedAt.map { now - $0 }
    guard let maximum, let fileTime, fileTime - latency >= .zero + maximum else { return }
    overdue = max(overdue ?? .zero, fileTime - latency - (.zero + maximum))
  }

  /// True when the file ends now, whatever waits.
  var isOver: Bool { overdue.map { $0 >= Self.lastMoment } ?? false }

  /// True when this is left out.
  func leavesOut(_ output: SessionOutput) -> Bool {
    let isHurried = overdue.map { $0 >= Self.patience } ?? false
    switch output {
    case .compose: return isHurried || isPictureLeftOut
    case .composeFurther: return isHurried || lag > tooLateForFurther
    case .decode: return isHurried || lag > muchTooLate
    default: return false
    }
  }
}
