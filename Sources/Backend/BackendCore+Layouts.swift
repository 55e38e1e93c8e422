import Jobs
import JobsAPI
import MediaCore

extension BackendCore {
  /// How long ago a worker may have been heard of for its layouts to count.
  private static let memory = Duration.seconds(86_400)

  /// Throws when no worker knows a layout of this name: neither those that every worker has, nor one of `workers` that was
  /// there in the last day. `field` is where the name stands.
  func check(layout: String?, _ field: String, in workers: WorkerStore) async throws {
    guard let layout, let common = configuration.layouts else { return }
    if let problem = LayoutName.problem(with: layout) { throw Refusal.invalid("\(field): \(problem)") }
    let names = [layout, LayoutName.withoutTheme(layout)]
    if names.contains(where: common.contains) { return }
    let others = try await workers.list(seenWithin: Self.memory).flatMap { $0.status.abilities?.layouts ?? [] }
    if names.contains(where: others.contains) { return }
    let known = common + Set(others).subtracting(common).sorted()
    throw Refusal.invalid(
      "\(field): no worker knows a layout '\(layout)'\(Spelling.hint(for: layout, among: known))")
  }
}
