import { retryingTransfer } from "../base/retry.ts";
import { parseDigest } from "../image/digest.ts";
import type { Reference } from "../image/image-name.ts";
import type { Descriptor } from "../image/manifest.ts";
import { type BlobUpload, checkDigest, pushScope, type UploadOutcome, uploadBlob } from "./blob-upload.ts";
import { RegistryClient } from "./client.ts";
import type { RegistryOptions } from "./options.ts";
import { addToReferrers, subjectOf } from "./referrers-tag.ts";

type ManifestDescriptor = Pick<Descriptor, "mediaType" | "digest" | "size">;

/** Pushes to one repository (OCI distribution-spec 1.1, "Push"). Callers must close it. */
export class RegistryWriter {
  readonly #client: RegistryClient;
  readonly #options: RegistryOptions;
  readonly #scopes: readonly string[];

  constructor(reference: Pick<Reference, "registry" | "repository">, options: RegistryOptions = {}) {
    this.#options = options;
    // A mirror's content says nothing about the registry's.
    this.#client = new RegistryClient(reference, { ...options, mirrors: undefined });
    this.#scopes = [pushScope(this.#client.session)];
  }

  /** Whether the repository has the blob. */
  hasBlob(digest: string, signal: AbortSignal): Promise<boolean> {
    return retryingTransfer(this.#options.retry, signal, () =>
      this.#has(`blobs/${validated(digest)}`, `blob ${digest}`, {}, signal),
    );
  }

  /** Whether the repository has the manifest, and so everything that it references. */
  hasManifest(digest: string, mediaType: string, signal: AbortSignal): Promise<boolean> {
    const path = `manifests/${validated(digest)}`;
    const headers = { accept: mediaType };
    return retryingTransfer(this.#options.retry, signal, () => this.#has(path, `manifest ${digest}`, headers, signal));
  }

  /**
   * Pushes a blob unless the repository has it.
   *
   * @throws ImageError RegistryRefused, RegistryUnavailable, Unauthorized, UnsafeAddress, DigestMismatch, SizeMismatch
   */
  blob(upload: BlobUpload): Promise<UploadOutcome> {
    const { descriptor, signal } = upload;
    const { retry } = this.#options;
    return retryingTransfer(retry, signal, async () => {
      // Checks in each attempt, because an earlier one may have succeeded although its response was lost.
      const path = `blobs/${validated(descriptor.digest)}`;
      if (await this.#has(path, `blob ${descriptor.digest}`, {}, signal)) return "present";
      return uploadBlob(this.#client.session, upload, retry);
    });
  }

  /**
   * Pushes a manifest or index, whose content the repository must have. If it has a `subject` and the registry has no
   * referrers API, it is added to the list of referrers.
   *
   * @param tag default: none, only the digest
   */
  async manifest(
    descriptor: ManifestDescriptor,
    bytes: Uint8Array,
    tag: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { session } = this.#client;
    const response = await retryingTransfer(this.#options.retry, signal, async () => {
      const received = await session.request({
        method: "PUT",
        path: `manifests/${tag ?? validated(descriptor.digest)}`,
        headers: { "content-type": descriptor.mediaType },
        body: () => bytes,
        expect: [200, 201, 202],
        what: tag === undefined ? `manifest ${descriptor.digest}` : `tag ${tag}`,
        scopes: this.#scopes,
        signal: session.transport.timed(signal),
      });
      await received.body.dump();
      return received;
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
    // A redirect means that the content exists, so it is not followed.
    const expect = [200, 301, 302, 303, 307, 308, 404];
    const timed = session.transport.timed(signal);
    const request = { method: "HEAD", path, headers, expect, what, scopes: this.#scopes, signal: timed } as const;
    const response = await session.request(request);
    await response.body.dump();
    return response.status !== 404;
  }
}

/** Validates a digest that becomes part of a path. @throws ImageError Unsupported */
function validated(digest: string): string {
  parseDigest(digest);
  return digest;
}
