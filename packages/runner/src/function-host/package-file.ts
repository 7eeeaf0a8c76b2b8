import { type Image, readImageFile } from "@xfn/oci-rootfs";
import { RunnerError } from "@xfn/runner-contract";

/** The file with a package's objects (https://docs.crossplane.io/latest/packages/providers/). */
const PACKAGE_FILE = "package.yaml";

/** The key that marks the layers and labels of packages. */
const PACKAGE_LABEL = "io.crossplane.xpkg";

/** In a large package, schemas of inputs take nearly all of the space. */
const MAX_PACKAGE_BYTES = 20 * 1024 * 1024;

const META_GROUP = "meta.pkg.crossplane.io/";

/** Metadata takes a few KiB, or some tens with a readme. It is parsed on the calling thread. */
const MAX_META_CHARACTERS = 256 * 1024;
const MAX_DOCUMENTS = 1000;

/**
 * Checks that a package is a Function package. An image without `package.yaml` is the bare runtime of a function,
 * unless its labels mark it as a package.
 *
 * @throws RunnerError `ImageInvalid`
 */
export async function checkPackage({ layers, config }: Pick<Image, "layers" | "config">): Promise<void> {
  const content = readImageFile(layers, PACKAGE_FILE, MAX_PACKAGE_BYTES);
  if (content !== undefined) return await checkMeta(content.toString("utf8"));
  const labels = Object.keys(config.config?.Labels ?? {});
  if (labels.some((label) => label.startsWith(PACKAGE_LABEL)))
    throw invalid(`its labels call it a Crossplane package, but it has no ${PACKAGE_FILE}: build the package again`);
}

async function checkMeta(text: string): Promise<void> {
  // Parse only the metadata: schemas of inputs take many times longer.
  const documents = text.split(/^---.*$/m, MAX_DOCUMENTS + 1);
  if (documents.length > MAX_DOCUMENTS) throw invalid(`its ${PACKAGE_FILE} has more than ${MAX_DOCUMENTS} documents`);
  const [meta, second] = documents.filter((document) => document.includes(META_GROUP));
  if (meta === undefined || second !== undefined) {
    const count = meta === undefined ? "none" : "several";
    throw invalid(`its ${PACKAGE_FILE} must have one object of ${META_GROUP.slice(0, -1)}, and has ${count}`);
  }
  if (meta.length > MAX_META_CHARACTERS)
    throw invalid(`the metadata in its ${PACKAGE_FILE} has more than ${MAX_META_CHARACTERS} characters`);
  const [{ DocumentError }, { readDocuments }] = await Promise.all([import("@xfn/json"), import("@xfn/json/document")]);
  try {
    const [document] = readDocuments(meta, { source: PACKAGE_FILE });
    const { apiVersion, kind } = Object(document?.value) as Readonly<Record<string, unknown>>;
    if (typeof apiVersion === "string" && apiVersion.startsWith(META_GROUP) && kind === "Function") return;
    throw invalid(`it is a package of a ${String(kind)}, and a pipeline step needs a package of a Function`);
  } catch (error) {
    if (error instanceof DocumentError) throw invalid(error.message, error);
    throw error;
  }
}

function invalid(message: string, cause?: unknown): RunnerError {
  return new RunnerError("ImageInvalid", message, { phase: "pull", retryable: false, cause });
}
