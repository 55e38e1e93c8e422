import Layouts
import MediaCore

/// Overlays and notices.
extension PictureCompositor {
  /// Draws and places an overlay.
  func dressOverlay(_ index: Int, for paint: OverlayPaint) {
    var state = overlays[index]
    overlays[index].stamps = []  // so that `state` has the array to itself
    defer { overlays[index] = state }
    state.isDressed()
    state.paint = paint
    state.stamps.removeAll(keepingCapacity: true)
    state.awaitsImage = false
    state.rect = nil
    let overlay = paint.overlay
    guard overlay.opacity > 0 else { return }
    var extent = (width: 0, height: 0)
    switch overlay.content {
    case .image(let path):
      let form = ImageForm.high(min(overlay.height(on: size), whole.height), maximumWidth: whole.width)
      guard let stamp = stamp(.image(.file(path), form, opacity: overlay.opacity)) else {
        state.awaitsImage = images != nil
        return
      }
      state.stamps.append(PlacedStamp(stamp: stamp, x: 0, y: 0))
      extent = (stamp.width, stamp.height)
    case .text(let kind):
      let style = OverlayStyle(
        fontSize: max(8, min(overlay.height(on: size), whole.height) * 4 / 5),
        colour: overlay.color.map { Colour($0) } ?? theme.text, opacity: overlay.opacity, hasPlate: overlay.plate)
      switch kind {
      case .clock, .elapsed: extent = setRuns(of: paint.text, style, &state)
      case .title, .literal:
        let words = NameText.cleaned(paint.text)
        guard !words.isEmpty, let stamp = stamp(.overlay(words, style: style, maximumWidth: whole.width * 15 / 16))
        else { return }
        state.stamps.append(PlacedStamp(stamp: stamp, x: 0, y: 0))
        extent = (stamp.width, stamp.height)
      }
    }
    guard extent.width > 0, extent.height > 0 else { return }
    state.place = overlay.place(width: extent.width, height: extent.height, on: size)
    state.rect = canvas.clipped(
      PixelRect(x: state.place.x, y: state.place.y, width: extent.width, height: extent.height))
  }

  /// Puts together words that count from stamps of single digits, so that nothing is drawn anew each second.
  private func setRuns(of text: String, _ style: OverlayStyle, _ state: inout OverlayState) -> (width: Int, height: Int)
  {
    let padding = StampRenderer.padding(style)
    var x = padding
    NameText.forEachRun(NameText.cleaned(text)) { run in
      guard let stamp = stamp(.run(String(run), style: style)) else { return }
      state.stamps.append(PlacedStamp(stamp: stamp, x: x, y: 0))
      x += stamp.width
    }
    guard x > padding else { return (0, 0) }
    let (width, height) = (x + padding, StampRenderer.height(style))
    if style.hasPlate {
      let key = StampKey.plate(width: width, height: height, fontSize: style.fontSize, opacity: style.opacity)
      if let plate = stamp(key) { state.stamps.insert(PlacedStamp(stamp: plate, x: 0, y: 0), at: 0) }
    }
    return (width, height)
  }

  /// Draws a notice in the middle of the canvas.
  func dressed(_ notice: Notice) -> NoticeState {
    let shortSide = min(whole.width, whole.height)
    let fontSize = max(14, shortSide / 24)
    let room = whole.width * 7 / 8
    var lines: [Stamp] = []
    if let symbol = stamp(.symbol(notice.symbol, size: (shortSide / 7) & ~1)) { lines.append(symbol) }
    let words = NameText.cleaned(notice.text)
    if let text = stamp(.text(words, tone: .notice, fontSize: fontSize, maximumWidth: room)) { lines.append(text) }
    let detail = NameText.cleaned(notice.detail)
    if !detail.isEmpty,
      let text = stamp(.text(detail, tone: .detail, fontSize: max(12, fontSize * 2 / 3), maximumWidth: room))
    {
      lines.append(text)
    }
    let gap = (fontSize / 2) & ~1
    let height = lines.reduce(0) { $0 + $1.height } + gap * max(0, lines.count - 1)
    let width = lines.reduce(2) { max($0, $1.width) }
    var state = NoticeState(
      notice: notice,
      rect: canvas.clipped(
        PixelRect(
          x: ((whole.width - width) / 2) & ~1, y: ((whole.height - height) / 2) & ~1, width: width, height: height + 2))
        ?? PixelRect(x: 0, y: 0, width: 2, height: 2), stamps: [])
    var y = ((whole.height - height) / 2) & ~1
    for line in lines {
      state.stamps.append(PlacedStamp(stamp: line, x: ((whole.width - line.width) / 2) & ~1, y: y))
      y += line.height + gap
    }
    return state
  }
}
