import { ImageError, unlessMissing } from "../base/errors.ts";
import { retryingTransfer } from "../base/retry.ts";
import { throwIfAborted } from "../base/single-flight.ts";
import { digestOf, isDigest, isOfDigest, parseDigest } from "../image/digest.ts";
import type { Reference } from "../image/image-name.ts";
import type { ImageSource, SourceManifest } from "../image/image-source.ts";
import { type Descriptor, MAX_MANIFEST_BYTES } from "../image/manifest.ts";
import { MANIFEST_TYPES, OCI_INDEX } from "../image/media-types.ts";
import type { Referrer } from "../image/registry-page.ts";
import { readReferrers, readTags } from "../worker/read-documents.ts";
import { mirroredRepository, mirrorsOf } from "./mirrors.ts";
import type { RegistryOptions } from "./options.ts";
import { resumedBlob, skipping } from "./resumed-blob.ts";
import { RegistrySession } from "./session.ts";
import type { TransportResponse } from "./transport.ts";

/** Registries may return fewer. */
const TAGS_PER_PAGE = 1000;
/** A registry that returns more pages generates them endlessly. */
const MAX_PAGES = 1000;
/** For one page of tags or referrers. */
const MAX_PAGE_BYTES = MAX_MANIFEST_BYTES;

/** The maximum for all pages of a list: a million tags. */
const MAX_LIST_BYTES = 32 * 1024 * 1024;

/** A client of one repository (OCI distribution-spec 1.1) that asks its mirrors first. Callers must close it. */
export class RegistryClient implements ImageSource {
  /** For the registry itself, not a mirror. */
  readonly session: RegistrySession;
  readonly options: RegistryOptions;
  #mirrors: readonly RegistrySession[];

