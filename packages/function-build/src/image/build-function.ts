import { join } from "node:path";
import { someOf } from "@xfn/errors";
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
  isPortable,
  type Platform,
  platformOf,
  printPlatform,
} from "@xfn/oci-rootfs";
import { BASE_LAYER, STREAM_FILE, XPKG_KEY } from "@xfn/package";
import { hostBase } from "../base/host-base.ts";
import { type HostBaseKind, NODE_PATH } from "../base/host-tree.ts";
import { BUNDLE_FILE, bundle } from "../bundle/bundle.ts";
import type { BundledPackage } from "../bundle/bundled-packages.ts";
import { baseAnnotations, packageAnnotations } from "../package/package-annotations.ts";
import { type PackageMetadata, packageMetadata } from "../package/package-yaml.ts";
import { SBOM_PATH, sbom } from "../package/sbom.ts";
import { checkProcessor, inspectProgram, type ProgramFile } from "../program/program-file.ts";
import { servesGrpc } from "../program/serves-grpc.ts";
import { type FunctionFolder, inspectFolder } from "../source/function-folder.ts";
import type { IgnoredBy } from "../source/ignore-rules.ts";
import { typeCheck } from "../source/type-check.ts";
import { buildModuleImage } from "./build-module-image.ts";
import type { BuildFunctionOptions, BuiltFunction, FunctionTarget } from "./build-options.ts";

/** The folder of the function's files in the image. */
const FUNCTION_DIR = "/function";

/**
 * Builds the image of a function. Bundles TypeScript and JavaScript, copies any other folder with an executable, and
 * compiles the source of a WebAssembly module. The same input gives the same digest. Layers that change seldom are
 * below layers that change often: base, dependencies, code, metadata.
 *
 * @throws InputError if the folder is not a function
 * @throws ImageError
 */
export async function buildFunction(options: BuildFunctionOptions): Promise<BuiltFunction> {
  const { store, name, targets = [{}], signal = new AbortController().signal } = options;
  const note = options.onNote ?? (() => undefined);
  const wantsModule = targets.some(({ platform }) => platform !== undefined && isPortable(platform));
  const folder = inspectFolder(options.path, options.entrypoint, wantsModule);
  if (folder.kind === "module") return await buildModuleImage(folder, options, signal);
  const metadata = await packageMetadata(folder.dir, isServer(folder) ? "v1" : "v1alpha1");
  const contents =
    folder.kind === "script" ? await bundledContents(folder, options, signal, note) : programContents(folder, note);
  signal.throwIfAborted();
  const described = packageAnnotations(folder.dir, metadata);
  const layers: BuildLayer[] = contents.layers.map((entries) => ({ entries }));
  const labels = { ...described, ...options.labels };
  const images: ImageSpec[] = [];
  for (const target of targets) {
    const platform = target.platform ?? platformOf(target.base) ?? hostPlatform();
    checkTarget(folder, contents, target, platform);
    const onMake = (title: string): void => note(`making a base for ${title} from files of this machine, once`);
    const base = target.base ?? (await hostBase(store, contents.needs, onMake));
    signal.throwIfAborted();
    const added = [...layers, ...metadataLayers(options, metadata, contents, base, folder.dir)];
    images.push({
      base,
      platform,
      layers: added,
      config: { ...contents.config(target.base !== undefined), workdir: FUNCTION_DIR, labels },
      annotations: { ...described, ...baseAnnotations(target.base), ...options.annotations },
    });
  }
  const [only, second] = images;
  if (only !== undefined && second === undefined) return buildImage({ store, name, ...only });
  return buildIndex({ store, name, images, annotations: { ...described, ...options.annotations } });
}

/** Whether Crossplane can call the function. */
function isServer(folder: Exclude<FunctionFolder, { kind: "module" }>): boolean {
  if (folder.kind === "script") return true;
  return servesGrpc(folder.files.flatMap(({ path, link }) => (link === undefined ? [join(folder.dir, path)] : [])));
}

interface FunctionContents {
  /** Entries of the layers above the base, lowest first. */
  readonly layers: readonly (readonly BuildEntry[])[];
  readonly config: (hasBase: boolean) => BuildConfig;
  /** The requirements for a base that is made from this machine. */
  readonly needs: HostBaseKind;
  /** The program, unless the function is bundled. */
  readonly program?: ProgramFile;
  /** The packages in the bundle. */
  readonly packages?: readonly BundledPackage[];
}

function metadataLayers(
  options: BuildFunctionOptions,
  metadata: PackageMetadata,
  { packages }: FunctionContents,
  base: Image,
  dir: string,
): BuildLayer[] {
  const layers: BuildLayer[] = [
    { entries: [{ path: `/${STREAM_FILE}`, content: metadata.content }], annotations: { [XPKG_KEY]: BASE_LAYER } },
  ];
  if (options.sbom !== true) return layers;
  if (packages === undefined)
    throw new InputError("--sbom lists the packages of a bundle, but this folder is not bundled: it has a program");
  const own = options.targets?.some((target) => target.base === base) === true;
  const content = sbom({ dir, name: metadata.name, packages, base: own ? base : undefined });
  return [...layers, { entries: [{ path: SBOM_PATH, content }] }];
}

function checkTarget(
  folder: FunctionFolder,
  contents: FunctionContents,
  { base }: FunctionTarget,
  platform: Platform,
): void {
  if (contents.program !== undefined) checkProcessor(join(folder.dir, folder.entry), contents.program, platform);
  if (base !== undefined || contents.needs.kind === "static") return;
  const { os, architecture } = hostPlatform();
  if (platform.os !== os || platform.architecture !== architecture)
    throw new InputError(`no base for ${printPlatform(platform)} can be made from this machine: pass one with --base`);
}

async function bundledContents(
  { dir, entry }: Extract<FunctionFolder, { kind: "script" }>,
  { check = true }: BuildFunctionOptions,
  signal: AbortSignal,
  note: (message: string) => void,
): Promise<FunctionContents> {
  const checking = check && /\.[cm]?ts$/.test(entry) ? typeCheck(dir, entry, signal) : Promise.resolve(undefined);
  // Both report a syntax error; the bundler's message is clearer.
  const [bundled, checked] = await Promise.allSettled([bundle(dir, entry), checking]);
  if (bundled.status === "rejected") throw bundled.reason;
  if (checked.status === "rejected") throw checked.reason;
  if (checked.value !== undefined) note(checked.value);
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

function programContents(
  folder: Extract<FunctionFolder, { kind: "executable" }>,
  note: (message: string) => void,
): FunctionContents {
  const { dir, entry, files, leftOut } = folder;
  for (const [by, paths] of leftOut) note(leftOutNote(by, paths));
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

/** Names that a note shows. */
const MAX_NAMED = 5;

function leftOutNote(by: IgnoredBy, paths: readonly string[]): string {
  const names = someOf(paths, MAX_NAMED);
  return by === "hidden"
    ? `the image has no hidden files: ${names}; to include one, name it in .dockerignore, such as !${paths[0]}`
    : `the image has nothing that ${by} leaves out: ${names}`;
}
