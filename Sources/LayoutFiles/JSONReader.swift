import MediaCore

/// Reads JSON (RFC 8259) with the places of its values. Total: any text gives a value or an error. Members keep their
/// order; a name that occurs twice is an error.
struct JSONReader {
  private let bytes: [UInt8]
  private let file: String
  /// The line of the last place that was asked for, and where it begins; places come in order.
  private var line = 1
  private var lineStart = 0
  private var position = 0

  /// The value of a whole file.
  static func read(_ text: String, file: String) throws(LayoutError) -> DataNode {
    let limits = JSONLimits(
      bytes: LayoutReader.maximumBytes, depth: DataNode.maximumDepth, values: DataNode.maximumNodes)
    var reader = JSONReader(bytes: Array(text.utf8), file: file)
    let document: JSONDocument
    do {
      document = try JSONDocument(reader.bytes, limits: limits)
    } catch {
      throw reader.error(error)
    }
    return try reader.node(document.root)
  }

  private init(bytes: [UInt8], file: String) {
    self.bytes = bytes
    self.file = file
  }

  private mutating func place(_ offset: Int) -> (line: Int, column: Int) {
    while position < min(offset, bytes.count) {
      if bytes[position] == 0x0a {
        line += 1
        lineStart = position + 1
      }
      position += 1
    }
    return (line, offset - lineStart + 1)
  }

  private mutating func error(_ error: JSONError) -> LayoutError {
    let text =
      switch error.reason {
      case .tooDeep, .tooMany: "too many values for a layout"
      case .tooLong: "larger than 256 KiB is no layout"
      default: error.reason.rawValue
      }
    let (line, column) = place(min(error.offset, bytes.count))
    return LayoutError("\(file):\(line):\(column): \(text)")
  }

  private mutating func node(_ value: JSONValue) throws(LayoutError) -> DataNode {
    let (line, column) = place(value.offset)
    if let members = value.members {
      var names = Set<String>()
      var pairs: [DataNode.Entry] = []
      for (name, value) in members {
        let key = try node(name)
        guard let text = key.text, names.insert(text).inserted else {
          throw LayoutError("\(file):\(key.line):\(key.column): given twice: '\(key.text ?? "")'")
        }
        pairs.append(DataNode.Entry(key: key, value: try node(value)))
      }
      return DataNode(.map(pairs), line: line, column: column)
    }
    if let elements = value.elements {
      var list: [DataNode] = []
      for element in elements { list.append(try node(element)) }
      return DataNode(.list(list), line: line, column: column)
    }
    if let text = value.text { return DataNode(.scalar(text, isString: true), line: line, column: column) }
    let scalar: DataNode.Value = value.isNull ? .null : .scalar(value.word ?? "", isString: false)
    return DataNode(scalar, line: line, column: column)
  }
}
