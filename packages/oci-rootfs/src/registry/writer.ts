import { retrying } from "../base/retry.ts";
import { parseDigest } from "../image/digest.ts";
import type { Reference } from "../image/image-name.ts";
import type { Descriptor } from "../image/manifest.ts";
import { type BlobUpload, checkDigest, pushScope, type UploadOutcome, uploadBlob } from "./blob-upload.ts";
import { RegistryClient } from "./client.ts";
import type { RegistryOptions } from "./options.ts";
import { addToReferrers, subjectOf } from "./referrers-tag.ts";

type ManifestDescriptor = Pick<Descriptor, "mediaType" | "digest" | "size">;

/** Pushes to one repository (OCI distribution-spec 1.1, "Push"). To be closed after use. */
export class RegistryWriter {
  readonly #client: RegistryClient;
  readonly #options: RegistryOptions;
  readonly #scopes: readonly string[];

  constructor(reference: Pick<Reference, "registry" | "repository">, options: RegistryOptions = {}) {
    this.#options = options;
    // What is there is asked of the registry itself, never of a mirror.
    this.#client = new RegistryClient(reference, { ...options, mirrors: undefined });
    this.#scopes = [pushScope(this.#client.session)];
  }

  /** Whether the repository has the blob. */
  hasBlob(digest: string, signal: AbortSignal): Promise<boolean> {
    return retrying(this.#options.retry, signal, () =>
      this.#has(`blobs/${parse(digest)}`, `blob ${digest}`, {}, signal),
    );
  }

  /** Whether the repository has the manifest, and so all that it is made of. */
  hasManifest(digest: string, mediaType: string, signal: AbortSignal): Promise<boolean> {
    const path = `manifests/${parse(digest)}`;
    const headers = { accept: mediaType };
    return retrying(this.#options.retry, signal, () => this.#has(path, `manifest ${digest}`, headers, signal));
  }

  /**
   * Brings a blob into the repository, unless it is there.
   *
   * @throws ImageError RegistryRefused, RegistryUnavailable, Unauthorized, UnsafeAddress, DigestMismatch, SizeMismatch
   */
  blob(upload: BlobUpload): Promise<UploadOutcome> {
    const { descriptor, signal } = upload;
    const { retry } = this.#options;
    return retrying(retry, signal, async () => {
      // Looked for in each attempt: the one before may have arrived and only its answer been lost.
      const path = `blobs/${parse(descriptor.digest)}`;
      if (await this.#has(path, `blob ${descriptor.digest}`, {}, signal)) return "present";
      return uploadBlob(this.#client.session, upload, retry);
    });
  }

  /**
   * Puts a manifest or index, whose content must be there already. One that refers to another (`subject`) is added to the
   * list that clients keep where the registry has no referrers API.
   *
   * @param tag default: none; it is found by its digest
   */
  async manifest(
    descriptor: ManifestDescriptor,
    bytes: Uint8Array,
    tag: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { session } = this.#client;
    const response = await retrying(this.#options.retry, signal, async () => {
      const answer = await session.request({
        method: "PUT",
        path: `manifests/${tag ?? parse(descriptor.digest)}`,
        headers: { "content-type": descriptor.mediaType },
        body: () => bytes,
        expect: [200, 201, 202],
        what: tag === undefined ? `manifest ${descriptor.digest}` : `tag ${tag}`,
        scopes: this.#scopes,
        signal: session.transport.timed(signal),
      });
      await answer.body.dump();
      return answer;
    });
    checkDigest(response, descriptor.digest);
    const subject = subjectOf(bytes);
    if (subject === undefined || response.headers["oci-subject"] !== undefined) return;
    const list = addToReferrers(await this.#client.referrers(subject, { signal }), descriptor, bytes);
    const { algorithm, hex } = parseDigest(subject);
    if (list !== undefined) await this.manifest(list.descriptor, list.bytes, `${algorithm}-${hex}`, signal);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #has(path: string, what: string, headers: Record<string, string>, signal: AbortSignal): Promise<boolean> {
    const { session } = this.#client;
    // A redirect says where the content is, and so that it is; there is no need to go there.
    const expect = [200, 301, 302, 303, 307, 308, 404];
    const timed = session.transport.timed(signal);
    const request = { method: "HEAD", path, headers, expect, what, scopes: this.#scopes, signal: timed } as const;
    const response = await session.request(request);
    await response.body.dump();
    return response.status !== 404;
  }
}

/** A digest goes into a path. @throws ImageError Unsupported */
function parse(digest: string): string {
  parseDigest(digest);
  return digest;
}
