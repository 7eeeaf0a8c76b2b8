import { isObject, type JsonValue } from "@xfn/functionio";
import type { HttpResponse } from "../transport/transport.ts";
import { ApiError } from "./api-error.ts";
import type { LiveObject, WatchEvent } from "./client.ts";
import { failureOf, parseAnswer } from "./request.ts";
import { errorOfAnswer } from "./status.ts";

// A server takes objects of 3 MB at most; an object with its managed fields stays far below.
const MAX_LINE_BYTES = 32 * 1024 * 1024;

/** Reads the lines of a watch. Ends when the server ends it, or when nothing came for `idleMs`. */
export async function* readWatch(
  what: string,
  response: HttpResponse,
  idleMs: number,
  signal: AbortSignal | undefined,
  maxLineBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<WatchEvent, void, void> {
  const { body } = response;
  // Bookmarks come every minute: a connection without any is dead, though its peer (a proxy) may answer pings.
  let idle = false;
  const timer = setTimeout(() => {
    idle = true;
    body.destroy();
  }, idleMs);
  timer.unref();
  try {
    let parts: Buffer[] = [];
    let held = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      timer.refresh();
      let from = 0;
      for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
        const last = chunk.subarray(from, end);
        const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
        parts = [];
        held = 0;
        from = end + 1;
        if (line.length > 0) yield eventOf(what, parseAnswer(what, line));
        // The reader may have taken its time; that is not the server's silence.
        timer.refresh();
      }
      if (from < chunk.length) {
        parts.push(chunk.subarray(from));
        held += chunk.length - from;
        if (held > maxLineBytes) {
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
  if (type === "ERROR") throw errorOfAnswer(what, { status: 500, body: object });
  if (type === "ADDED" || type === "MODIFIED" || type === "DELETED" || type === "BOOKMARK") {
    return { type, object: object as unknown as LiveObject };
  }
  throw new ApiError("ServerError", `${what}: an event has the type ${JSON.stringify(type)}`);
}
