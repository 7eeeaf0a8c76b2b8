import { ImageError } from "../base/errors.ts";
import { MIN_BYTES_PER_SECOND } from "./transport.ts";

/** A registry may move a large blob to where it keeps it before it answers. */
const MAX_COMMIT_MS = 5 * 60_000;

/** A body that is being sent, and the signal of its request. */
export interface WatchedUpload extends Disposable {
  body(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Gives up an upload that nobody takes: no timeout of HTTP covers a registry that reads a byte now and then. */
export function watchedUpload(stallMs: number, outer: AbortSignal, what: string): WatchedUpload {
  const least = (stallMs / 1000) * MIN_BYTES_PER_SECOND;
  const controller = new AbortController();
  let sent = 0;
  let before = 0;
  let sentAllAt: number | undefined;
  const timer = setInterval(() => {
    const waited = sentAllAt === undefined ? 0 : performance.now() - sentAllAt;
    const stalls = sentAllAt === undefined ? sent - before < least : waited > Math.max(MAX_COMMIT_MS, stallMs);
    if (stalls) {
      const why = sentAllAt === undefined ? "is hardly taken" : "is not answered";
      controller.abort(new ImageError("RegistryUnavailable", `upload of ${what} ${why}`, { retryable: true }));
    }
    before = sent;
  }, stallMs);
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    async *body(content) {
      for await (const chunk of content) {
        yield chunk;
        // Asked for the next one: this one is on its way.
        sent += chunk.length;
      }
      sentAllAt = performance.now();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
