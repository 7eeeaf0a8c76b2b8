import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { JsonValue } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import { printYaml } from "@xfn/functionio/document";
import { documentsOf, InputError, statInput } from "@xfn/input";
import { type BuildLayer, buildImage, type Image, type Store, writeArchive } from "@xfn/oci-rootfs";
import { packageFiles } from "./package-files.ts";
import { type CheckedPackage, checkPackage } from "./package-kinds.ts";
import { packageFileName } from "./package-name.ts";
import { BASE_LAYER, EXAMPLES_FILE, EXAMPLES_LAYER, layerLabel, STREAM_FILE, XPKG_KEY } from "./xpkg-format.ts";

/** What {@link buildPackage} is given. */
export interface BuildPackageOptions {
  /** The folder with `crossplane.yaml`. */
  readonly root: string;
  /** A folder with examples; left out where there is none. */
  readonly examples: string;
  /** Files of `root` to leave out. */
  readonly ignore?: readonly string[];
  /** What runs the package: a function's or provider's image. */
  readonly runtime?: Image;
  /** Holds the runtime image. */
  readonly store: Store;
  /** Default: {@link packageFileName} in `root`. */
  readonly file?: string;
  readonly signal?: AbortSignal;
}

/** A package that was written. */
export interface BuiltPackage extends Pick<CheckedPackage, "kind" | "version"> {
  readonly file: string;
}

/** A package without a runtime is for no platform: the same folder gives the same file everywhere. */
const NO_PLATFORM = { os: "", architecture: "" };

/**
 * Builds a Crossplane package's file: the runtime image's layers, and over them one with all objects and one with examples. The
 * same input gives the same bytes.
 *
 * @throws InputError for a folder that is no package
 * @throws ImageError
 */
export async function buildPackage(options: BuildPackageOptions): Promise<BuiltPackage> {
  const { store, runtime, signal } = options;
  const root = resolve(options.root);
  if (!statInput(root).isDirectory()) throw new InputError(`${options.root} is not a folder`);
  // Before anything is built: a typing error should not cost a minute.
  if (options.file !== undefined) checkFile(options.file);
  const { checked, examples } = await readPackage(root, options);
  signal?.throwIfAborted();
  const layers: BuildLayer[] = [
    { entries: [{ path: STREAM_FILE, content: stream(checked.documents) }], annotations: { [XPKG_KEY]: BASE_LAYER } },
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
    const file = options.file ?? join(root, packageFileName(checked.name, built.digest));
    await writeArchive({ from: `oci:${scratch}`, path: file, signal });
    return { file, kind: checked.kind, version: checked.version };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function checkFile(file: string): void {
  if (!statInput(dirname(file)).isDirectory()) throw new InputError(`${dirname(file)} is not a folder`);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw new InputError(`${file} is a folder: -o takes the file to write`);
}

async function readPackage(
  root: string,
  { examples, ignore }: BuildPackageOptions,
): Promise<{ checked: CheckedPackage; examples: readonly ParsedDocument[] | undefined }> {
  const folder = resolve(examples);
  const files = packageFiles(root, { without: folder, ...(ignore !== undefined && { ignore }) });
  if (files.length === 0) throw new InputError(`no YAML files in the folder ${root}: a package has a crossplane.yaml`);
  const checked = checkPackage(await documentsIn(files));
  if ("faults" in checked) throw new InputError(`${root} is no package`, { details: checked.faults });
  if (!existsSync(folder)) return { checked, examples: undefined };
  // Where the examples are the package's own folder, or hold it, there is nothing to tell them apart.
  if (root === folder || `${root}${sep}`.startsWith(`${folder}${sep}`))
    throw new InputError(`the examples' folder ${relative(process.cwd(), folder) || "."} holds the package itself`);
  return { checked, examples: await documentsIn(packageFiles(folder)) };
}

async function documentsIn(files: readonly string[]): Promise<ParsedDocument[]> {
  const documents: ParsedDocument[] = [];
  for (const file of files) documents.push(...(await documentsOf(file)));
  // An empty document stands between two separators, or after the last.
  return documents.filter(({ value }) => value !== null);
}

function stream(values: readonly JsonValue[]): string {
  return values.map((value) => `---\n${printYaml(value)}`).join("");
}

/** A runtime image may be a package itself, as those of `xfn build` are: only one layer of an image may be the package's. */
function withoutPackage(image: Image): Image {
  const labels = Object.entries(image.config.config?.Labels ?? {}).filter(([key]) => !key.startsWith(`${XPKG_KEY}:`));
  return {
    ...image,
    config: { ...image.config, config: { ...image.config.config, Labels: Object.fromEntries(labels) } },
  };
}
