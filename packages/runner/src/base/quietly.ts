/** Ignores errors of an action. Each caller says why it may fail. */
export function quietly(action: () => void): void {
  try {
    action();
  } catch {
    // See the caller.
  }
}
