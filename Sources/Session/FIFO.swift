/// A queue: what is put in first is taken out first, each in constant time on the average. What was taken out is let go at once.
struct FIFO<Element> {
  private var elements: [Element?] = []
  private var head = 0

  /// How many are in it.
  var count: Int { elements.count - head }

  /// Puts one in.
  mutating func append(_ element: Element) { elements.append(element) }

  /// Takes the oldest out, if it is as it should be; nil: it is not, or nothing is there.
  mutating func popFirst(where condition: (Element) -> Bool = { _ in true }) -> Element? {
    guard head < elements.count, elements[head].map(condition) == true else { return nil }
    let element = elements[head].take()
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 64, head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }
}

extension FIFO: Sendable where Element: Sendable {}
