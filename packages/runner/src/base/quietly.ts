/** Runs an action and ignores its errors. Each caller says why the action may fail. */
export function quietly(action: () => void): void {
  try {
    action();
  } catch {
    // See the caller.
  }
}
