import { ImageError } from "../base/errors.ts";
import { type Fields, isObject, parseJsonObject } from "../base/json.ts";
import type { RegistryTransport, TransportResponse } from "./transport.ts";

/** Bytes of an error response that are searched for the registry's code. */
const MAX_ERROR_BYTES = 64 * 1024;
/** Limits a `Retry-After`, because a proxy's clock may be wrong. */
const MAX_RETRY_AFTER_S = 7 * 24 * 60 * 60;

/** The error for an unexpected response. `refusal` explains which credentials were used. */
export async function responseError(
  transport: RegistryTransport,
  response: TransportResponse,
  what: string,
  refusal: string,
  isPush: boolean,
): Promise<ImageError> {
  const { status, url, headers } = response;
  const { registryCode, words } = await transport
    .read(response, MAX_ERROR_BYTES, transport.timed(undefined), "error")
    .then(registryError, () => registryError(Buffer.alloc(0)));
  const message = `${url.host} returned ${status}${words} for ${what}`;
  const details = { registryCode };
  if (status === 401 || status === 403) return new ImageError("Unauthorized", `${message}${refusal}`, details);
  if (status === 404 && !isPush) return new ImageError("NotFound", message, details);
  const retryAfterMs = retryAfter(headers["retry-after"]);
  const retryable = status === 408 || status === 429 || status >= 500;
  if (!retryable && isPush) return new ImageError("RegistryRefused", message, details);
  return new ImageError("RegistryUnavailable", message, { ...details, retryable, retryAfterMs });
}

/** Milliseconds of a `Retry-After` header (RFC 9110, section 10.2.3): seconds, or a date. */
export function retryAfter(header: string | string[] | undefined): number | undefined {
  if (typeof header !== "string") return undefined;
  const seconds = /^\d{1,9}$/.test(header.trim()) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_S) * 1000 : undefined;
}

/** The registry's code and message (OCI distribution-spec, "Error Codes"). */
function registryError(bytes: Buffer): { registryCode: string | undefined; words: string } {
  const { errors } = parseJson(bytes);
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  const { code, message } = isObject(first) ? first : {};
  const words = [code, message].filter((word) => typeof word === "string").join(": ");
  return {
    registryCode: typeof code === "string" && /^[A-Z_]{1,64}$/.test(code) ? code : undefined,
    words: words === "" ? "" : ` (${words.replace(/[^\x20-\x7e]/g, "?").slice(0, 200)})`,
  };
}

/** Parses a response as a JSON object, else an empty one. An error could repeat secrets of the content. */
export function parseJson(bytes: Buffer): Fields {
  return parseJsonObject(bytes.toString("utf8")) ?? {};
}
