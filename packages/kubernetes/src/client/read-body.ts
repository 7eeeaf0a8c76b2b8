import type { HttpResponse } from "../transport/transport.ts";
import { ApiError } from "./api-error.ts";

// A list of 100,000 objects of 2 KB in one piece: after an expired continue token, the list is fetched without pages.
const MAX_BODY_BYTES: number = 256 * 1024 * 1024;

/** Reads a whole body. @throws {ApiError} Timeout, Unreachable, Invalid (too large) */
export function readBody(
  what: string,
  response: HttpResponse,
  timeoutMs: number,
  maxBytes: number = MAX_BODY_BYTES,
): Promise<Buffer> {
  const { body } = response;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let failure: unknown;
    const fail = (error: unknown): void => {
      failure ??= error;
      body.destroy();
    };
    const timer = setTimeout(
      () => fail(new ApiError("Timeout", `${what}: the response did not end within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    let ended = false;
    body.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        fail(new ApiError("Invalid", `${what}: the response is larger than ${maxBytes / 1024 / 1024} MiB`));
      } else chunks.push(chunk);
    });
    body.once("end", () => {
      ended = true;
      // An HTTP/1.1 body emits `close` only when its connection closes.
      if (failure === undefined) {
        clearTimeout(timer);
        const [first] = chunks;
        resolve(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
      }
    });
    body.on("error", (error) => {
      failure ??= error;
    });
    body.once("close", () => {
      clearTimeout(timer);
      if (ended && failure === undefined) return;
      if (failure instanceof Error) reject(failure);
      else reject(new ApiError("Unreachable", `${what}: the response broke off after ${bytes} bytes`));
    });
  });
}
