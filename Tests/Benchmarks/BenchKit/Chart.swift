import Foundation

/// A chart of lines; several stand side by side in a picture (SVG).
package struct Chart {
  /// Points that are joined.
  package struct Line {
    /// What the legend says.
    package var name: String
    /// A colour of CSS.
    package var colour: String
    /// Where they are, in the units of the axes.
    package var points: [(x: Double, y: Double)]

    /// Makes a line; see the properties.
    package init(_ name: String, colour: String, points: [(x: Double, y: Double)]) {
      (self.name, self.colour, self.points) = (name, colour, points)
    }
  }

  /// Above it.
  package var title: String
  /// Below it: what the axes are.
  package var caption: String
  /// Values that the axes name, in ascending order; the chart ends with the last ones. `y` begins with its first, `x` with 0.
  package var marks: (x: [Double], y: [Double])
  /// So much of the title's line is the title's, in points; the legend follows.
  package var titleWidth: Double
  /// What is drawn.
  package var lines: [Line]

  /// Makes a chart; see the properties.
  package init(
    _ title: String, caption: String, marks: (x: [Double], y: [Double]), titleWidth: Double = 270, lines: [Line]
  ) {
    (self.title, self.caption, self.marks, self.titleWidth, self.lines) = (title, caption, marks, titleWidth, lines)
  }

  private static let width = 390.0, height = 300.0, margin = 50.0, distance = 470.0

  /// A picture of charts, SVG.
  package static func picture(_ charts: [Chart]) -> String {
    let width = text(distance * Double(charts.count), digits: 0)
    let head = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) 400" font-family="sans-serif" font-size="12">
      <rect width="\(width)" height="400" fill="white"/>

      """
    return head + charts.enumerated().map { $1.drawn(at: margin + Double($0) * distance) }.joined() + "</svg>\n"
  }

  private func drawn(at left: Double) -> String {
    let (low, high) = (marks.y.first ?? 0, marks.y.last ?? 1)
    func x(_ value: Double) -> String { text(left + value / (marks.x.last ?? 1) * Self.width, digits: 1) }
    func y(_ value: Double, below: Double = 0) -> String {
      text(Self.margin + (high - value) / (high - low) * Self.height + below, digits: 1)
    }
    func number(_ value: Double, among marks: [Double]) -> String {
      text(value, digits: marks.allSatisfy { $0 == $0.rounded() } ? 0 : 1)
    }
    var svg = "<text x=\"\(text(left, digits: 0))\" y=\"30\" font-size=\"15\">\(title)</text>\n"
    for value in marks.y {
      svg += "<path d=\"M\(text(left, digits: 1)) \(y(value))h\(text(Self.width, digits: 1))\" stroke=\"#ddd\"/>"
      svg +=
        "<text x=\"\(text(left - 6, digits: 1))\" y=\"\(y(value, below: 4))\" text-anchor=\"end\">"
        + "\(number(value, among: marks.y))</text>\n"
    }
    for value in marks.x {
      svg += "<text x=\"\(x(value))\" y=\"368\" text-anchor=\"middle\">\(number(value, among: marks.x))</text>\n"
    }
    svg += "<text x=\"\(text(left, digits: 0))\" y=\"388\">\(caption)</text>\n"
    var legend = left + titleWidth
    for line in lines {
      let points = line.points.map { "\(x($0.x)),\(y($0.y))" }.joined(separator: " ")
      svg += "<polyline points=\"\(points)\" fill=\"none\" stroke=\"\(line.colour)\" stroke-width=\"2.5\"/>"
      svg += "<text x=\"\(text(legend, digits: 0))\" y=\"30\" fill=\"\(line.colour)\">\(line.name)</text>\n"
      legend += 24 + 7 * Double(line.name.count)
    }
    return svg
  }
}
