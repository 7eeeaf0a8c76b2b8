// An addition to a queue takes some microseconds, and a comparison of two states of an object some tens of them. So a
// turn takes milliseconds.
const ITEMS_IN_A_TURN = 250;

/**
 * Handles items one after the other. After each few hundred of them, timers and sockets get a turn of the event loop:
 * a list of 100,000 objects must not keep a process from renewing its lease. The first items are handled before this
 * function returns.
 *
 * @param signal ends the handling between two turns
 */
export async function inTurns<T>(
  items: readonly T[],
  handle: (item: T) => void | Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  let left = ITEMS_IN_A_TURN;
  for (const item of items) {
    if (left-- === 0) {
      await new Promise((resolve) => setImmediate(resolve));
      left = ITEMS_IN_A_TURN - 1;
    }
    if (signal?.aborted === true) return;
    const handled = handle(item);
    if (handled !== undefined) await handled;
  }
}
