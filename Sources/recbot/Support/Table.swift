/// A plain table for the terminal: columns as wide as they need to be, two spaces between them, no lines.
struct Table {
  private var rows: [[String]]

  init(_ heads: String...) { rows = [heads] }

  /// Adds a row; texts are made safe for a terminal.
  mutating func add(_ cells: String...) {
    rows.append(cells.map { $0.isEmpty ? "-" : RoomText.oneLine($0, limit: 80) })
  }

  /// The lines, the heads first.
  var lines: [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        line += cell
        if column + 1 < row.count { line += String(repeating: " ", count: widths[column] - cell.count + 2) }
      }
      return line
    }
  }
}
