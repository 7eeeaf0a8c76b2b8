import { ImageError, parseReference, type RegistryAuth, type RegistryOptions } from "@xfn/oci-rootfs";
import { RegistryClient } from "@xfn/oci-rootfs/registry";
import { type PackageContents, type PackageKind, readPackage } from "@xfn/package";
import type { PackageRegistry } from "../../objects/context.ts";

/** Reads packages at registries. */
export class RegistryPackages implements PackageRegistry {
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions) {
    // Users who create Functions choose the registry: it must not be an http service of the controller's machine.
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

  async read(
    reference: string,
    kind: PackageKind,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<PackageContents> {
    return await readPackage({ ...this.#options, auth, from: reference, signal }, { kind });
  }
}
