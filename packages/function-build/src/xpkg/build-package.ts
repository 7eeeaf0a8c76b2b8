import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { documentsOf, InputError, statInput } from "@xfn/input";
import type { JsonValue } from "@xfn/json";
import { type ParsedDocument, printYaml } from "@xfn/json/document";
import {
  type BuildLayer,
  buildImage,
  type Image,
  ImageError,
  readImageFile,
  type Store,
  writeArchive,
} from "@xfn/oci-rootfs";
import {
  BASE_LAYER,
  checkPackage,
  EXAMPLES_FILE,
  EXAMPLES_LAYER,
  faultLine,
  layerLabel,
  type PackageContents,
  revisionName,
  STREAM_FILE,
  XPKG_KEY,
} from "@xfn/package";
import { exampleFiles, packageFiles } from "./package-files.ts";

/** Options of {@link buildPackage}. */
export interface BuildPackageOptions {
  /** The folder with `crossplane.yaml`. */
  readonly root: string;
  /** A folder with examples, which need not exist. */
  readonly examples: string;
  /** Patterns of files in `root` to leave out. */
  readonly ignore?: readonly string[] | undefined;
  /** The image of the function or provider. */
  readonly runtime?: Image | undefined;
  /** The store of the runtime image. */
  readonly store: Store;
  /** Default: `NAME-HASH.xpkg` in `root`. */
  readonly file?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A written package. */
export interface BuiltPackage extends Pick<PackageContents, "kind" | "version"> {
  readonly file: string;
  /** Whether the runtime is an image of `xfn build` that only reads a FunctionIO, which Crossplane cannot call. */
  readonly readsFunctionIO: boolean;
  /** Files that the author may expect in the package, but no package has: `*.YAML`, JSON objects, links to folders. */
  readonly leftOut: readonly string[];
}

/** The metadata of an image that is a package itself. Longer files have CRDs too, and are of other tools. */
const MAX_METADATA_BYTES = 1024 * 1024;

/** A package without a runtime has no platform, so that the same folder gives the same file on all machines. */
const NO_PLATFORM = { os: "", architecture: "" };

/**
 * Builds the file of a Crossplane package: the layers of the runtime image, one layer with all objects, and one with
 * examples. The same input gives the same bytes.
 *
 * @throws InputError for an invalid package
 * @throws ImageError
 */
export async function buildPackage(options: BuildPackageOptions): Promise<BuiltPackage> {
  const { store, runtime, signal } = options;
  const root = resolve(options.root);
  if (!statInput(root).isDirectory()) throw new InputError(`${options.root} is not a folder`);
  // Before the build, which may take a minute.
  if (options.file !== undefined) checkFile(options.file);
  const { checked, examples, leftOut } = await readPackage(root, options);
  signal?.throwIfAborted();
  const layers: BuildLayer[] = [
    {
      entries: [{ path: STREAM_FILE, content: stream([checked.metadata, ...checked.objects]) }],
      annotations: { [XPKG_KEY]: BASE_LAYER },
    },
  ];
  if (examples !== undefined) {
    const content = stream(examples.map(({ value }) => value));
    layers.push({ entries: [{ path: EXAMPLES_FILE, content }], annotations: { [XPKG_KEY]: EXAMPLES_LAYER } });
  }
  const scratch = mkdtempSync(join(tmpdir(), "xfn-xpkg-"));
  try {
    const built = await buildImage({
      store,
      name: `oci:${scratch}`,
      layers,
      ...(runtime === undefined ? { platform: NO_PLATFORM } : { base: withoutPackage(runtime) }),
      config: (descriptors) => ({
        labels: Object.fromEntries(
          descriptors.map(({ digest, annotations }) => [layerLabel(digest), annotations?.[XPKG_KEY] ?? ""]),
        ),
      }),
    });
    const file = options.file ?? join(root, `${revisionName(checked.name, built.digest)}.xpkg`);
    await writeArchive({ from: `oci:${scratch}`, path: file, signal });
    const { kind, version } = checked;
    return { file, kind, version, readsFunctionIO: readsFunctionIO(runtime), leftOut };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function checkFile(file: string): void {
  if (!statInput(dirname(file)).isDirectory()) throw new InputError(`${dirname(file)} is not a folder`);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw new InputError(`${file} is a folder: -o requires a file`);
}

interface ReadPackage {
  readonly checked: PackageContents;
  readonly leftOut: readonly string[];
  readonly examples: readonly ParsedDocument[] | undefined;
}

async function readPackage(root: string, { examples, ignore }: BuildPackageOptions): Promise<ReadPackage> {
  const folder = resolve(examples);
  const leftOut: string[] = [];
  const files = packageFiles(root, { without: folder, ignore, onLeftOut: (path) => void leftOut.push(path) });
  if (files.length === 0)
    throw new InputError(`no YAML files in the folder ${root}: a package needs a crossplane.yaml`);
  const checked = checkPackage(await documentsIn(files));
  if ("faults" in checked)
    throw new InputError(`${root} is not a valid package`, { details: checked.faults.map(faultLine) });
  if (!existsSync(folder)) return { checked, leftOut, examples: undefined };
  // Examples in such a folder could not be distinguished from the package's objects.
  if (root === folder || `${root}${sep}`.startsWith(`${folder}${sep}`))
    throw new InputError(`the examples' folder ${relative(process.cwd(), folder) || "."} contains the package itself`);
  return { checked, leftOut, examples: await documentsIn(exampleFiles(folder)) };
}

async function documentsIn(files: readonly string[]): Promise<ParsedDocument[]> {
  const documents: ParsedDocument[] = [];
  for (const file of files) documents.push(...(await documentsOf(file)));
  // Two separators in a row make an empty document, and so does one at the end.
  return documents.filter(({ value }) => value !== null);
}

function stream(values: readonly JsonValue[]): string {
  return values.map((value) => `---\n${printYaml(value)}`).join("");
}

/** The design document's version, which `xfn build` gives to functions that serve no gRPC. */
const FUNCTION_IO_ONLY = /^apiVersion: meta\.pkg\.crossplane\.io\/v1alpha1\nkind: Function$/m;

function readsFunctionIO(runtime: Image | undefined): boolean {
  try {
    const metadata = runtime && readImageFile(runtime.layers, STREAM_FILE, MAX_METADATA_BYTES);
    return metadata !== undefined && FUNCTION_IO_ONLY.test(metadata.toString("utf8"));
  } catch (error) {
    // An image of another tool: the file is too large, or there is none. This only decides on a note.
    if (error instanceof ImageError) return false;
    throw error;
  }
}

/**
 * Removes package labels: images of `xfn build` are packages themselves, and only one layer may be annotated as the
 * base.
 */
function withoutPackage(image: Image): Image {
  const labels = Object.entries(image.config.config?.Labels ?? {}).filter(([key]) => !key.startsWith(`${XPKG_KEY}:`));
  return {
    ...image,
    config: { ...image.config, config: { ...image.config.config, Labels: Object.fromEntries(labels) } },
  };
}