  constructor(reference: Pick<Reference, "registry" | "repository">, options: RegistryOptions = {}) {
    const { registry, repository } = reference;
    this.options = options;
    this.session = new RegistrySession(registry, repository, options.auth, options);
    this.#mirrors = mirrorsOf(options.mirrors, registry).map((mirror) => {
      // `auth` is for the registry only. A mirror gets its own credentials from `credentials`.
      return new RegistrySession(mirror.host, mirroredRepository(mirror, repository), undefined, options);
    });
  }

  /** @throws ImageError NotFound, Unauthorized, RegistryUnavailable, UnsafeAddress, TooLarge, DigestMismatch */
  manifest(selector: { tag: string } | { digest: string }, signal: AbortSignal | undefined): Promise<SourceManifest> {
    const wanted = "digest" in selector ? selector.digest : selector.tag;
    const what = "digest" in selector ? `manifest ${wanted}` : `tag ${wanted}`;
    return this.#fromAny(signal, async ({ transport, get }) => {
      const timed = transport.timed(signal);
      const headers = { accept: MANIFEST_TYPES.join(", ") };
      const response = await get(`manifests/${wanted}`, headers, timed, what);
      const bytes = await transport.read(response, MAX_MANIFEST_BYTES, timed, "manifest");
      const digest = digestOf(bytes);
      const claimed =
        "digest" in selector ? selector.digest : String(response.headers["docker-content-digest"] ?? digest);
      // The registry may use an unknown digest algorithm in its header. The caller may not.
      if (("digest" in selector || isDigest(claimed)) && !isOfDigest(bytes, claimed)) {
        throw new ImageError("DigestMismatch", `the manifest's digest is ${digest}`, { digest: claimed });
      }
      const mediaType = response.headers["content-type"];
      return { bytes, digest, ...(typeof mediaType === "string" && { mediaType }) };
    });
  }

  /** Returns unverified content. After a broken connection it fetches the rest. */
  async blob(
    descriptor: Pick<Descriptor, "digest"> & { readonly size?: number },
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    const { digest, size } = descriptor;
    parseDigest(digest);
    const openAt = (offset: number): Promise<AsyncIterable<Uint8Array>> =>
      this.#fromAny(signal, async ({ transport, get }) => {
        const range: Record<string, string> = offset === 0 ? {} : { range: `bytes=${offset}-` };
        const response = await get(`blobs/${digest}`, range, signal, `blob ${digest}`, [200, 206]);
        const start = startOf(response);
        if (start > offset) {
          response.body.destroy();
          throw new ImageError("RegistryUnavailable", `${transport.registry.host} sends another range than requested`);
        }
        const content = transport.stream(response, signal);
        return offset > start ? skipping(content, offset - start) : content;
      });
    const first = await openAt(0);
    return size === undefined ? first : resumedBlob(first, openAt, size, this.options.retry, signal);
  }

  /**
   * Returns the repository's tags, in the registry's order.
   *
   * @param maxTags more are an error. Default: as many as fit into 32 MiB
   * @throws ImageError TooLarge
   */
  tags(options: { signal?: AbortSignal | undefined; maxTags?: number | undefined } = {}): Promise<string[]> {
    const { signal, maxTags } = options;
    return this.#pages(`tags/list?n=${TAGS_PER_PAGE}`, "tags", signal, readTags, maxTags);
  }

  /**
   * Returns the referrers of a manifest, by the referrers API. For a registry without it, by the tag that clients
   * maintain (OCI distribution-spec 1.1, "Referrers Tag Schema").
   */
  async referrers(digest: string, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<Referrer[]> {
    const { algorithm, hex } = parseDigest(digest);
    let found: Referrer[];
    try {
      found = await this.#pages(`referrers/${digest}`, `referrers of ${digest}`, signal, readReferrers);
    } catch (error) {
      if (!(error instanceof ImageError) || error.code !== "NotFound") throw error;
      const list = await this.manifest({ tag: `${algorithm}-${hex}` }, signal).catch(unlessMissing);
      if (list === undefined) return [];
      found = await readReferrers(list.bytes, signal);
    }
    return found;
  }

  async close(): Promise<void> {
    await Promise.all([this.session, ...this.#mirrors].map(({ transport }) => transport.close()));
  }

  async #pages<T>(
    path: string,
    what: string,
    signal: AbortSignal | undefined,
    read: ReadPage<T>,
    max: number = Number.POSITIVE_INFINITY,
  ): Promise<T[]> {
    return await this.#fromAny(signal, async ({ transport, get }) => {
      const found: T[] = [];
      let bytes = 0;
      let next: string | URL | undefined = path;
      for (let pages = 0; next !== undefined; pages += 1) {
        if (pages === MAX_PAGES) throw new ImageError("TooLarge", `${what}: more than ${MAX_PAGES} pages`);
        const timed = transport.timed(signal);
        const response: TransportResponse = await get(next, { accept: `${OCI_INDEX}, application/json` }, timed, what);
        const page = await transport.read(response, MAX_PAGE_BYTES, timed, what);
        bytes += page.length;
        if (bytes > MAX_LIST_BYTES) throw new ImageError("TooLarge", `${what}: more than ${MAX_LIST_BYTES} bytes`);
        for (const item of await read(page, signal)) found.push(item);
        if (found.length > max) throw new ImageError("TooLarge", `${what}: the repository has more than ${max}`);
        next = nextPage(response, transport.registry);
      }
      return found;
    });
  }

  /** Tries the mirrors, then the registry. Throws the registry's error. */
  async #fromAny<T>(signal: AbortSignal | undefined, work: (endpoint: Endpoint) => Promise<T>): Promise<T> {
    const failed: string[] = [];
    for (const mirror of this.#mirrors) {
      try {
        return await work(endpointOf(mirror));
      } catch (error) {
        throwIfAborted(signal);
        const { code, rawMessage } = ImageError.from(error);
        failed.push(`mirror ${mirror.host}: ${rawMessage}`);
        // Each layer would wait again for a mirror that is down.
        if (code === "RegistryUnavailable") this.#drop(mirror);
      }
    }
    try {
      return await retryingTransfer(this.options.retry, signal, () => work(endpointOf(this.session)));
    } catch (error) {
      if (!(error instanceof ImageError) || failed.length === 0) throw error;
      throw new ImageError(error.code, `${error.rawMessage}; ${failed.join("; ")}`, { ...error, cause: error });
    }
  }

  #drop(mirror: RegistrySession): void {
    this.#mirrors = this.#mirrors.filter((other) => other !== mirror);
    mirror.transport.close().catch(() => {});
  }
}

type ReadPage<T> = (bytes: Uint8Array, signal: AbortSignal | undefined) => Promise<readonly T[]>;

/** The registry or a mirror. */
interface Endpoint {
  readonly transport: RegistrySession["transport"];
  get(
    path: string | URL,
    headers: Record<string, string>,
    signal: AbortSignal,
    what: string,
    expect?: readonly number[],
  ): Promise<TransportResponse>;
}

function endpointOf(session: RegistrySession): Endpoint {
  return {
    transport: session.transport,
    get: (path, headers, signal, what, expect = [200]) =>
      session.request({ method: "GET", path, headers, signal, what, expect }),
  };
}

/** The offset of the response's content (RFC 9110, section 14.4). */
function startOf(response: TransportResponse): number {
  if (response.status !== 206) return 0;
  const start = /^bytes (\d+)-/.exec(String(response.headers["content-range"]))?.[1];
  // Without the header, the offset is unknown.
  return start === undefined ? Number.POSITIVE_INFINITY : Number(start);
}

function nextPage(response: TransportResponse, registry: URL): URL | undefined {
  const link = /<([^<>]*)>\s*;\s*rel="?next"?/.exec(String(response.headers["link"] ?? ""))?.[1];
  const next = link === undefined ? null : URL.parse(link, response.url.href);
  // A link to another host would be a redirect that bypasses the address policy.
  return next === null || next.origin !== registry.origin ? undefined : next;
}
