import { join } from "node:path";
import { InputError } from "@xfn/input";
import {
  type BuildConfig,
  type BuildEntry,
  type BuildLayer,
  buildImage,
  buildIndex,
  hostPlatform,
  type Image,
  type ImageSpec,
  type Platform,
  printPlatform,
  type Store,
} from "@xfn/oci-rootfs";
import { hostBase } from "../base/host-base.ts";
import { type HostBaseKind, NODE_PATH } from "../base/host-tree.ts";
import { BUNDLE_FILE, bundle } from "../bundle/bundle.ts";
import type { BundledPackage } from "../bundle/bundled-packages.ts";
import { baseAnnotations, packageAnnotations } from "../package/package-annotations.ts";
import { type PackageMetadata, packageMetadata } from "../package/package-yaml.ts";
import { SBOM_PATH, sbom } from "../package/sbom.ts";
import { checkProcessor, inspectProgram, type ProgramFile } from "../program/program-file.ts";
import { type FunctionFolder, inspectFolder } from "../source/function-folder.ts";
import { typeCheck } from "../source/type-check.ts";

/** One platform that an image is built for. */
export interface FunctionTarget {
  /** Default: the base's, or this machine's. */
  readonly platform?: Platform;
  /** What the function is put on. Default: a base made of this machine. */
  readonly base?: Image;
}

/** What {@link buildFunction} is given. */
export interface BuildFunctionOptions {
  /** The function's folder, or its file. */
  readonly path: string;
  /** A name for the local store, such as `my-function:v1`, or `oci:DIR[:TAG]` for an OCI layout. */
  readonly name: string;
  /** Holds the bases, and the image unless it goes to a layout. */
  readonly store: Store;
  /** Of several an index is made. Default: one, for this machine. */
  readonly targets?: readonly FunctionTarget[];
  /** The file to run or to bundle, relative to the folder, where the folder does not make it plain. */
  readonly entrypoint?: string;
  /** Whether TypeScript is type-checked. Default true. */
  readonly check?: boolean;
  /** Added to what the folder says of itself. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The same, on manifests and the index. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Whether the image holds a list of the packages in it (SPDX 2.3, at `/sbom.spdx.json`). Default false. */
  readonly sbom?: boolean;
  /** Told what a person should know. */
  readonly onNote?: (message: string) => void;
  readonly signal?: AbortSignal;
}

/** What was built: an image, or an index of one per platform. */
export interface BuiltFunction {
  /** As `Store.image` takes it. */
  readonly name: string;
  /** Of the manifest or index. */
  readonly digest: string;
}

/** Where the function's files are in the image. */
const FUNCTION_DIR = "/function";
const XPKG_ANNOTATION = { "io.crossplane.xpkg": "base" } as const;

/**
 * Builds the image of a function: TypeScript or JavaScript is bundled, any other folder with an executable is taken as it is.
 * The same input gives the same digest. What changes seldom lies below what changes often, each in a layer of its own: base,
 * dependencies, code, metadata.
 *
 * @throws InputError when the folder cannot become a function
 * @throws ImageError
 */
export async function buildFunction(options: BuildFunctionOptions): Promise<BuiltFunction> {
  const { store, name, targets = [{}], signal = new AbortController().signal } = options;
  const note = options.onNote ?? (() => undefined);
  const folder = inspectFolder(options.path, options.entrypoint);
  const metadata = await packageMetadata(folder.dir);
  const parts = folder.kind === "script" ? await bundledParts(folder, options, signal, note) : programParts(folder);
  signal.throwIfAborted();
  const described = packageAnnotations(folder.dir, metadata);
  const layers: BuildLayer[] = parts.layers.map((entries) => ({ entries }));
  const labels = { ...described, ...options.labels };
  const images: ImageSpec[] = [];
  for (const target of targets) {
    const platform = target.platform ?? platformOf(target.base) ?? hostPlatform();
    checkTarget(folder, parts, target, platform);
    const making = (title: string): void =>
      note(`making a base for ${title} of this machine's files; this happens once`);
    const base = target.base ?? (await hostBase(store, parts.needs, making));
    signal.throwIfAborted();
    const added = [...layers, ...metadataLayers(options, metadata, parts, base, folder.dir)];
    images.push({
      base,
      platform,
      layers: added,
      config: { ...parts.config(target.base !== undefined), workdir: FUNCTION_DIR, labels },
      annotations: { ...described, ...baseAnnotations(target.base), ...options.annotations },
    });
  }
  const [only, second] = images;
  if (only !== undefined && second === undefined) return buildImage({ store, name, ...only });
  return buildIndex({ store, name, images, annotations: { ...described, ...options.annotations } });
}

