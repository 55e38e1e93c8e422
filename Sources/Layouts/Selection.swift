import MediaCore

/// The room, prepared for questions.
struct Roster {
  let view: RoomView
  let sources: [LayoutSource]
  let index: [TileKey: Int]
  /// Rank among the talkers; only of those who are there.
  let talkRank: [TileKey: Int]
  let pinnedRank: [TileKey: Int]
  let talker: TileKey?

  init(_ view: RoomView) {
    self.view = view
    var index: [TileKey: Int] = [:]
    var sources: [LayoutSource] = []
    for source in view.sources where index[source.key] == nil {
      index[source.key] = sources.count
      sources.append(source)
    }
    self.sources = sources
    self.index = index
    func ranks(_ keys: [TileKey]) -> [TileKey: Int] {
      var result: [TileKey: Int] = [:]
      for key in keys where index[key] != nil && result[key] == nil { result[key] = result.count }
      return result
    }
    talkRank = ranks(view.talkers)
    pinnedRank = ranks(view.pinned)
    // Who left is not the talker any more; the one before isn't therefore talking.
    talker = view.talkers.first.flatMap { index[$0] == nil ? nil : $0 }
  }

  // MARK: Conditions

  func holds(_ condition: Condition, canvas: CanvasSize) -> Bool {
    condition.alternatives.isEmpty
      || condition.alternatives.contains { $0.allSatisfy { holds($0, canvas: canvas) } }
  }

  private func holds(_ requirement: Condition.Requirement, canvas: CanvasSize) -> Bool {
    switch requirement {
    case .people(let range): range.contains(Set(sources.compactMap(\.key.participant)).count)
    case .cameras(let range): range.contains(sources.count { $0.hasPicture && !$0.key.isScreenShare })
    case .screens(let range): range.contains(sources.count { $0.key.isScreenShare })
    case .pinned(let range): range.contains(sources.count { isHeld($0.key) })
    case .talkers(let range): range.contains(talkRank.count)
    case .canvas(let shapes): shapes.contains(CanvasShape(canvas))
    case .present(let term): sources.contains { matches($0, term, placed: []) }
    case .absent(let term): !sources.contains { matches($0, term, placed: []) }
    }
  }

  // MARK: Selection

  /// A source that a region could show.
  struct Candidate {
    let source: LayoutSource
    /// Order of joining.
    let joined: Int
    /// Which term of the selector names it.
    let term: Int
    /// Rank within the term.
    let rank: Int
    /// True for the pinned and the one in the spotlight, who are never left out for others.
    let isHeld: Bool
    let talkRank: Int

    var key: TileKey { source.key }
  }

  func isHeld(_ key: TileKey) -> Bool { pinnedRank[key] != nil || view.spotlight == key }

  /// What a region could show, in its order.
  func candidates(for region: Region, placed: Set<TileKey>) -> [Candidate] {
    var result: [Candidate] = []
    for (joined, source) in sources.enumerated() where region.repeats || !placed.contains(source.key) {
      guard let term = region.selector.include.firstIndex(where: { matches(source, $0, placed: placed) }),
        !region.selector.exclude.contains(where: { matches(source, $0, placed: placed) })
      else { continue }
      let rank =
        switch region.selector.include[term] {
        case .previousTalkers: talkRank[source.key] ?? joined
        case .pinned: pinnedRank[source.key] ?? joined
        default: joined
        }
      result.append(
        Candidate(
          source: source, joined: joined, term: term, rank: rank, isHeld: isHeld(source.key),
          talkRank: talkRank[source.key] ?? .max))
    }
    switch region.order {
    case .listed: return result.sorted { ($0.term, $0.rank, $0.joined) < ($1.term, $1.rank, $1.joined) }
    case .joined: return result
    case .name:
      // Compared by Unicode scalars: the same on every machine.
      let names = result.map { Array($0.source.name.lowercased().unicodeScalars) }
      return result.indices.sorted { a, b in
        if names[a] == names[b] { return a < b }
        return names[a].lexicographicallyPrecedes(names[b])
      }.map { result[$0] }
    case .talking: return result.sorted { ($0.talkRank, $0.joined) < ($1.talkRank, $1.joined) }
    }
  }

  private func matches(_ source: LayoutSource, _ term: SourceTerm, placed: Set<TileKey>) -> Bool {
    let key = source.key
    switch term {
    case .talker: return key == talker
    case .previousTalkers: return talkRank[key] != nil && key != talker
    case .screenShare: return key.isScreenShare
    case .presenter:
      guard case .camera(let participant, _) = key else { return false }
      return sources.contains { $0.key.isScreenShare && $0.key.participant == participant }
    case .pinned: return pinnedRank[key] != nil
    case .spotlight: return view.spotlight == key
    case .cameras: return !key.isScreenShare
    case .withVideo: return source.hasPicture
    case .withoutVideo: return !source.hasPicture
    case .everyone: return true
    case .others: return !placed.contains(key)
    case .person(let glob):
      return glob.matches(key.participant?.rawValue ?? "", ignoringCase: true)
        || glob.matches(source.displayName, ignoringCase: true)
    case .identity(let identity): return key.participant == identity
    case .track(let glob): return source.isPublished && glob.matches(source.trackName)
    case .source(let glob):
      guard source.isPublished else { return false }
      return glob.matches(source.trackName) || glob.pattern == source.trackID
        || glob.pattern == key.participant?.rawValue
    }
  }

  /// Which of the candidates get one of `capacity` places, in the candidates' order: pinned ones first, then (unless
  /// those who talk go before) those with a picture. The active talker, when left out for others who are not preferred
  /// by the selector, takes the place of the last of them; not where there is only one place, which is for whom the
  /// selector prefers.
  func chosen(
    _ candidates: [Candidate], capacity: Int, order: Order, keepsTalker: Bool
  ) -> [Candidate] {
    guard candidates.count > capacity else { return candidates }
    guard capacity > 0 else { return [] }
    let ranked = candidates.indices.sorted { a, b in
      let (first, second) = (candidates[a], candidates[b])
      if order == .listed, first.term != second.term { return first.term < second.term }
      if first.isHeld != second.isHeld { return first.isHeld }
      if order == .talking, first.talkRank != second.talkRank { return first.talkRank < second.talkRank }
      if first.source.hasPicture != second.source.hasPicture { return first.source.hasPicture }
      return a < b
    }
    var places = Array(ranked.prefix(capacity))
    if keepsTalker, let wanted = candidates.firstIndex(where: { $0.key == talker }), !places.contains(wanted),
      let place = places.lastIndex(where: { !candidates[$0].isHeld }),
      order != .listed || candidates[places[place]].term == candidates[wanted].term
    {
      places[place] = wanted
    }
    return places.sorted().map { candidates[$0] }
  }
}
