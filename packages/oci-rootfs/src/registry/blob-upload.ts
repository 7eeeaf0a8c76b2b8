import { ImageError } from "../base/errors.ts";
import { Attempts, type RetryOptions } from "../base/retry.ts";
import type { Descriptor } from "../image/manifest.ts";
import { verifiedBytes } from "../image/verified-bytes.ts";
import type { RegistrySession, SessionRequest } from "./session.ts";
import { bare, type TransportResponse } from "./transport.ts";
import { uploadWatchdog } from "./upload-watchdog.ts";

export interface BlobUpload {
  readonly descriptor: Pick<Descriptor, "digest" | "size">;
  /** Opens the content, once for each attempt. It is verified while it is sent. */
  readonly open: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /** A repository of the same registry that may have the blob, to mount it from there. */
  readonly mountFrom?: string | undefined;
  /** Sends chunks of this many bytes, for registries behind a proxy with a size limit. Default: one request. */
  readonly chunkBytes?: number | undefined;
  /** Receives the number of bytes sent so far; it decreases when a new attempt begins. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
  readonly signal: AbortSignal;
}

/** How the registry got a blob. */
export type UploadOutcome = "present" | "mounted" | "sent";

/** A chunk stays in memory until the registry has it, so that it can be resent. */
const MAX_CHUNK_BYTES = 256 * 1024 * 1024;

/**
 * Attempts once to push a blob that the repository lacks (OCI distribution-spec 1.1, "Pushing Blobs").
 *
 * @throws ImageError RegistryRefused, RegistryUnavailable, Unauthorized, UnsafeAddress, DigestMismatch, SizeMismatch
 */
export async function uploadBlob(
  session: RegistrySession,
  upload: BlobUpload,
  retry: RetryOptions | undefined,
): Promise<UploadOutcome> {
  const started = await start(session, upload);
  if (started === undefined) return "mounted";
  const location = locationOf(session, started);
  if (upload.chunkBytes === undefined) await sendWhole(session, location, upload);
  else {
    const least = Number(started.headers["oci-chunk-min-length"] ?? 0) || 0;
    const chunkBytes = Math.min(Math.max(upload.chunkBytes, least, 1), MAX_CHUNK_BYTES);
    await sendChunks(session, location, { ...upload, chunkBytes }, retry);
  }
  return "sent";
}

export function pushScope(session: RegistrySession): string {
  return `repository:${session.repository}:pull,push`;
}

/** A registry that stored the content under another digest has corrupted it. */
export function checkDigest(response: TransportResponse, digest: string): void {
  const claimed = response.headers["docker-content-digest"];
  if (typeof claimed !== "string" || claimed === digest || claimed.split(":")[0] !== digest.split(":")[0]) return;
  throw new ImageError("RegistryRefused", `${response.url.host} stored it as ${claimed.slice(0, 150)}`, { digest });
}

/** Starts an upload. @returns the response with its location; undefined if the registry mounted the blob */
async function start(session: RegistrySession, upload: BlobUpload): Promise<TransportResponse | undefined> {
  const { descriptor, mountFrom, signal } = upload;
  const post = async (query: string, scopes: readonly string[]): Promise<TransportResponse> => {
    const timed = session.transport.timed(signal);
    const what = `upload of ${descriptor.digest}`;
    const path = `blobs/uploads/${query}`;
    return drained(
      await session.request({ method: "POST", path, headers: {}, expect: [201, 202], what, scopes, signal: timed }),
    );
  };
  const scope = pushScope(session);
  if (mountFrom !== undefined) {
    const query = new URLSearchParams({ mount: descriptor.digest, from: mountFrom });
    // Without read access to the other repository, or without support for mounts, the blob is sent.
    const response = await post(`?${query.toString()}`, [scope, `repository:${mountFrom}:pull`]).catch(
      (error: unknown) => {
        if (error instanceof ImageError && (error.code === "Unauthorized" || error.code === "RegistryRefused"))
          return undefined;
        throw error;
      },
    );
    if (response?.status === 201) return undefined;
    if (response !== undefined) return response;
  }
  return post("", [scope]);
}

async function sendWhole(session: RegistrySession, location: URL, upload: BlobUpload): Promise<void> {
  const { descriptor, onBytes } = upload;
  using watchdog = uploadWatchdog(session.transport.stallMs, upload.signal, descriptor.digest);
  const content = await upload.open(watchdog.signal);
  let used = false;
  const body = (): AsyncIterable<Uint8Array> => {
    // The token has expired. The content is partly consumed, so only a new attempt helps.
    if (used)
      throw new ImageError("RegistryUnavailable", "the registry requires new credentials during an upload", {
        retryable: true,
      });
    used = true;
    return watchdog.body(counted(lastWithheld(verifiedBytes(content, descriptor)), onBytes));
  };
  const headers = { "content-type": "application/octet-stream", "content-length": String(descriptor.size) };
  const response = await session.request({
    ...finishing(session, location, descriptor.digest, watchdog.signal),
    headers,
    body,
  });
  checkDigest(await drained(response), descriptor.digest);
}

async function sendChunks(
  session: RegistrySession,
  from: URL,
  upload: BlobUpload & { readonly chunkBytes: number },
  retry: RetryOptions | undefined,
): Promise<void> {
  const { descriptor, onBytes, signal, chunkBytes } = upload;
  const attempts = new Attempts(retry);
  let location = from;
  let offset = 0;
  const content = verifiedBytes(await upload.open(signal), descriptor);
  for await (const chunk of inChunks(content, chunkBytes)) {
    for (let sent = 0; sent < chunk.length; ) {
      const at = offset + sent;
      try {
        const response = await patch(session, location, chunk.subarray(sent), at, upload);
        location = locationOf(session, response, location);
        sent = chunk.length;
        attempts.progress();
      } catch (error) {
        await attempts.pauseAfter(error, signal);
        // Only the registry knows how much has arrived.
        const status = await uploadStatus(session, location, signal).catch((lost: unknown) => {
          // Some registries forget an upload whose last response was lost. Then the whole attempt begins anew.
          throw lost instanceof ImageError && (lost.code === "NotFound" || lost.code === "RegistryRefused")
            ? error
            : lost;
        });
        if (status.received < at || status.received > offset + chunk.length) throw error;
        location = status.location;
        sent = status.received - offset;
      }
      onBytes?.(offset + sent);
    }
    offset += chunk.length;
  }
  const timed = session.transport.timed(signal);
  const response = await session.request({ ...finishing(session, location, descriptor.digest, timed), headers: {} });
  checkDigest(await drained(response), descriptor.digest);
}

async function patch(
  session: RegistrySession,
  location: URL,
  piece: Uint8Array,
  at: number,
  { descriptor, signal }: BlobUpload,
): Promise<TransportResponse> {
  using watchdog = uploadWatchdog(session.transport.stallMs, signal, descriptor.digest);
  const headers = {
    "content-type": "application/octet-stream",
    "content-length": String(piece.length),
    "content-range": `${at}-${at + piece.length - 1}`,
  };
  return drained(
    await session.request({
      method: "PATCH",
      path: location,
      headers,
      body: () => watchdog.body(inPieces(piece)),
      expect: [201, 202, 204],
      what: `blob ${descriptor.digest}`,
      scopes: [pushScope(session)],
      signal: watchdog.signal,
    }),
  );
}

async function uploadStatus(
  session: RegistrySession,
  location: URL,
  signal: AbortSignal,
): Promise<{ location: URL; received: number }> {
  const response = await session.request({
    method: "GET",
    path: location,
    headers: {},
    expect: [200, 202, 204],
    what: "upload",
    scopes: [pushScope(session)],
    signal: session.transport.timed(signal),
  });
  await drained(response);
  const last = /^(?:bytes=)?0-(\d+)$/.exec(String(response.headers["range"] ?? ""))?.[1];
  // Registries return `0-0` for an empty upload.
  const received = last === undefined || last === "0" ? 0 : Number(last) + 1;
  return { location: locationOf(session, response, location), received };
}

function finishing(
  session: RegistrySession,
  location: URL,
  digest: string,
  signal: AbortSignal,
): Omit<SessionRequest, "headers"> {
  const path = new URL(location);
  // Appended as text, because the registry must get back its query unchanged.
  path.search = `${path.search}${path.search === "" ? "?" : "&"}digest=${encodeURIComponent(digest)}`;
  return { method: "PUT", path, expect: [201, 204], what: `blob ${digest}`, scopes: [pushScope(session)], signal };
}

/** The URL for the next request. It must be on the registry's host, because content and credentials are only for it. */
function locationOf(session: RegistrySession, response: TransportResponse, otherwise?: URL): URL {
  const { registry } = session.transport;
  const header = response.headers["location"];
  const to = typeof header === "string" ? URL.parse(header, response.url.href) : (otherwise ?? null);
  if (to === null) throw new ImageError("RegistryUnavailable", `${registry.host} returned no upload location`);
  // A registry behind a TLS-terminating proxy may return http. The scheme stays that of the registry.
  if (to.host === registry.host && /^https?:$/.test(to.protocol))
    return new URL(`${to.pathname}${to.search}`, registry);
  throw new ImageError("UnsafeAddress", `${registry.host} redirects an upload to another host: ${bare(to)}`);
}

async function drained(response: TransportResponse): Promise<TransportResponse> {
  await response.body.dump();
  return response;
}

/**
 * Delays the last chunk until the source has verified the whole, so that a wrong blob is never complete at the
 * registry.
 */
async function* lastWithheld(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let withheld: Uint8Array | undefined;
  for await (const chunk of source) {
    if (withheld !== undefined) yield withheld;
    withheld = chunk;
  }
  if (withheld !== undefined) yield withheld;
}

async function* counted(
  source: AsyncIterable<Uint8Array>,
  onBytes: ((bytes: number) => void) | undefined,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for await (const chunk of source) {
    yield chunk;
    bytes += chunk.length;
    onBytes?.(bytes);
  }
}

/** Regroups the source into chunks of this size; the last one may be smaller. */
async function* inChunks(source: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array, void> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (let chunk of source) {
    while (length + chunk.length >= size) {
      const cut = size - length;
      yield Buffer.concat([...parts, chunk.subarray(0, cut)]);
      chunk = chunk.subarray(cut);
      parts = [];
      length = 0;
    }
    if (chunk.length > 0) parts.push(chunk);
    length += chunk.length;
  }
  if (length > 0) yield Buffer.concat(parts);
}

/** Small pieces let the watchdog measure the throughput. */
const PIECE_BYTES = 64 * 1024;

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
