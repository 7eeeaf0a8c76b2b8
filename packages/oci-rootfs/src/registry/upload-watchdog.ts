import { ImageError } from "../base/errors.ts";
import { MIN_BYTES_PER_SECOND } from "./transport.ts";

/** A registry may move a large blob to its storage before it responds. */
const MAX_COMMIT_MS = 5 * 60_000;

/** Wraps the body of an upload, and aborts its request. */
export interface UploadWatchdog extends Disposable {
  body(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Aborts an upload that stalls. No HTTP timeout covers a registry that reads one byte from time to time. */
export function uploadWatchdog(stallMs: number, outer: AbortSignal, what: string): UploadWatchdog {
  const least = (stallMs / 1000) * MIN_BYTES_PER_SECOND;
  const controller = new AbortController();
  let sent = 0;
  let before = 0;
  let sentAllAt: number | undefined;
  const timer = setInterval(() => {
    const waited = sentAllAt === undefined ? 0 : performance.now() - sentAllAt;
    const stalls = sentAllAt === undefined ? sent - before < least : waited > Math.max(MAX_COMMIT_MS, stallMs);
    if (stalls) {
      const why =
        sentAllAt === undefined ? `stalled below ${MIN_BYTES_PER_SECOND} bytes a second` : "got no response in time";
      controller.abort(new ImageError("RegistryUnavailable", `upload of ${what} ${why}`, { retryable: true }));
    }
    before = sent;
  }, stallMs);
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    async *body(content) {
      for await (const chunk of content) {
        yield chunk;
        // The request for the next chunk means that this one is being sent.
        sent += chunk.length;
      }
      sentAllAt = performance.now();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