interface ImageParts {
  /** Entries of the layers above the base, bottom first. */
  readonly layers: readonly (readonly BuildEntry[])[];
  readonly config: (hasBase: boolean) => BuildConfig;
  /** What a base made of this machine must have. */
  readonly needs: HostBaseKind;
  /** The program's file, where there is one. */
  readonly program?: ProgramFile;
  /** Packages in the bundle. */
  readonly packages?: readonly BundledPackage[];
}

function metadataLayers(
  options: BuildFunctionOptions,
  metadata: PackageMetadata,
  { packages }: ImageParts,
  base: Image,
  dir: string,
): BuildLayer[] {
  const layers: BuildLayer[] = [
    { entries: [{ path: "/package.yaml", content: metadata.content }], annotations: XPKG_ANNOTATION },
  ];
  if (options.sbom !== true) return layers;
  if (packages === undefined)
    throw new InputError("--sbom lists the packages of a bundle; a folder with a program of its own has none");
  const own = options.targets?.some((target) => target.base === base) === true;
  const content = sbom({ dir, name: metadata.name, packages, ...(own ? { base } : {}) });
  return [...layers, { entries: [{ path: SBOM_PATH, content }] }];
}

function checkTarget(folder: FunctionFolder, parts: ImageParts, { base }: FunctionTarget, platform: Platform): void {
  if (parts.program !== undefined) checkProcessor(join(folder.dir, folder.entry), parts.program, platform);
  if (base !== undefined || parts.needs.kind === "static") return;
  const { os, architecture } = hostPlatform();
  if (platform.os !== os || platform.architecture !== architecture)
    throw new InputError(
      `an image for ${printPlatform(platform)} cannot stand on files of this machine: give one with --base`,
    );
}

function platformOf(base: Image | undefined): Platform | undefined {
  const { os, architecture, variant } = base?.config ?? {};
  if (!os || !architecture) return undefined;
  return { os, architecture, ...(variant && { variant }) };
}

async function bundledParts(
  { dir, entry }: FunctionFolder,
  { check = true }: BuildFunctionOptions,
  signal: AbortSignal,
  note: (message: string) => void,
): Promise<ImageParts> {
  const checking = check && /\.[cm]?ts$/.test(entry) ? typeCheck(dir, entry, signal) : Promise.resolve(true);
  // A syntax error is told by both; the bundler's is the clearer one, and comes first.
  const [bundled, checked] = await Promise.allSettled([bundle(dir, entry), checking]);
  if (bundled.status === "rejected") throw bundled.reason;
  if (checked.status === "rejected") throw checked.reason;
  if (!checked.value) note("types were not checked: typescript is not installed beside the function or xfn");
  const { dependencies, files, packages, warnings } = bundled.value;
  for (const warning of warnings) note(warning);
  const entries = (part: ReadonlyMap<string, Uint8Array>): BuildEntry[] =>
    [...part].map(([name, content]) => ({ path: join(FUNCTION_DIR, name), content }));
  return {
    layers: [entries(dependencies), entries(files)].filter((layer) => layer.length > 0),
    config: (hasBase) => ({ entrypoint: [hasBase ? "node" : NODE_PATH, join(FUNCTION_DIR, BUNDLE_FILE)] }),
    needs: { kind: "node" },
    packages,
  };
}

function programParts(folder: Extract<FunctionFolder, { kind: "executable" }>): ImageParts {
  const { dir, entry, files } = folder;
  const path = join(dir, entry);
  const program = inspectProgram(path);
  const entries = files.map(({ path: file, executable, link }): BuildEntry => {
    const target = join(FUNCTION_DIR, file);
    if (link !== undefined) return { path: target, link };
    return { path: target, source: join(dir, file), mode: executable ? 0o755 : 0o644 };
  });
  const needs: HostBaseKind =
    program.kind === "dynamic"
      ? { kind: "dynamic", program: path }
      : program.kind === "static"
        ? { kind: "static" }
        : program;
  return { layers: [entries], config: () => ({ entrypoint: [join(FUNCTION_DIR, entry)] }), needs, program };
}
