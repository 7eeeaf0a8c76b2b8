import { join } from "node:path";
import {
  type BuildConfig,
  type BuildEntry,
  type BuiltImage,
  buildImage,
  type Image,
  type Store,
} from "@xfn/oci-rootfs";
import { BUNDLE_FILE, bundle } from "./bundle.ts";
import { type FunctionFolder, inspectFolder } from "./function-folder.ts";
import { hostBase } from "./host-base.ts";
import { type HostBaseKind, NODE_PATH } from "./host-tree.ts";
import { packageYaml } from "./package-yaml.ts";
import { inspectProgram } from "./program-file.ts";
import { typeCheck } from "./type-check.ts";

/** What {@link buildFunction} is given. */
export interface BuildFunctionOptions {
  /** The function's folder, or its file. */
  readonly path: string;
  /** A name for the local store, such as `my-function:v1`, or `oci:DIR[:TAG]` for an OCI layout. */
  readonly name: string;
  /** Holds the base, and the image unless it goes to a layout. */
  readonly store: Store;
  /** What the function is put on. Default: a base made of this machine. */
  readonly base?: Image;
  /** The file to run or to bundle, relative to the folder, where the folder does not make it plain. */
  readonly entrypoint?: string;
  /** Whether TypeScript is type-checked. Default true. */
  readonly check?: boolean;
  /** Told what a person should know. */
  readonly onNote?: (message: string) => void;
  readonly signal?: AbortSignal;
}

/** Where the function's files are in the image. */
const FUNCTION_DIR = "/function";
const XPKG_ANNOTATION = { "io.crossplane.xpkg": "base" } as const;

/**
 * Builds the image of a function: TypeScript or JavaScript is bundled, any other folder with an executable is taken as it is.
 * The same input gives the same digest.
 *
 * @throws CliError `Input` when the folder cannot become a function
 * @throws ImageError
 */
export async function buildFunction(options: BuildFunctionOptions): Promise<BuiltImage> {
  const { store, name, base, signal = new AbortController().signal } = options;
  const note = options.onNote ?? (() => undefined);
  const folder = inspectFolder(options.path, options.entrypoint);
  const metadata = await packageYaml(folder.dir);
  const parts = folder.kind === "script" ? await bundledParts(folder, options, signal, note) : programParts(folder);
  signal.throwIfAborted();
  const making = (title: string): void => note(`making a base for ${title} of this machine's files; this happens once`);
  const resolved = base ?? (await hostBase(store, parts.needs, making));
  signal.throwIfAborted();
  return buildImage({
    store,
    name,
    base: resolved,
    layers: [
      { entries: parts.entries },
      { entries: [{ path: "/package.yaml", content: metadata }], annotations: XPKG_ANNOTATION },
    ],
    config: { ...parts.config, workdir: FUNCTION_DIR },
  });
}

interface ImageParts {
  readonly entries: readonly BuildEntry[];
  readonly config: BuildConfig;
  /** What a base made of this machine must have. */
  readonly needs: HostBaseKind;
}

async function bundledParts(
  { dir, entry }: FunctionFolder,
  { check = true, base }: BuildFunctionOptions,
  signal: AbortSignal,
  note: (message: string) => void,
): Promise<ImageParts> {
  const checking = check && /\.[cm]?ts$/.test(entry) ? typeCheck(dir, entry, signal) : Promise.resolve(true);
  // A syntax error is told by both; the bundler's is the clearer one, and comes first.
  const [bundled, checked] = await Promise.allSettled([bundle(dir, entry), checking]);
  if (bundled.status === "rejected") throw bundled.reason;
  if (checked.status === "rejected") throw checked.reason;
  if (!checked.value) note("types were not checked: typescript is not installed beside the function or xfn");
  for (const warning of bundled.value.warnings) note(warning);
  return {
    entries: [...bundled.value.files].map(([name, content]) => ({ path: join(FUNCTION_DIR, name), content })),
    config: {
      entrypoint: [base === undefined ? NODE_PATH : "node", join(FUNCTION_DIR, BUNDLE_FILE)],
    },
    needs: { kind: "node" },
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
  const needs: HostBaseKind = program.kind === "dynamic" ? { kind: "dynamic", program: path } : program;
  return { entries, config: { entrypoint: [join(FUNCTION_DIR, entry)] }, needs };
}
