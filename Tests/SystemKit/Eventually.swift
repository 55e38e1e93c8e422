/// Waits until `condition` holds, 30 s at most: real sockets have no manual time, and a busy machine is in no hurry.
package func eventually(_ condition: () -> Bool) async -> Bool {
  let deadline = ContinuousClock.now + .seconds(30)
  while ContinuousClock.now < deadline {
    if condition() { return true }
    try? await Task.sleep(for: .milliseconds(10))
  }
  return condition()
}
