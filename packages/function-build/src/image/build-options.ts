import type { Image, Platform, Store } from "@xfn/oci-rootfs";

/** A platform of an image. */
export interface FunctionTarget {
  /** Default: the platform of the base, else of this machine. */
  readonly platform?: Platform | undefined;
  /** The base image. Default: one made from this machine. */
  readonly base?: Image | undefined;
}

/** Options of `buildFunction`. */
export interface BuildFunctionOptions {
  /** The function's folder or file. */
  readonly path: string;
  /** A name for the local store, such as `my-function:v1`, or `oci:DIR[:TAG]` for an OCI layout. */
  readonly name: string;
  /** The store of the bases, and of the image unless it goes to a layout. */
  readonly store: Store;
  /** Several targets make an index. Default: one, for this machine. `wasip1/wasm` compiles a WebAssembly module. */
  readonly targets?: readonly FunctionTarget[];
  /** The file to run or to bundle, relative to the folder. Default: see `inspectFolder`. */
  readonly entrypoint?: string | undefined;
  /** Whether to type-check TypeScript. Default: true. */
  readonly check?: boolean;
  /** Labels besides those from the folder. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations of manifests and the index, besides those from the folder. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Whether to add an SBOM (SPDX 2.3, at `/sbom.spdx.json`). Default: false. */
  readonly sbom?: boolean;
  /** Called with notes for a person. */
  readonly onNote?: (message: string) => void;
  readonly signal?: AbortSignal;
}

/** A built image, or an index with one image for each platform. */
export interface BuiltFunction {
  /** The name for `Store.image`. */
  readonly name: string;
  /** The digest of the manifest or index. */
  readonly digest: string;
}
