import { readFile } from "node:fs/promises";
import { ImageError, parseReference, type RegistryAuth, type RegistryOptions } from "@xfn/oci-rootfs";
import { RegistryClient } from "@xfn/oci-rootfs/registry";
import {
  type Authority,
  type PackageContents,
  type PackageKind,
  readPackage,
  verifySignature,
  versionTags,
} from "@xfn/package";
import type { PackageRegistry } from "../../objects/context.ts";

/** A package with a version for each commit has several thousand tags. */
const MAX_TAGS = 20_000;

/** Where packages are read, and how they are verified. */
export interface RegistryPackagesOptions extends RegistryOptions {
  /** The file of `--trusted-root`, which is read for each use, so that it can change. */
  readonly trustedRootFile: string | undefined;
}

/** Reads packages at registries. */
export class RegistryPackages implements PackageRegistry {
  readonly #options: RegistryOptions;
  readonly #trustedRootFile: string | undefined;

  constructor({ trustedRootFile, ...options }: RegistryPackagesOptions) {
    // Users who create Functions choose the registry, so it must not be an http service on the controller's machine.
    this.#options = { httpOnLoopback: false, ...options };
    this.#trustedRootFile = trustedRootFile;
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
    check: { readonly image: string; readonly name: string; readonly authorities: readonly Authority[] },
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    await verifySignature({ ...this.#options, auth, ...check, signal });
  }

  async trustedRoot(): Promise<Uint8Array | undefined> {
    return this.#trustedRootFile === undefined ? undefined : await readFile(this.#trustedRootFile);
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
