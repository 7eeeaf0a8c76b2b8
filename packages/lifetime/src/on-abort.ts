/**
 * Calls a listener once when a signal is aborted, or at once if it is already.
 *
 * @returns stops listening
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => undefined;
  // Not the listener itself: a signal calls a function that was added twice only once.
  const listen = (): void => listener();
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listen, { once: true });
  return () => signal.removeEventListener("abort", listen);
}
