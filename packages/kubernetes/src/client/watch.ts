import { isObject, type JsonValue } from "@xfn/json";
import type { HttpResponse } from "../transport/transport.ts";
import { ApiError } from "./api-error.ts";
import type { LiveObject, WatchEvent } from "./client.ts";
import { failureOf, parseResponse } from "./request.ts";
import { statusError } from "./status.ts";

// A server accepts objects of 3 MB at most; managed fields add less than that again.
const MAX_LINE_BYTES = 32 * 1024 * 1024;

// Reflectors of client-go end each watch after 5 to 10 minutes, so that load spreads over the servers again.
const WATCH_SECONDS = 300;

/** How long a watch lasts: 5 to 10 minutes. */
export function watchSeconds(): number {
  return Math.round(WATCH_SECONDS * (1 + Math.random()));
}

/** Reads the lines of a watch. Ends when the server ends it, or when no data arrives for `idleMs`. */
export async function* readWatch(
  what: string,
  response: HttpResponse,
  idleMs: number,
  signal: AbortSignal | undefined,
  maxLineBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<WatchEvent, void, void> {
  const { body } = response;
  // Without bookmarks, which arrive every minute, the watch is dead, even if a proxy answers pings.
  let idle = false;
  const timer = setTimeout(() => {
    idle = true;
    body.destroy();
  }, idleMs);
  timer.unref();
  try {
    let parts: Buffer[] = [];
    let partsBytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      timer.refresh();
      let from = 0;
      for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
        const last = chunk.subarray(from, end);
        const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
        parts = [];
        partsBytes = 0;
        from = end + 1;
        if (line.length > 0) yield eventOf(what, parseResponse(what, line));
        // The time that the reader took is not the server's silence.
        timer.refresh();
      }
      if (from < chunk.length) {
        parts.push(chunk.subarray(from));
        partsBytes += chunk.length - from;
        if (partsBytes > maxLineBytes) {
          throw new ApiError("ServerError", `${what}: an event is larger than ${maxLineBytes / 1024 / 1024} MiB`);
        }
      }
    }
  } catch (error) {
    if (idle) return;
    throw failureOf(what, error, signal);
  } finally {
    clearTimeout(timer);
    response.cancel();
  }
}

function eventOf(what: string, event: JsonValue): WatchEvent {
  const type = isObject(event) ? event["type"] : undefined;
  const object = isObject(event) ? event["object"] : undefined;
  if (!isObject(object)) throw new ApiError("ServerError", `${what}: an event has no object`);
  if (type === "ERROR") throw statusError(what, { status: 500, body: object });
  if (type === "ADDED" || type === "MODIFIED" || type === "DELETED" || type === "BOOKMARK") {
    return { type, object: object as unknown as LiveObject };
  }
  throw new ApiError("ServerError", `${what}: an event has the type ${JSON.stringify(type)}`);
}
