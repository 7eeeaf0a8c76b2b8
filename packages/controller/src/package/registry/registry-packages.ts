import { ImageError, parseReference, type RegistryAuth, type RegistryOptions } from "@xfn/oci-rootfs";
import { RegistryClient } from "@xfn/oci-rootfs/registry";
import {
  type PackageContents,
  type PackageKind,
  readPackage,
  type TrustedKey,
  verifySignature,
  versionTags,
} from "@xfn/package";
import type { PackageRegistry } from "../../objects/context.ts";

/** A package with a version for each commit has several thousand tags. */
const MAX_TAGS = 20_000;

/** Reads packages at registries. */
export class RegistryPackages implements PackageRegistry {
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions) {
    // Users who create Functions choose the registry, so it must not be an http service on the controller's machine.
    this.#options = { httpOnLoopback: false, ...options };
  }

  async digestOf(reference: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<string> {
    const parsed = parseReference(reference);
    const { digest, tag = "latest" } = parsed;
    if (digest !== undefined) return digest;
    const client = new RegistryClient(parsed, { ...this.#options, auth });
    try {
      return (await client.manifest({ tag }, signal)).digest;
    } catch (error) {
      throw ImageError.from(error, { image: reference });
    } finally {
      await client.close();
    }
  }

  async versions(source: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<readonly string[]> {
    const client = new RegistryClient(parseReference(source), { ...this.#options, auth });
    try {
      return await versionTags(await client.tags({ signal, maxTags: MAX_TAGS }));
    } catch (error) {
      throw ImageError.from(error, { image: source });
    } finally {
      await client.close();
    }
  }

  async verify(
    { image, name, keys }: { readonly image: string; readonly name: string; readonly keys: readonly TrustedKey[] },
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    await verifySignature({ ...this.#options, auth, image, name, keys, signal });
  }

  async read(
    reference: string,
    kind: PackageKind,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<PackageContents> {
    return await readPackage({ ...this.#options, auth, from: reference, signal }, { kind });
  }
}
