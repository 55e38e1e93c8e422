extension Layout {
  /// Whether somebody's picture is shown in some scene, or decides what is shown. Where it is not, cards stand for everybody
  /// (`TileLook.video`), and nobody's picture is needed.
  public var usesPictures: Bool {
    scenes.contains { $0.when.usesPictures || $0.regions.contains(where: \.usesPictures) }
  }
}

extension Region {
  fileprivate var usesPictures: Bool {
    look.video || withoutVideo != .card || (selector.include + selector.exclude).contains(where: \.isAboutPictures)
  }
}

extension Condition {
  fileprivate var usesPictures: Bool {
    alternatives.joined().contains { requirement in
      switch requirement {
      case .cameras: true
      case .present(let term), .absent(let term): term.isAboutPictures
      case .people, .screens, .pinned, .talkers, .canvas: false
      }
    }
  }
}

extension SourceTerm {
  fileprivate var isAboutPictures: Bool { self == .withVideo || self == .withoutVideo }
}
