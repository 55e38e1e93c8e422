import Settings
import Yams

/// A value in a layout file, with its place: what YAML and JSON have in common.
struct DataNode {
  enum Value {
    case null
    /// A number, a boolean or a word as it stands, or the text of a string.
    case scalar(String, isString: Bool)
    case list([DataNode])
    case map([Entry])
  }

  /// A member of a map.
  struct Entry {
    var key: DataNode
    var value: DataNode
  }

  var value: Value
  /// From 1.
  var line: Int
  /// From 1.
  var column: Int

  var text: String? {
    if case .scalar(let text, _) = value { return text }
    return nil
  }

  /// A file with more values than this is no layout.
  static let maximumNodes = 20_000
  static let maximumDepth = 32

  /// Reads YAML. Aliases are copied; what they may grow to is limited.
  init(yaml text: String, file: String) throws(LayoutError) {
    let root: Node?
    do {
      root = try YAMLText.compose(text)
    } catch let error as YamlError {
      throw LayoutError(YAMLText.fault(error, in: text, file: file))
    } catch {
      throw LayoutError("\(file): \(error)")
    }
    guard let root else { throw LayoutError("\(file): the file is empty") }
    var count = 0
    self = try DataNode(root, file: file, depth: 0, place: (1, 1), count: &count)
  }

  private init(
    _ node: Node, file: String, depth: Int, place: (line: Int, column: Int), count: inout Int
  ) throws(LayoutError) {
    line = node.mark?.line ?? place.line
    column = node.mark?.column ?? place.column
    count += 1
    guard count <= DataNode.maximumNodes, depth <= DataNode.maximumDepth else {
      throw LayoutError("\(file):\(line):\(column): too many values for a layout")
    }
    switch node {
    case .scalar(let scalar):
      let isString = scalar.style != .plain && scalar.style != .any
      value =
        !isString && ["", "~", "null", "Null", "NULL"].contains(scalar.string)
        ? .null : .scalar(scalar.string, isString: isString)
    case .sequence(let sequence):
      var list: [DataNode] = []
      for item in sequence {
        list.append(try DataNode(item, file: file, depth: depth + 1, place: (line, column), count: &count))
      }
      value = .list(list)
    case .mapping(let mapping):
      var pairs: [Entry] = []
      for (key, item) in mapping {
        let keyNode = try DataNode(key, file: file, depth: depth + 1, place: (line, column), count: &count)
        let place = (keyNode.line, keyNode.column)
        if case .scalar(let scalar) = item, scalar.string.isEmpty, scalar.style == .plain {
          throw LayoutError(
            "\(file):\(place.0):\(place.1): '\(keyNode.text ?? "")' has no value (what begins with # is a comment, unless "
              + "it is in quotes)")
        }
        let node = try DataNode(item, file: file, depth: depth + 1, place: place, count: &count)
        pairs.append(Entry(key: keyNode, value: node))
      }
      value = .map(pairs)
    case .alias: throw LayoutError("\(file):\(line):\(column): an alias to nothing")
    }
  }

  init(_ value: Value, line: Int, column: Int) {
    self.value = value
    self.line = line
    self.column = column
  }
}

/// A layout that cannot be used: one clear line, with the place in the file.
public struct LayoutError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line: `FILE:LINE:COLUMN: what is wrong; what would be right`.
  public let description: String
  /// Makes an error from its line; see the properties.
  public init(_ description: String) { self.description = YAMLText.oneLine(description) }
}
