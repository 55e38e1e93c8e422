import CPango

/// Sets lines of text with Pango. Owns its font map, so that nothing depends on the thread that made it.
final class TextRenderer {
  private let fontMap: UnsafeMutablePointer<PangoFontMap>
  private let context: OpaquePointer
  private let families: String

  enum Weight { case medium, semibold }

  /// Font families in order of preference. Nil when Pango has no fonts at all or there is no memory.
  init?(families: String) {
    guard let fontMap = pango_cairo_font_map_new() else { return nil }
    guard let context = pango_font_map_create_context(fontMap) else {
      g_object_unref(fontMap)
      return nil
    }
    self.fontMap = fontMap
    self.context = context
    self.families = families
    let options = cairo_font_options_create()
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY)
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_SLIGHT)
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
    pango_cairo_context_set_font_options(context, options)
    cairo_font_options_destroy(options)
  }

  deinit {
    g_object_unref(UnsafeMutableRawPointer(context))
    g_object_unref(fontMap)
  }

  /// A line that is ready to be drawn.
  final class Line {
    fileprivate let layout: OpaquePointer
    /// Columns that the text takes.
    let width: Int
    /// Rows from the highest ascender to the lowest descender of the font.
    let height: Int
    /// True when a font had a glyph for every character.
    let isComplete: Bool
    /// Where the text begins in the layout: not 0 when it runs from right to left in a wider one.
    private let left: Int

    fileprivate init(layout: OpaquePointer) {
      self.layout = layout
      var extents = PangoRectangle()
      pango_layout_get_pixel_extents(layout, nil, &extents)
      left = Int(extents.x)
      width = Int(extents.width)
      height = Int(extents.height)
      isComplete = pango_layout_get_unknown_glyphs_count(layout) == 0
    }

    deinit { g_object_unref(UnsafeMutableRawPointer(layout)) }

    /// Columns that the text takes, in fractions of a pixel.
    var exactWidth: Double {
      var extents = PangoRectangle()
      pango_layout_get_extents(layout, nil, &extents)
      return Double(extents.width) / Double(PANGO_SCALE)
    }

    /// Draws with the upper left corner at (`x`, `y`).
    func draw(on drawing: Drawing, x: Double, y: Double, colour: Colour) {
      drawing.setColour(colour)
      cairo_move_to(drawing.context, x - Double(left), y)
      pango_cairo_show_layout(drawing.context, layout)
    }

    /// Draws a line of `width` pixels along the edges of the letters.
    func drawOutline(on drawing: Drawing, x: Double, y: Double, colour: Colour, alpha: Double, width: Double) {
      drawing.setColour(colour, alpha: alpha)
      cairo_move_to(drawing.context, x - Double(left), y)
      pango_cairo_layout_path(drawing.context, layout)
      cairo_set_line_width(drawing.context, width)
      cairo_set_line_join(drawing.context, CAIRO_LINE_JOIN_ROUND)
      cairo_stroke(drawing.context)
    }

    /// Draws with the middle of what is inked at (`x`, `y`): initials look centred whatever letters they are.
    func drawInkCentred(on drawing: Drawing, x: Double, y: Double, colour: Colour) {
      var ink = PangoRectangle()
      pango_layout_get_pixel_extents(layout, &ink, nil)
      draw(
        on: drawing, x: x + Double(left) - Double(ink.x) - Double(ink.width) / 2,
        y: y - Double(ink.y) - Double(ink.height) / 2,
        colour: colour)
    }

    /// The text's bytes (UTF-8 offsets) for which no font has a glyph.
    fileprivate var unknown: [Range<Int>] {
      var result: [Range<Int>] = []
      guard let iterator = pango_layout_get_iter(layout) else { return [] }
      defer { pango_layout_iter_free(iterator) }
      repeat {
        guard let run = pango_layout_iter_get_run_readonly(iterator)?.pointee, let item = run.item?.pointee,
          let glyphs = run.glyphs?.pointee, glyphs.num_glyphs > 0, let clusters = glyphs.log_clusters
        else { continue }
        for index in 0..<Int(glyphs.num_glyphs) where glyphs.glyphs[index].glyph & recbot_pango_unknown != 0 {
          // A cluster lasts until the nearest later one begins.
          let start = clusters[index]
          let end = (0..<Int(glyphs.num_glyphs)).map { clusters[$0] }.filter { $0 > start }.min() ?? item.length
          result.append(Int(item.offset &+ start)..<max(Int(item.offset &+ start), Int(item.offset &+ end)))
        }
      } while pango_layout_iter_next_run(iterator) != 0
      return result
    }
  }

  /// Sets `text` (cleaned, never markup) in one line of at most `maximumWidth` columns, shortened with an ellipsis.
  ///
  /// - Parameter hasEvenDigits: all digits take the same width, for texts that count.
  func line(
    _ text: String, fontSize: Int, weight: Weight, maximumWidth: Int?, hasEvenDigits: Bool = false
  ) -> Line? {
    guard let layout = pango_layout_new(context) else { return nil }
    let font = pango_font_description_new()
    pango_font_description_set_family(font, families)
    pango_font_description_set_weight(font, weight == .medium ? PANGO_WEIGHT_MEDIUM : PANGO_WEIGHT_SEMIBOLD)
    pango_font_description_set_absolute_size(font, Double(fontSize) * Double(PANGO_SCALE))
    pango_layout_set_font_description(layout, font)
    pango_font_description_free(font)
    pango_layout_set_single_paragraph_mode(layout, 1)
    if let maximumWidth {
      pango_layout_set_width(layout, Int32(clamping: maximumWidth) &* PANGO_SCALE)
      pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END)
    }
    if hasEvenDigits {
      let attributes = pango_attr_list_new()
      pango_attr_list_insert(attributes, pango_attr_font_features_new("tnum=1"))
      pango_layout_set_attributes(layout, attributes)
      pango_attr_list_unref(attributes)
    }
    pango_layout_set_text(layout, text, -1)
    return Line(layout: layout)
  }

  /// `text` without the characters for which no installed font has a glyph, so that no boxes are drawn.
  func drawable(_ text: String) -> String {
    guard let line = line(text, fontSize: 16, weight: .medium, maximumWidth: nil), !line.isComplete else {
      return text
    }
    var isKept = [Bool](repeating: true, count: text.utf8.count)
    for range in line.unknown {
      for index in range.clamped(to: isKept.indices) { isKept[index] = false }
    }
    var result = String.UnicodeScalarView()
    var offset = 0
    for scalar in text.unicodeScalars {
      // Joiners and selectors belong to the character before them.
      if isKept[offset], !(result.isEmpty && scalar.properties.isDefaultIgnorableCodePoint) { result.append(scalar) }
      offset += UTF8.width(scalar)
    }
    return NameText.cleaned(String(result))
  }
}
