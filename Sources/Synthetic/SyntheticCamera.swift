public import MediaCore

/// A camera that nobody sits in front of: a calm picture of a stylised person in a softly lit room, who breathes,
/// sways, blinks, and speaks when told so. For demos and tests. The same seed, identity and frame give the same
/// picture on every machine. Confined to one thread at a time.
public final class SyntheticCamera {
  /// Width of the pictures, pixels.
  public let width: Int
  /// Height of the pictures, pixels.
  public let height: Int
  /// Frames per second that the motion is made for.
  public let framesPerSecond: Int

  private let appearance: Appearance
  private let background: Picture
  private let phase: Float

  /// Makes a camera.
  ///
  /// - Parameters:
  ///   - seed: decides the small differences of motion and light.
  ///   - identity: number of the participant, from 0; each has a hue, a face and clothes of its own (12 differ).
  ///   - width: pixels.
  ///   - height: pixels.
  ///   - framesPerSecond: 1...120.
  public init(seed: UInt64, identity: Int, width: Int = 640, height: Int = 360, framesPerSecond: Int = 30) {
    var random = SeededRandom(seed: seed ^ (UInt64(truncatingIfNeeded: identity) &* 0x9e37_79b9))
    background = Picture(width: width, height: height)
    self.width = background.width
    self.height = background.height
    self.framesPerSecond = min(max(framesPerSecond, 1), 120)
    appearance = Appearance(identity: identity)
    phase = Float(random.next() % 1000) / 1000
    paintRoom(into: background, appearance: appearance, random: &random)
  }

  /// Draws a frame.
  ///
  /// - Parameters:
  ///   - frame: its number; the motion belongs to it alone.
  ///   - voiceLevel: 0 (silent) ... 1 (loud): how far the mouth is open.
  ///   - picture: is overwritten; must have the camera's size, else nothing is drawn.
  public func draw(frame: Int, voiceLevel: Float, into picture: Picture) {
    guard picture.width == width, picture.height == height else { return }
    picture.copyPlanes(of: background)
    // An hour, after which the motion starts again: keeps the time exact in a Float.
    let frames = framesPerSecond * 3600
    let time = Float(((frame % frames) + frames) % frames) / Float(framesPerSecond)
    let level = voiceLevel.isFinite ? min(max(voiceLevel, 0), 1) : 0
    let pose = Pose(time: time, phase: phase, level: level)
    let unit = Float(min(width, height))
    Figure(appearance: appearance, pose: pose, unit: unit, centre: Float(width) / 2, middle: Float(height) * 0.47)
      .draw(Painter(picture: picture), bottom: Float(height))
  }
}

/// How the person of one identity looks.
struct Appearance {
  enum Hair { case short, long, bun, curly, none }
  let hue: Float
  let skin: YUVColour
  let skinShade: YUVColour
  let hairColour: YUVColour
  let shirt: YUVColour
  let shirtShade: YUVColour
  let hair: Hair
  let hasGlasses: Bool
  let hasBeard: Bool

  init(identity: Int) {
    let index = ((identity % 12) + 12) % 12
    // The golden ratio keeps neighbours' hues apart.
    let turns = 0.58 + Float(index) * 0.618_034
    hue = turns - turns.rounded(.down)
    let skins: [(Int, Int)] = [
      (0xf1c7a5, 0xd9a27d), (0x8d5a3b, 0x6f4429), (0xe3ab7f, 0xc68a5d), (0xf6d5bd, 0xdfae90), (0xb97a4f, 0x995f39),
      (0x6b4230, 0x503021),
    ]
    let skinIndex = [0, 1, 3, 2, 4, 0, 5, 3, 2, 1, 4, 5][index]
    skin = YUVColour(hex: skins[skinIndex].0)
    skinShade = YUVColour(hex: skins[skinIndex].1)
    let hairs = [0x4a2f20, 0x1f1a1c, 0xb5762f, 0x2b2330, 0x15151c, 0x8a8f98, 0x19161a, 0x7a3b22, 0x33241d, 0x241c1c]
    hairColour = YUVColour(hex: hairs[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 3][index]])
    let clothes = turns + 0.45
    shirt = YUVColour(hue: clothes - clothes.rounded(.down), saturation: 0.42, value: 0.72)
    shirtShade = YUVColour(hue: clothes - clothes.rounded(.down), saturation: 0.48, value: 0.56)
    hair = [.short, .curly, .long, .bun, .short, .none, .curly, .long, .short, .bun, .long, .none][index]
    hasGlasses = [false, false, false, true, false, true, false, true, false, false, false, false][index]
    hasBeard = [false, false, false, false, true, true, false, false, false, false, false, true][index]
  }
}

/// Where everything is at one instant, in units of the figure.
struct Pose {
  var headX: Float
  var headY: Float
  var turn: Float
  var nod: Float
  var breath: Float
  var eyes: Float
  var mouth: Float
  var brows: Float

  init(time: Float, phase: Float, level: Float) {
    headX = 0.014 * sine(turns: time / 7.3 + phase) + 0.005 * sine(turns: time / 2.9 + phase * 3)
    headY = 0.006 * sine(turns: time / 5.1 + phase * 2) + 0.006 * level * sine(turns: time * 1.3)
    turn = 0.016 * sine(turns: time / 6.1 + phase * 5)
    nod = 0.008 * sine(turns: time / 4.3 + phase * 7) - 0.006 * level
    breath = 0.004 * sine(turns: time / 4.1 + phase)
    // Closes for a sixth of a second every four seconds or so.
    let blink = time / 4.3 + phase
    let part = (blink - blink.rounded(.down)) * 4.3
    eyes = part < 0.17 ? max(0.12, (part / 0.085 - 1).magnitude) : 1
    mouth = level
    brows = 0.006 * level
  }
}

/// The soft room behind the person.
private func paintRoom(into picture: Picture, appearance: Appearance, random: inout SeededRandom) {
  struct Light {
    var x: Float
    var y: Float
    var radius: Float
    var strength: Float
  }
  let width = Float(picture.width)
  let height = Float(picture.height)
  let unit = min(width, height)
  func number(_ low: Float, _ high: Float) -> Float { low + (high - low) * Float(random.next() % 4096) / 4096 }
  var lights: [Light] = []
  for _ in 0..<7 {
    lights.append(
      Light(
        x: number(0, width), y: number(0, height * 0.8), radius: unit * number(0.06, 0.17),
        strength: number(0.03, 0.09)))
  }
  let near = YUVColour.rgb(hue: appearance.hue, saturation: 0.38, value: 0.62)
  let far = YUVColour.rgb(
    hue: (appearance.hue + 0.07).truncatingRemainder(dividingBy: 1), saturation: 0.55, value: 0.26)
  picture.paint { x, y in
    // Lit from the upper left, darker toward the corners.
    let dx = (x - width * 0.36) / (width * 0.85)
    let dy = (y - height * 0.22) / (height * 1.05)
    let shade = smoothStep((dx * dx + dy * dy).squareRoot())
    var light: Float = 0
    for spot in lights {
      let sx = x - spot.x
      let sy = y - spot.y
      let distance = (sx * sx + sy * sy).squareRoot()
      light += spot.strength * (1 - smoothStep((distance - spot.radius * 0.8) / (spot.radius * 0.3)))
    }
    let red = near.0 + (far.0 - near.0) * shade + light
    let green = near.1 + (far.1 - near.1) * shade + light
    let blue = near.2 + (far.2 - near.2) * shade + light
    return YUVColour.components(red, green, blue)
  }
}
