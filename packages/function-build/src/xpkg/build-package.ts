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

/** Options of {@link buildPackage}. */
export interface BuildPackageOptions {
  /** The folder with `crossplane.yaml`. */
  readonly root: string;
  /** A folder with examples, which need not exist. */
  readonly examples: string;
  /** Patterns of files in `root` to leave out. */
  readonly ignore?: readonly string[];
  /** The image of the function or provider. */
  readonly runtime?: Image;
  /** The store of the runtime image. */
  readonly store: Store;
  /** Default: {@link packageFileName} in `root`. */
  readonly file?: string;
  readonly signal?: AbortSignal;
}

/** A written package. */
export interface BuiltPackage extends Pick<CheckedPackage, "kind" | "version"> {
  readonly file: string;
}

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
    throw new InputError(`${file} is a folder: -o requires a file`);
}

async function readPackage(
  root: string,
  { examples, ignore }: BuildPackageOptions,
): Promise<{ checked: CheckedPackage; examples: readonly ParsedDocument[] | undefined }> {
  const folder = resolve(examples);
  const files = packageFiles(root, { without: folder, ...(ignore !== undefined && { ignore }) });
  if (files.length === 0)
    throw new InputError(`no YAML files in the folder ${root}: a package needs a crossplane.yaml`);
  const checked = checkPackage(await documentsIn(files));
  if ("faults" in checked) throw new InputError(`${root} is not a valid package`, { details: checked.faults });
  if (!existsSync(folder)) return { checked, examples: undefined };
  // Examples in such a folder could not be distinguished from the package's objects.
  if (root === folder || `${root}${sep}`.startsWith(`${folder}${sep}`))
    throw new InputError(`the examples' folder ${relative(process.cwd(), folder) || "."} contains the package itself`);
  return { checked, examples: await documentsIn(packageFiles(folder)) };
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
