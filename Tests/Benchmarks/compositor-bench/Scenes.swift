import Layouts
import MediaCore

/// Pictures like those of a meeting, drawn without any library.
enum Drawn {
  /// Head and shoulders before a wall; `phase` moves the head, so that pictures differ.
  static func person(_ number: Int, width: Int, height: Int, phase: Int = 0) -> Picture {
    let walls: [(Int, Int, Int)] = [(172, 118, 140), (104, 140, 118), (140, 108, 132), (86, 132, 130), (190, 122, 126)]
    let shirts: [(Int, Int, Int)] = [(70, 160, 110), (150, 100, 160), (52, 128, 128), (110, 112, 170), (200, 126, 130)]
    let skins: [(Int, Int, Int)] = [(168, 112, 150), (112, 114, 150), (140, 110, 152), (186, 114, 146)]
    let (wall, shirt, skin) = (walls[number % 5], shirts[(number * 3 + 1) % 5], skins[number % 4])
    let hair = [(36, 124, 134), (60, 112, 146), (120, 104, 140)][number % 3]
    let (sway, scale) = (phase % 40 - 20, height)
    return draw(width: width, height: height) { x, y in
      let (dx, dy) = (x - width / 2 - sway * width / 1600, y)
      func inside(_ cx: Int, _ cy: Int, _ rx: Int, _ ry: Int) -> Bool {
        let (a, b) = ((dx - cx * scale / 100) * 100 / rx, (dy - cy * scale / 100) * 100 / ry)
        return a * a + b * b < scale * scale
      }
      if inside(-5, 40, 2, 2) || inside(5, 40, 2, 2) { return (30, 128, 128) }
      if inside(0, 54, 5, 1) { return (96, 116, 160) }
      if inside(0, 43, 14, 19), dy > 30 * scale / 100 { return skin }
      if inside(0, 37, 16, 19), dy < 46 * scale / 100 { return hair }
      if inside(0, 62, 6, 12) { return (skin.0 * 7 / 8, skin.1, skin.2) }
      if inside(0, 104, 38, 36) { return (shirt.0 - dy * 20 / height, shirt.1, shirt.2) }
      if number % 3 == 1, x > width * 7 / 10, y < height * 6 / 10, (y * 10 / height) % 2 == 0 {
        return (wall.0 / 2, 134, 124)
      }
      return (wall.0 - y * 40 / height + x * 24 / width, wall.1, wall.2)
    }
  }

  /// A document with text and a chart.
  static func screen(width: Int, height: Int) -> Picture {
    draw(width: width, height: height) { x, y in
      let (column, row) = (x * 160 / width, y * 90 / height)
      if row < 6 { return column < 24 ? (180, 120, 120) : (64, 136, 122) }
      if column < 22 { return row % 6 == 0 && column > 2 && column < 18 ? (150, 128, 128) : (228, 129, 127) }
      if (60...84).contains(row), (30...150).contains(column) {
        let bar = (column - 30) / 12
        let tall = [9, 14, 11, 18, 16, 21, 13, 17, 22, 19][min(9, bar)]
        return (column - 30) % 12 < 8 && 84 - row < tall ? (120, 168, 100) : (232, 128, 128)
      }
      if (12...54).contains(row), (30...150).contains(column), row % 4 < 2 {
        let word = (column * 7 + row / 4 * 31) % 23
        return word > 3 && column < 120 + (row / 4 * 13) % 30 ? (70, 128, 128) : (235, 128, 128)
      }
      return (235, 128, 128)
    }
  }

  private static func draw(width: Int, height: Int, _ colour: (Int, Int) -> (Int, Int, Int)) -> Picture {
    let picture = Picture(width: width, height: height)
    for y in 0..<picture.height {
      for x in 0..<picture.width {
        let (luma, blue, red) = colour(x, y)
        picture.y[y * picture.strideY + x] = UInt8(clamping: max(16, min(235, luma)))
        if x % 2 == 0, y % 2 == 0 {
          picture.u[y / 2 * picture.strideUV + x / 2] = UInt8(clamping: blue)
          picture.v[y / 2 * picture.strideUV + x / 2] = UInt8(clamping: red)
        }
      }
    }
    return picture
  }
}

let people = [
  "Ada Lindqvist", "Mateo Fernández", "王小明", "Priya Raghunathan", "ليلى حسن", "Jonas", "Chloé Dubois-Lefèvre",
  "Oleksandr Shevchenko", "Noa Bar-Lev", "Thandiwe Nkosi", "Sam", "María del Carmen Rodríguez y González",
]

func key(_ number: Int) -> TileKey { .camera(ParticipantIdentity("person-\(number)")) }
