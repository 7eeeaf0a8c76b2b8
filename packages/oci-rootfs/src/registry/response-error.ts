import { ImageError } from "../base/errors.ts";
import { type Fields, isObject, parseJsonObject } from "../base/json.ts";
import type { RegistryTransport, TransportResponse } from "./transport.ts";

/** So much of an error's body is looked at for the registry's own code. */
const MAX_ERROR_BYTES = 64 * 1024;
/** A proxy's clock and ours differ; what says to come back sooner than at once is no date at all. */
const MAX_RETRY_AFTER_S = 7 * 24 * 60 * 60;

/** What an answer that is not the wanted one means. `refusal` adds what is known about the credentials. */
export async function registryFailure(
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
  const answer = `${url.host} answers ${status}${words} for ${what}`;
  const details = { registryCode };
  if (status === 401 || status === 403) return new ImageError("Unauthorized", `${answer}${refusal}`, details);
  if (status === 404 && !isPush) return new ImageError("NotFound", answer, details);
  const retryAfterMs = retryAfter(headers["retry-after"]);
  const retryable = status === 408 || status === 429 || status >= 500;
  if (!retryable && isPush) return new ImageError("RegistryRefused", answer, details);
  return new ImageError("RegistryUnavailable", answer, { ...details, retryable, retryAfterMs });
}

/** Milliseconds of a `Retry-After` header (RFC 9110, section 10.2.3): seconds, or a date. */
export function retryAfter(header: string | string[] | undefined): number | undefined {
  if (typeof header !== "string") return undefined;
  const seconds = /^\d{1,9}$/.test(header.trim()) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_S) * 1000 : undefined;
}

/** The registry's own code and words (distribution-spec, "Error Codes"). */
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

/** A JSON object of an answer; empty where it is none: the content must not be repeated, it may hold secrets. */
export function parseJson(bytes: Buffer): Fields {
  return parseJsonObject(bytes.toString("utf8")) ?? {};
}
